// addcmul and addcdiv: a product or quotient added in one pass.
#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>
#include <tenon/ops.hpp>

#include "float_op.hpp"
#include "wrapping.hpp"

namespace {

using namespace tenon;

struct Addcmul {
  static constexpr auto schema =
      "addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc = "input + value * tensor1 * tensor2. Integers wrap around.";
  static constexpr auto accuracy =
      "f32 1.1, f64 1.1; gradient f32 0, f64 0; of the sum of both terms without signs";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes | complex_dtypes;
  static constexpr auto element = [](auto input, auto a, auto b, auto value) {
    return wrapping(input) + wrapping(value) * wrapping(a) * wrapping(b);
  };
  static constexpr auto saves = "tensor2 for tensor1, tensor1 for tensor2";
  static std::array<Tensor, 3> backward(ContextOf<Addcmul>& c, const Tensor& g) {
    const Scalar value = c["value"_arg];
    return needed_gradients(
        c, "input"_arg = [&] { return g; },
        "tensor1"_arg = [&] { return g * conjugate(c["tensor2"_arg]) * value; },
        "tensor2"_arg = [&] { return g * conjugate(c["tensor1"_arg]) * value; });
  }
  static constexpr auto jvp = pointwise;
};

struct Addcdiv : FloatOp {
  static constexpr auto schema =
      "addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "input + value * tensor1 / tensor2, a true division: integers give f32.";
  static constexpr auto accuracy =
      "f32 1.1, f64 1.1; gradient f32 2.2, f64 2.2; of the sum of both terms without signs";
  static constexpr auto element = [](auto input, auto a, auto b, auto value) {
    return input + value * (a / b);
  };
  static constexpr auto saves = "tensor1 for tensor2, tensor2 for tensor1, tensor2 for tensor2";
  static std::array<Tensor, 3> backward(ContextOf<Addcdiv>& c, const Tensor& g) {
    const Scalar value = c["value"_arg];
    return needed_gradients(
        c, "input"_arg = [&] { return g; },
        "tensor1"_arg = [&] { return g * value / conjugate(c["tensor2"_arg]); },
        "tensor2"_arg =
            [&] {
              const Tensor& divisor = c["tensor2"_arg];
              return -g * value / conjugate(divisor) * conjugate(div(c["tensor1"_arg], divisor));
            });
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Addcmul, Addcdiv)
