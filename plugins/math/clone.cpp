// clone, contiguous and to.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Clone {
  static constexpr auto schema = "clone(Tensor input) -> Tensor";
  static constexpr auto doc = "A contiguous copy.";
  static constexpr bool any_dtype = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor shape_rule(const Tensor& input) {
    return empty_tensor(input.shape(), input.dtype());
  }
  static Tensor forward(const Tensor& input) {
    const Tensor result = shape_rule(input);
    copy_elements(result, input);
    return result;
  }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};

struct Contiguous {
  static constexpr auto schema = "contiguous(Tensor(a) input) -> Tensor(a)";
  static constexpr bool may_copy = true;
  static constexpr auto doc =
      "The input itself when its elements are in row-major order, otherwise a copy in that order.";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input) { return contiguous_as(input, input.dtype()); }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};

struct To {
  static constexpr auto schema = "to(Tensor(a) input, dtype dtype) -> Tensor(a)";
  static constexpr bool may_copy = true;
  static constexpr auto doc =
      "The elements converted to a dtype; the input itself when it has it already.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor shape_rule(const Tensor& input, DType dtype) {
    return input.dtype() == dtype ? input : empty_tensor(input.shape(), dtype);
  }
  static Tensor forward(const Tensor& input, DType dtype) {
    const Tensor result = shape_rule(input, dtype);
    if (result.is_same(input)) return result;
    copy_elements(result, input);
    return result;
  }
  // A conversion that would drop imaginary parts is left to the engine, which takes the real ones.
  static Tensor backward(ContextOf<To>& c, const Tensor& g) {
    const DType dtype = c["input"_arg].dtype();
    return is_complex(g.dtype()) && !is_complex(dtype) ? g : g.to(dtype);
  }
};

}  // namespace

TENON_OPS(Clone, Contiguous, To)
