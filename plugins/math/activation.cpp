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
  static constexpr auto doc = "The larger of input and 0.";
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
  static constexpr auto element = [](auto x) { return logistic(x); };
  static constexpr auto saves = "result";
  static Tensor backward(Context& c, const Tensor& g) {
    const Tensor y = c.result();
    return g * conjugate(y) * conjugate(1 - y);
  }
};

struct Tanh : FloatOp {
  static constexpr auto schema = "tanh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The hyperbolic tangent.";
  static constexpr auto element = [](auto x) { return kernel::tanh(x); };
  static constexpr auto saves = "result";
  static Tensor backward(Context& c, const Tensor& g) {
    return g * conjugate(1 - square(c.result()));
  }
};

struct Sinh : FloatOp {
  static constexpr auto schema = "sinh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The hyperbolic sine.";
  static constexpr auto element = [](auto x) { return kernel::sinh(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Sinh>& c, const Tensor& g) {
    return g * conjugate(cosh(c["input"_arg]));
  }
};

struct Cosh : FloatOp {
  static constexpr auto schema = "cosh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The hyperbolic cosine.";
  static constexpr auto element = [](auto x) { return kernel::cosh(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Cosh>& c, const Tensor& g) {
    return g * conjugate(sinh(c["input"_arg]));
  }
};

}  // namespace

TENON_OP(ReluBackward)
TENON_OPS_WITH_IN_PLACE(Relu, Sigmoid, Tanh, Sinh, Cosh)
