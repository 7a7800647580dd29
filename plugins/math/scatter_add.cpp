// scatter_add: entries added where an index says.
#include "scattering.hpp"

using namespace tenon;
using namespace math;

namespace {

struct ScatterAdd {
  static constexpr auto schema =
      "scatter_add(Tensor input, int dim, Tensor index, Tensor src, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc = "A copy of input with each entry of src added where the index says.";
  static constexpr auto saves = "shape(input), index, shape(src)";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src) {
    constexpr auto op = "scatter_add";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    kernel::check_same_dtype(op, "input", input, "src", src);
    if (index.numel() != 0) {
      check_index_shape(op, index, input, "input", at);
      check_index_shape(op, index, src, "src", -1);
    }
    const Tensor indices = checked_indices(op, index, at, input.dim() == 0 ? 1 : input.shape()[at]);
    const Tensor result = copy_of(input);
    if (indices.numel() == 0) return result;
    const Tensor part = alias_tensor(src, index.shape(), src.strides(), 0);
    const Tensor added = contiguous_as(part, part.dtype());
    const Places places{Shape(result.shape()), row_major_strides(result.shape()), at};
    visit_sums(input.dtype(), [&](auto zero) {
      using E = decltype(zero);
      const E* from = added.data<E>();
      E* to = result.data<E>();
      places.each(index.shape(), indices.data<int64_t>(),
                  [=](int64_t i, int64_t place) { add_to(to[place], from[i]); });
    });
    return result;
  }
  static std::array<Tensor, 4> backward(ContextOf<ScatterAdd>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g; },
        "src"_arg =
            [&] {
              const IntList whole = c["src"_arg].shape();
              // An empty index may have any shape.
              if (c["index"_arg].numel() == 0) return zeros(whole, g.dtype());
              return as_source(g.gather(c["dim"_arg], c["index"_arg]), whole);
            });
  }
  static Tensor jvp(ContextOf<ScatterAdd>& c, TensorList tangents) {
    if (!tangents[3].defined()) return tangents[0];
    const Tensor start = tangents[0].defined()
                             ? tangents[0]
                             : expanded_zeros(c["input"_arg].shape(), tangents[3].dtype());
    return start.scatter_add(c["dim"_arg], c["index"_arg], tangents[3]);
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(ScatterAdd)
