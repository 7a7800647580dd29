// scatter: entries written where an index says.
#include "scattering.hpp"

using namespace tenon;
using namespace math;

namespace {

// Which entries of an index are the last to name their place: what they write stays.
Tensor writers(IntList shape, int64_t dim, const Tensor& index) {
  const NoGrad scope;
  const Tensor places = arange(index.numel()).reshape(index.shape());
  return eq(scatter(zeros(shape, i64), dim, index, places).gather(dim, index), places);
}

struct Scatter {
  static constexpr auto schema =
      "scatter(Tensor input, int dim, Tensor index, Tensor|Scalar src, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 3]}, "dim": 0, "index": {"shape": [2, 2], "dtype": "i64"}, "src":
          {"shape": [2, 3]}}, {"input": {"shape": [2, 3]}, "dim": 1, "index": {"shape": [2, 1],
          "dtype": "i64"}, "src": 0.5}])";
  static constexpr auto doc =
      "A copy of input with each entry of src, or one number, written where the index says. Where "
      "two name one place the last in row-major order is written, and has the gradient.";
  static constexpr bool any_dtype = true;
  static constexpr auto saves = "shape(input), index, shape(src)";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index,
                        const Argument& given) {
    constexpr auto op = "scatter";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    const bool is_tensor = given.value().tag == TENON_VALUE_TENSOR;
    const Tensor src = is_tensor ? Tensor::borrow(given.value().as.tensor)
                                 : number(Scalar(given.value()), input.dtype(), index);
    kernel::check_same_dtype(op, "input", input, "src", src);
    if (index.numel() != 0) {
      check_index_shape(op, index, input, "input", at);
      check_index_shape(op, index, src, "src", -1);
    }
    const Tensor indices = checked_indices(op, index, at, input.dim() == 0 ? 1 : input.shape()[at]);
    const Tensor result = copy_of(input);
    if (indices.numel() == 0) return result;
    const Tensor part = alias_tensor(src, index.shape(), src.strides(), 0);
    const Tensor written = contiguous_as(part, part.dtype());
    const Places places{Shape(result.shape()), row_major_strides(result.shape()), at};
    kernel::visit_width(input.dtype(), [&](auto zero) {
      using E = decltype(zero);
      const E* from = kernel::elements<const E>(written);
      E* to = kernel::elements<E>(result);
      places.each(index.shape(), indices.data<int64_t>(),
                  [=](int64_t i, int64_t place) { to[place] = from[i]; });
    });
    return result;
  }
  // One number in the shape of the index, without memory for each.
  static Tensor number(const Scalar& value, DType dtype, const Tensor& index) {
    if (!value.fits(dtype)) {
      throw ValueError("scatter(): src " + value.text() + " does not fit the " + dtype_text(dtype) +
                       " input: convert it to a wider dtype with to()");
    }
    const Tensor one = empty_tensor(IntList(), dtype);
    fill_elements(one, value);
    Shape strides(index.shape());
    for (int64_t i = 0; i < strides.rank; ++i) strides[i] = 0;
    return alias_tensor(one, index.shape(), strides, 0);
  }
  static std::array<Tensor, 4> backward(ContextOf<Scatter>& c, const Tensor& g) {
    const int64_t dim = c["dim"_arg];
    const Tensor& index = c["index"_arg];
    return needed_gradients(
        c, "input"_arg = [&] { return scatter(g, dim, index, 0); },
        "src"_arg =
            [&] {
              const Tensor src = Tensor::borrow(c["src"_arg].value().as.tensor);
              if (index.numel() == 0) return zeros(src.shape(), g.dtype());
              const Tensor read = g.gather(dim, index);
              const Tensor part = where(writers(c["input"_arg].shape(), dim, index), read, 0);
              return as_source(part, src.shape());
            });
  }
  static Tensor jvp(ContextOf<Scatter>& c, TensorList tangents) {
    const DType dtype = (tangents[0].defined() ? tangents[0] : tangents[3]).dtype();
    const Tensor start =
        tangents[0].defined() ? tangents[0] : expanded_zeros(c["input"_arg].shape(), dtype);
    if (!tangents[3].defined()) return scatter(start, c["dim"_arg], c["index"_arg], 0);
    return scatter(start, c["dim"_arg], c["index"_arg], tangents[3]);
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Scatter)
