// Activations that need more than one elementwise op of math: gelu, silu, mish, softplus,
// logsigmoid, softsign, leaky_relu, elu and its relatives celu and selu.
#include <cmath>
#include <limits>

#include "common.hpp"
#include "normal_distribution.hpp"

namespace {

using namespace nn;
namespace functional = tenon::nn::functional;

constexpr double kInverseRootTwoPi = 0.39894228040143267794;  // 1 / sqrt(2 pi)

// Sizes of inputs beyond which exp(-x), and exp(-x^2 / 2), are 0 in every dtype. Rules that are made
// of ops calculate with inputs that are cut there: 0 times an infinity would be NaN.
constexpr double kSaturated = 1000, kGaussSaturated = 40;
Tensor bounded(const Tensor& x, double limit = kSaturated) { return x.clamp(-limit, limit); }

struct Gelu {
  static constexpr auto schema =
      "nn.functional.gelu(Tensor input, *, str approximate='none') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [2, 3]}, "approximate": "tanh"}])";
  static constexpr auto doc =
      "input times the normal distribution function of input; approximate 'tanh' computes that by "
      "a "
      "tanh (arXiv:1606.08415).";
  static constexpr auto accuracy =
      "f32 2.6, f64 1500; gradient f32 5, f64 5.2; "
      "f32 below 0 of the input; slopes between -2 and -0.5 of 0.5; "
      "f64: the rounding of input / sqrt(2), whose correction takes 1.25 of the time; "
      "gradients: two polynomials, a quotient, exp and a difference";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::string_view approximate) {
    check_floating("gelu", "input", input);
    if (approximate == "none") return tenon::nn::functional::gelu_erf(input);
    if (approximate != "tanh") {
      throw tenon::ValueError("gelu(): approximate is '" + std::string(approximate) +
                              "', expected 'none' or 'tanh'");
    }
    return tenon::nn::functional::gelu_tanh(input.clamp(-kSaturated));
  }
};

struct GeluErf {
  static constexpr auto schema = "nn.functional.gelu_erf(Tensor input) -> Tensor";
  static constexpr auto doc = "gelu in its exact form, by the error function.";
  static constexpr auto accuracy =
      "f32 2.6, f64 1500; gradient f32 5, f64 5.2; "
      "f32 below 0 of the input; slopes between -2 and -0.5 of 0.5; "
      "f64: the rounding of input / sqrt(2), whose correction takes 1.25 of the time; "
      "gradients: two polynomials, a quotient, exp and a difference";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x) { return x * normal_distribution(x); };
  static Tensor backward(ContextOf<GeluErf>& c, const Tensor& g) {
    return tenon::nn::grad::gelu(g, c["input"_arg]);
  }
  static constexpr auto jvp = tenon::pointwise;
};

// In one pass: at -inf it is NaN, as models write it, where gelu is 0.
struct GeluTanh {
  static constexpr auto schema = "nn.functional.gelu_tanh(Tensor input) -> Tensor";
  static constexpr auto doc =
      "0.5 input (1 + tanh(0.79788456 (input + 0.044715 input^3))); NaN for -inf, where gelu with "
      "approximate 'tanh' is 0.";
  static constexpr auto accuracy =
      "f32 3, f64 3; gradient f32 4, f64 8; "
      "below 0 of the input; slopes between -2 and -0.5 of 0.5; "
      "the tail is a power of large numbers, whose rounding it shows";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static constexpr double scale = 0.79788456080286535588, cubic = 0.044715;
  static constexpr auto element = [](auto x) {
    using T = decltype(x);
    const T inside = static_cast<T>(2 * scale) * (x + static_cast<T>(cubic) * (x * x * x));
    // (1 + tanh(y)) / 2 is sigmoid(2y), which keeps its digits where the sum would be 0.
    const T decay = kernel::exp(-std::fabs(inside));
    return x * ((inside < 0 ? decay : T{1}) / (T{1} + decay));
  };
  static Tensor backward(ContextOf<GeluTanh>& c, const Tensor& g) {
    return tenon::nn::grad::gelu_tanh(g, c["input"_arg]);
  }
  static constexpr auto jvp = tenon::pointwise;
};

// a b - product, exactly, by halves that are multiplied without rounding.
TENON_INLINE double rounded_off(double a, double b, double product) {
  constexpr uint64_t low = 0x7ffffff;
  const double high_a = __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, a) & ~low),
               high_b = __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, b) & ~low);
  const double low_a = a - high_a, low_b = b - high_b;
  return ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b;
}
// The slope of x sigmoid(v), v = 2 scale (x + cubic x^3). The rounding of v would be up to 900 units of the tail:
// f32 is computed in f64, and for f64 a second number has what rounding took away.
template <class T>
TENON_INLINE double gelu_tanh_slope(T given) {
  constexpr double scale = 2 * GeluTanh::scale, cubic = GeluTanh::cubic, end = kGaussSaturated;
  const auto wide = static_cast<double>(given);
  const double above = wide < -end ? -end : wide, x = above > end ? end : above, square = x * x;
  const double more = cubic * square, sum = 1 + more, product = x * sum, v = scale * product;
  const double decay = kernel::exp(-std::fabs(v)), share = decay / (1 + decay), other = 1 - share;
  const double s = v < 0 ? share : other, rest_of_s = v < 0 ? other : share;
  const double slope = s * (1 + x * rest_of_s * (scale * (3 * more + 1)));
  if constexpr (sizeof(T) == 4) return slope;
  const double of_more = rounded_off(cubic, square, more) + cubic * rounded_off(x, x, square);
  const double of_product = rounded_off(x, sum, product) + x * ((more - (sum - 1)) + of_more);
  return slope + slope * (rest_of_s * (rounded_off(scale, product, v) + scale * of_product));
}

struct GeluTanhGrad {
  static constexpr auto schema = "nn.grad.gelu_tanh(Tensor grad_output, Tensor input) -> Tensor";
  static constexpr auto doc = "The gradient of gelu_tanh, without a loss in its tail.";
  static constexpr auto accuracy =
      "f32 4, f64 8; gradient f32 200, f64 1700; near zeros of a slope of grad_output; f64: two "
      "numbers for the operand of exp; slopes: a power of large numbers";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "grad_output for input, input";
  static constexpr auto element = [](auto g, auto x) {
    return static_cast<double>(g) * gelu_tanh_slope(x);
  };
  static std::tuple<Tensor, Tensor> backward(ContextOf<GeluTanhGrad>& c, const Tensor& v) {
    const Tensor& x = c["input"_arg];
    Tensor grad_output, input;
    if (c.needs_input_grad("grad_output"_arg)) grad_output = tenon::nn::grad::gelu_tanh(v, x);
    if (c.needs_input_grad("input"_arg)) {
      // s (1 - s) (w (2 + x w (1 - 2 s)) + x w'), where s is the sigmoid and w the slope of its operand.
      constexpr double scale = 2 * GeluTanh::scale, cubic = GeluTanh::cubic;
      const Tensor near = bounded(x, kGaussSaturated), square = near * near;
      const Tensor inside = (near + square * near * cubic) * scale,
                   w = (square * (3 * cubic) + 1) * scale;
      input = tenon::sigmoid_backward(v * c["grad_output"_arg], inside) *
              (w * (2 - near * w * (inside * 0.5).tanh()) + square * (6 * cubic * scale));
    }
    return {std::move(grad_output), std::move(input)};
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct GeluGrad {
  static constexpr auto schema = "nn.grad.gelu(Tensor grad_output, Tensor input) -> Tensor";
  static constexpr auto doc = "The gradient of gelu_erf.";
  static constexpr auto accuracy =
      "f32 8, f64 6.5; gradient f32 120, f64 900; near zeros of a slope of grad_output; "
      "as the gradient of gelu, and a product";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "grad_output for input, input";
  static constexpr auto element = [](auto g, auto x) { return g * gelu_slope(x); };
  static std::tuple<Tensor, Tensor> backward(ContextOf<GeluGrad>& c, const Tensor& v) {
    const Tensor& x = c["input"_arg];
    Tensor grad_output, input;
    if (c.needs_input_grad("grad_output"_arg)) grad_output = tenon::nn::grad::gelu(v, x);
    if (c.needs_input_grad("input"_arg)) {
      const Tensor near = bounded(x, kGaussSaturated), square = near * near;
      input = v * c["grad_output"_arg] * ((square * -0.5).exp() * kInverseRootTwoPi * (2 - square));
    }
    return {std::move(grad_output), std::move(input)};
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Silu {
  static constexpr auto schema = "nn.functional.silu(Tensor input) -> Tensor";
  static constexpr auto doc = "input times its sigmoid.";
  static constexpr auto accuracy =
      "f32 2.8, f64 2.5; gradient f32 5.2, f64 4.9; "
      "of 1e-30 (f64 1e-290) where the result is smaller; slopes between -2 and -0.5 of 0.5; "
      "f32 in the tail, where exp is near its end; beside -2 the terms of the slope cancel to a "
      "third";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x) {
    using T = decltype(x);
    return x / (T{1} + kernel::exp(-x));
  };
  static Tensor backward(ContextOf<Silu>& c, const Tensor& g) {
    return tenon::nn::grad::silu(g, c["input"_arg]);
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct SiluGrad {
  static constexpr auto schema = "nn.grad.silu(Tensor grad_output, Tensor input) -> Tensor";
  static constexpr auto doc = "The gradient of silu.";
  static constexpr auto accuracy =
      "f32 6.2, f64 5.4; gradient f32 8, f64 7; near zeros of a slope of grad_output; "
      "as the gradient of silu, and a product";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "grad_output for input, input";
  static constexpr auto element = [](auto g, auto x) {
    using T = decltype(x);
    // Sigmoid and its complement without a difference, which would lose the digits that a large x multiplies; 1
    // where the product is infinity times 0.
    const T power = kernel::exp(x), rest = T{1} / (T{1} + power), product = power * rest;
    const T s = product < T{1} ? product : T{1};
    return g * s * (T{1} + x * rest);
  };
  static std::tuple<Tensor, Tensor> backward(ContextOf<SiluGrad>& c, const Tensor& v) {
    const Tensor& x = c["input"_arg];
    Tensor grad_output, input;
    if (c.needs_input_grad("grad_output"_arg)) grad_output = tenon::nn::grad::silu(v, x);
    if (c.needs_input_grad("input"_arg)) {
      // s (1 - s) (2 + x (1 - 2 s)), where s is the sigmoid, without the differences.
      const Tensor near = bounded(x),
                   slope = tenon::sigmoid_backward(v * c["grad_output"_arg], near);
      input = slope * (2 - near * (near * 0.5).tanh());
    }
    return {std::move(grad_output), std::move(input)};
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Softplus {
  static constexpr auto schema =
      "nn.functional.softplus(Tensor input, float beta=1, float threshold=20) -> Tensor";
  static constexpr auto doc =
      "log(1 + exp(beta * input)) / beta; input itself where beta * input > threshold.";
  static constexpr auto accuracy =
      "f32 2.3, f64 3.2; gradient f32 2.3, f64 3.2; f64: log1p of a rounded exp";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x, auto beta, auto threshold) {
    using T = decltype(x);
    const T scaled = x * beta;
    const T soft = kernel::log1p(kernel::exp(scaled)) / beta;
    return scaled > threshold ? x : soft;
  };
  static Tensor backward(ContextOf<Softplus>& c, const Tensor& g) {
    const Tensor scaled = c["input"_arg] * c["beta"_arg];
    return tenon::where(scaled > c["threshold"_arg], g, g * scaled.sigmoid());
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct LeakyRelu {
  static constexpr auto schema =
      "nn.functional.leaky_relu(Tensor input, float negative_slope=0.01) -> Tensor";
  static constexpr auto doc =
      "input where it is positive, negative_slope * input elsewhere; the gradient at 0 is that of "
      "the "
      "negative side.";
  static constexpr auto accuracy = "f32 1, f64 0.5; gradient f32 0.5, f64 0";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x, auto slope) {
    return x > decltype(x){0} ? x : x * slope;
  };
  static Tensor backward(ContextOf<LeakyRelu>& c, const Tensor& g) {
    return tenon::where(c["input"_arg] > 0, g, g * c["negative_slope"_arg]);
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Elu {
  static constexpr auto schema =
      "nn.functional.elu(Tensor input, float alpha=1, *, float scale=1, float input_scale=1) -> "
      "Tensor";
  static constexpr auto doc =
      "scale * input where input is positive, scale * alpha * (exp(input_scale * input) - 1) "
      "elsewhere; the gradient at 0 is that of the negative side.";
  static constexpr auto accuracy = "f32 1.3, f64 1.5; gradient f32 1.1, f64 1.2";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x, auto alpha, auto scale, auto input_scale) {
    using T = decltype(x);
    const T curved = (alpha * scale) * kernel::expm1(x * input_scale);
    return x > T{0} ? scale * x : curved;
  };
  static Tensor backward(ContextOf<Elu>& c, const Tensor& g) {
    // Clamped first: an infinite exp in the branch that is not taken would turn later gradients to
    // NaN.
    const Tensor& x = c["input"_arg];
    const double scale = c["scale"_arg], input_scale = c["input_scale"_arg];
    const Tensor below = x.clamp(tenon::none, 0);
    const Tensor power = (input_scale == 1 ? below : below * input_scale).exp();
    return tenon::where(x > 0, scale == 1 ? g : g * scale,
                        g * power * (c["alpha"_arg] * scale * input_scale));
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Celu {
  static constexpr auto schema = "nn.functional.celu(Tensor input, float alpha=1) -> Tensor";
  static constexpr auto doc =
      "input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere; alpha must not be "
      "0. Continuously differentiable (arXiv:1704.07483).";
  static constexpr auto accuracy = "f32 1.3, f64 1.5; gradient f32 1.1, f64 1.2";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, double alpha) {
    if (alpha == 0) throw tenon::ValueError("celu(): alpha must not be 0; relu() is the limit");
    return functional::elu(input, alpha, 1.0, 1 / alpha);
  }
};

struct Selu {
  static constexpr auto schema = "nn.functional.selu(Tensor input) -> Tensor";
  static constexpr auto doc =
      "scale * input where it is positive, scale * alpha * (exp(input) - 1) elsewhere, with the "
      "scale 1.0507 and the alpha 1.6733 of arXiv:1706.02515.";
  static constexpr auto accuracy = "f32 1.9, f64 2; gradient f32 2, f64 2.4";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input) {
    return functional::elu(input, 1.6732632423543772848170429916717,
                           1.0507009873554804934193349852946);
  }
};

struct Logsigmoid {
  static constexpr auto schema = "nn.functional.logsigmoid(Tensor input) -> Tensor";
  static constexpr auto doc = "The logarithm of the sigmoid: -log(1 + exp(-input)).";
  static constexpr auto accuracy =
      "f32 2.3, f64 3.8; gradient f32 2.3, f64 3.5; f64: log1p of a rounded exp, and a sum";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x) {
    using T = decltype(x);
    const T tail = kernel::log1p(kernel::exp(-std::fabs(x)));  // never overflows
    return (x < T{0} ? x : T{0}) - tail;
  };
  static Tensor backward(ContextOf<Logsigmoid>& c, const Tensor& g) {
    return g * (-c["input"_arg]).sigmoid();
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Mish {
  static constexpr auto schema = "nn.functional.mish(Tensor input) -> Tensor";
  static constexpr auto doc = "input * tanh(log(1 + exp(input))) (arXiv:1908.08681).";
  static constexpr auto accuracy =
      "f32 3.6, f64 4.1; gradient f32 8.5, f64 8.4; of 1e-35 (f64 2e-305) where the result is "
      "smaller; slopes between -2 and -0.5 of 0.5; "
      "exp, a sum, a quotient and a product round; slopes: sums and two quotients of them";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  // tanh(log(1 + u)) is u (u + 2) / (u (u + 2) + 2); for a positive x by its inverse, which does
  // not overflow.
  static constexpr auto element = [](auto x) {
    using T = decltype(x);
    const T w = kernel::exp(-std::fabs(x));
    const T above = x < T{0} ? w * w + T{2} * w : T{1} + T{2} * w;
    return x * (above / (above + (x < T{0} ? T{2} : T{2} * w * w)));
  };
  static Tensor backward(ContextOf<Mish>& c, const Tensor& g) {
    return tenon::nn::grad::mish(g, c["input"_arg]);
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct MishGrad {
  static constexpr auto schema = "nn.grad.mish(Tensor grad_output, Tensor input) -> Tensor";
  static constexpr auto doc = "The gradient of mish.";
  static constexpr auto accuracy =
      "f32 8.5, f64 8.4; gradient f32 40, f64 90; near zeros of a slope of grad_output; as the "
      "gradient of mish, and a product";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "grad_output for input, input";
  // With u = exp(x) the slope is u ((u + 2) d + 4 x (1 + u)) / d^2, d = u (u + 2) + 2; for a positive x by
  // the inverse of u, which does not overflow.
  static constexpr auto element = [](auto g, auto x) {
    using T = decltype(x);
    // Beyond 1,000 exp is 0 in every dtype, and infinity times 0 would be NaN.
    constexpr T end = T{1000};
    const T above = x < -end ? -end : x, near = above > end ? end : above;
    const T w = kernel::exp(-std::fabs(near)), one = T{1} + w;
    const bool below = near < T{0};
    const T sum = below ? w * (w + T{2}) + T{2} : T{1} + T{2} * w * one;
    const T left = below ? w + T{2} : one + w, right = below ? one : w * w * one;
    return g * ((left + T{4} * near * right / sum) / sum * (below ? w : T{1}));
  };
  static std::tuple<Tensor, Tensor> backward(ContextOf<MishGrad>& c, const Tensor& v) {
    const Tensor& x = c["input"_arg];
    Tensor grad_output, input;
    if (c.needs_input_grad("grad_output"_arg)) grad_output = tenon::nn::grad::mish(v, x);
    if (c.needs_input_grad("input"_arg)) {
      // q s (2 + x (r - 2 s t)), where s is the sigmoid of x, r that of -x, t = tanh(softplus(x)) = s (1 + r) / (1 + r^2)
      // and q = 1 - t^2 = (2 r / (1 + r^2))^2: neither has a difference, and r keeps its digits in the tail.
      const Tensor near = bounded(x), s = near.sigmoid(), r = (-near).sigmoid();
      const Tensor sum = r * r + 1, root = r / sum * 2;
      const Tensor factor = near * (r - s * s * (r + 1) / sum * 2) + 2;
      input = v * c["grad_output"_arg] * (root * root * s * factor);
    }
    return {std::move(grad_output), std::move(input)};
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Softsign {
  static constexpr auto schema = "nn.functional.softsign(Tensor input) -> Tensor";
  static constexpr auto doc = "input / (1 + |input|).";
  static constexpr auto accuracy = "f32 1.6, f64 1.6; gradient f32 3.8, f64 3.8";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x) {
    using T = decltype(x);
    constexpr T largest = std::numeric_limits<T>::max();
    const T given = std::fabs(x), size = given > largest ? largest : given;
    return std::copysign(size / (T{1} + size), x);
  };
  static Tensor backward(ContextOf<Softsign>& c, const Tensor& g) {
    return tenon::nn::grad::softsign(g, c["input"_arg]);
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct SoftsignGrad {
  static constexpr auto schema = "nn.grad.softsign(Tensor grad_output, Tensor input) -> Tensor";
  static constexpr auto doc = "The gradient of softsign: grad_output / (1 + |input|)^2.";
  static constexpr auto accuracy =
      "f32 3.6, f64 3.6; gradient f32 8, f64 8; a sum and two quotients round; slopes: a third "
      "power";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "grad_output for input, input";
  static constexpr auto element = [](auto g, auto x) {
    const auto size = 1 + std::fabs(x);
    return g / size / size;  // its square would overflow
  };
  static std::tuple<Tensor, Tensor> backward(ContextOf<SoftsignGrad>& c, const Tensor& v) {
    const Tensor& x = c["input"_arg];
    Tensor grad_output, input;
    if (c.needs_input_grad("grad_output"_arg)) grad_output = tenon::nn::grad::softsign(v, x);
    if (c.needs_input_grad("input"_arg))
      input = tenon::nn::grad::softsign(v * c["grad_output"_arg], x) * sign(x) * -2 / (x.abs() + 1);
    return {std::move(grad_output), std::move(input)};
  }
  static constexpr auto jvp = tenon::pointwise;
};

}  // namespace
TENON_OPS(Gelu, GeluErf, GeluTanh, GeluTanhGrad, GeluGrad, Silu, SiluGrad, Softplus, Logsigmoid,
          Mish, MishGrad, Softsign, SoftsignGrad)
TENON_OPS_WITH_IN_PLACE(LeakyRelu, Elu, Celu, Selu)
