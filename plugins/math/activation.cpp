// relu, sigmoid, tanh and its relatives sinh and cosh.
#include <cmath>

#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>
#include <tenon/ops.hpp>

#include "float_op.hpp"

namespace {

using namespace tenon;

struct Relu {
  static constexpr auto schema = "relu(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The larger of input and 0. The gradient is 0 at 0.";
  static constexpr auto accuracy = "exact";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes;
  static constexpr auto element = [](auto x) { return x < 0 ? decltype(x){} : x; };
  static constexpr auto saves = "result";
  static Tensor backward(Context& c, const Tensor& g) { return relu_backward(g, c.result()); }
  static constexpr auto jvp = pointwise;
};

// One pass instead of a comparison and a selection: every network runs it in each step.
struct ReluBackward {
  static constexpr auto schema =
      "relu_backward(Tensor gradient, Tensor output, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The gradient of relu: gradient where its output is above 0.";
  static constexpr auto accuracy = "exact";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr auto element = [](auto gradient, auto output) {
    return output <= 0 ? decltype(gradient){} : gradient;
  };
  static constexpr auto saves = "output";
  static std::array<Tensor, 2> backward(ContextOf<ReluBackward>& c, const Tensor& g) {
    return {relu_backward(g, c["output"_arg]), Tensor()};
  }
  static constexpr auto jvp = pointwise;
};

// The exponential never overflows.
template <class T>
T logistic(T x) {
  const T decay = kernel::exp(-std::fabs(x));
  return (x < 0 ? decay : 1) / (1 + decay);
}
template <class T>
std::complex<T> logistic(std::complex<T> x) {
  const std::complex<T> decay = kernel::exp(x.real() < 0 ? x : -x);
  return (x.real() < 0 ? decay : std::complex<T>(1)) / (T{1} + decay);
}

struct Sigmoid : FloatOp {
  static constexpr auto schema = "sigmoid(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "1 / (1 + exp(-input)).";
  static constexpr auto accuracy =
      "f32 2.3, f64 2.9; gradient f32 3.4, f64 3.2; f64: exp, a sum and a quotient round";
  static constexpr auto element = [](auto x) { return logistic(x); };
  // The result alone would leave 1 - 1 where it saturates.
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Sigmoid>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    if (is_complex(x.dtype())) return g * conjugate(sigmoid(x) * sigmoid(-x));
    return sigmoid_backward(g, x);
  }
};

struct SigmoidBackward {
  static constexpr auto schema =
      "sigmoid_backward(Tensor gradient, Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The gradient of sigmoid: gradient * sigmoid(input) * sigmoid(-input), accurate to the last "
      "digits for large inputs, too.";
  static constexpr auto accuracy =
      "f32 3.9, f64 4.1; gradient f32 5.4, f64 4.9; where the slope is not subnormal";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto gradient, auto x) {
    // The smaller share times the other: an error of the share cancels partly.
    const auto decay = kernel::exp(-std::fabs(x)), share = decay / (1 + decay);
    return gradient * (share * (1 - share));
  };
  static constexpr auto saves = "gradient for input, input";
  static std::array<Tensor, 2> backward(ContextOf<SigmoidBackward>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return needed_gradients(
        c, "gradient"_arg = [&] { return sigmoid_backward(g, x); },
        "input"_arg = [&] { return sigmoid_backward(g * c["gradient"_arg], x) * -tanh(x * 0.5); });
  }
  static constexpr auto jvp = pointwise;
};

struct Tanh : FloatOp {
  static constexpr auto schema = "tanh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The hyperbolic tangent.";
  static constexpr auto accuracy = "f32 2.3, f64 2.4; gradient f32 3.5, f64 4";
  static constexpr auto element = [](auto x) { return kernel::tanh(x); };
  // The result alone would leave 1 - 1 where it saturates.
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Tanh>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    if (is_complex(x.dtype())) return g * conjugate(sigmoid(x * 2) * sigmoid(x * -2) * 4);
    return tanh_backward(g, x);
  }
};

struct TanhBackward {
  static constexpr auto schema =
      "tanh_backward(Tensor gradient, Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The gradient of tanh: gradient * (1 - tanh(input)^2), accurate to the last digits for large "
      "inputs, too.";
  static constexpr auto accuracy =
      "f32 4, f64 4.1; gradient f32 5.4, f64 4.9; where the slope is not subnormal";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto gradient, auto x) {
    // 1 - tanh(x)^2 is 4 sigmoid'(2x).
    const auto decay = kernel::exp(-2 * std::fabs(x)), share = decay / (1 + decay);
    return gradient * (4 * (share * (1 - share)));
  };
  static constexpr auto saves = "gradient for input, input";
  static std::array<Tensor, 2> backward(ContextOf<TanhBackward>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return needed_gradients(
        c, "gradient"_arg = [&] { return tanh_backward(g, x); },
        "input"_arg = [&] { return tanh_backward(g * c["gradient"_arg], x) * (tanh(x) * -2); });
  }
  static constexpr auto jvp = pointwise;
};

struct Sinh : FloatOp {
  static constexpr auto schema = "sinh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The hyperbolic sine.";
  static constexpr auto accuracy = "f32 2.4, f64 2.2; gradient f32 2.4, f64 2.1";
  static constexpr auto element = [](auto x) { return kernel::sinh(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Sinh>& c, const Tensor& g) {
    return g * conjugate(cosh(c["input"_arg]));
  }
};

struct Cosh : FloatOp {
  static constexpr auto schema = "cosh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The hyperbolic cosine.";
  static constexpr auto accuracy = "f32 2.4, f64 2.1; gradient f32 2.4, f64 2.2";
  static constexpr auto element = [](auto x) { return kernel::cosh(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Cosh>& c, const Tensor& g) {
    return g * conjugate(sinh(c["input"_arg]));
  }
};

}  // namespace

TENON_OPS(ReluBackward, SigmoidBackward, TanhBackward)
TENON_OPS_WITH_IN_PLACE(Relu, Sigmoid, Tanh, Sinh, Cosh)
