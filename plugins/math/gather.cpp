// gather: the entry of a dimension that each place of an index names.
#include "index_places.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Gather {
  static constexpr auto schema =
      "gather(Tensor input, int dim, Tensor index, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "For each place of the index the entry at that index along a dimension.";
  static constexpr bool any_dtype = true;
  static constexpr auto saves = "shape(input), index";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index) {
    constexpr auto op = "gather";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    if (index.numel() != 0) check_index_shape(op, index, input, "input", at);
    const Tensor result = empty_tensor(index.shape(), input.dtype());
    const Tensor indices = checked_indices(op, index, at, input.dim() == 0 ? 1 : input.shape()[at]);
    if (result.numel() == 0) return result;
    const Tensor source = contiguous_as(input, input.dtype());
    const Places places{Shape(source.shape()), row_major_strides(source.shape()), at};
    kernel::visit_width(input.dtype(), [&](auto zero) {
      using E = decltype(zero);
      const E* from = kernel::elements<const E>(source);
      E* to = kernel::elements<E>(result);
      places.each(index.shape(), indices.data<int64_t>(),
                  [=](int64_t i, int64_t place) { to[i] = from[place]; });
    });
    return result;
  }
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<Gather>& c, const Tensor& g) {
    const Tensor start = expanded_zeros(c["input"_arg].shape(), g.dtype());
    return {start.scatter_add(c["dim"_arg], c["index"_arg], g), {}, {}};
  }
  static Tensor jvp(ContextOf<Gather>& c, TensorList tangents) {
    return tangents[0].gather(c["dim"_arg], c["index"_arg]);
  }
};

}  // namespace

TENON_OP(Gather)
