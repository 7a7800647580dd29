// index_add: sums at entries of a dimension, by a vector of indices.
#include <algorithm>

#include <tenon/kernel/rows.hpp>

#include "scattering.hpp"

using namespace tenon;
using namespace math;

namespace {

struct IndexAdd {
  static constexpr auto schema =
      "index_add(Tensor input, int dim, Tensor index, Tensor source, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "A copy of input with the entries of source added at the given indices of a dimension.";
  static constexpr auto saves = "shape(input), index, shape(source)";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index,
                        const Tensor& source) {
    constexpr auto op = "index_add";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    check_vector(op, index);
    kernel::check_same_dtype(op, "input", input, "source", source);
    const kernel::Lines lines(input.shape(), at);
    const Tensor indices = checked_indices(op, index, at, lines.size);
    Shape expected(input.shape());
    if (expected.rank != 0)
      expected[at] = indices.numel();
    else if (indices.numel() != 1)
      throw IndexError("index_add(): a 0-dim input takes one index, not " +
                       std::to_string(indices.numel()));
    if (!same_shape(source.shape(), expected)) {
      throw ValueError("index_add(): source has shape " + shape_text(source.shape()) +
                       ", but input of shape " + shape_text(input.shape()) + " and " +
                       std::to_string(indices.numel()) + " indices along dimension " +
                       std::to_string(at) + " take " + shape_text(expected));
    }
    const Tensor result = copy_of(input);
    if (source.numel() == 0) return result;
    const Tensor added = contiguous_as(source, source.dtype());
    const int64_t* to = indices.data<int64_t>();
    const int64_t count = indices.numel();
    visit_sums(input.dtype(), [&](auto zero) {
      using E = decltype(zero);
      E* target = result.data<E>();
      const E* from = added.data<E>();
      // Threads share the inner elements, so that entries with one index never meet.
      const int64_t grain = std::max<int64_t>(64, 32768 / (lines.outer * count));
      parallel_for(0, lines.inner, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = 0; i < lines.outer * count; ++i) {
          E* line = target + (i / count * lines.size + to[i % count]) * lines.inner;
          const E* values = from + i * lines.inner;
          for (int64_t k = begin; k < end; ++k) add_to(line[k], values[k]);
        }
      });
    });
    return result;
  }
  static std::array<Tensor, 4> backward(ContextOf<IndexAdd>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g; },
        "source"_arg = [&] { return g.index_select(c["dim"_arg], c["index"_arg]); });
  }
  static Tensor jvp(ContextOf<IndexAdd>& c, TensorList tangents) {
    if (!tangents[3].defined()) return tangents[0];
    const Tensor start = tangents[0].defined()
                             ? tangents[0]
                             : expanded_zeros(c["input"_arg].shape(), tangents[3].dtype());
    return start.index_add(c["dim"_arg], c["index"_arg], tangents[3]);
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(IndexAdd)
