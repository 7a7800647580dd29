// Activations that pass what is far from zero: hardshrink, softshrink, tanhshrink, threshold.
#include "common.hpp"

namespace {

using namespace nn;

// Whether the elements are inside of [-lambd, lambd]; NaN is not.
Tensor is_small(const Tensor& x, double lambd) { return (x >= -lambd).logical_and(x <= lambd); }

struct Hardshrink {
  static constexpr auto schema =
      "nn.functional.hardshrink(Tensor input, float lambd=0.5) -> Tensor";
  static constexpr auto doc =
      "input, with 0, and a gradient of 0, for what is from -lambd to lambd.";
  static constexpr auto accuracy = "exact";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x, auto lambd) {
    using T = decltype(x);
    return ((x >= -lambd) & (x <= lambd)) ? T{0} : x;
  };
  static Tensor backward(ContextOf<Hardshrink>& c, const Tensor& g) {
    return tenon::where(is_small(c["input"_arg], c["lambd"_arg]), 0, g);
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Softshrink {
  static constexpr auto schema =
      "nn.functional.softshrink(Tensor input, float lambd=0.5) -> Tensor";
  static constexpr auto doc =
      "input moved by lambd towards 0, and 0, with a gradient of 0, for what is from -lambd to "
      "lambd.";
  static constexpr auto accuracy = "f32 0.5, f64 0.5; gradient f32 0, f64 0";
  static constexpr auto saves = "input";
  static Tensor forward(const Tensor& input, double lambd) {
    check_floating("softshrink", "input", input);
    if (!(lambd >= 0)) {
      throw tenon::ValueError("softshrink(): lambd must be 0 or more, got " +
                              tenon::Scalar(lambd).text());
    }
    return input - input.clamp(-lambd, lambd);
  }
  static Tensor backward(ContextOf<Softshrink>& c, const Tensor& g) {
    return tenon::where(is_small(c["input"_arg], c["lambd"_arg]), 0, g);
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Tanhshrink {
  static constexpr auto schema = "nn.functional.tanhshrink(Tensor input) -> Tensor";
  static constexpr auto doc = "input - tanh(input).";
  static constexpr auto accuracy =
      "f32 2.6, f64 2.8; gradient f32 5, f64 5.3; results of the input; "
      "the error of tanh and of a difference, and twice that of tanh in its square";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x) { return x - kernel::tanh(x); };
  static Tensor backward(ContextOf<Tanhshrink>& c, const Tensor& g) {
    return g * c["input"_arg].tanh().square();
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Threshold {
  static constexpr auto schema =
      "nn.functional.threshold(Tensor input, float threshold, float value) -> Tensor";
  static constexpr auto doc = "input where it is above threshold, value elsewhere; NaN stays.";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x, auto threshold, auto value) {
    return x <= threshold ? value : x;
  };
  static Tensor backward(ContextOf<Threshold>& c, const Tensor& g) {
    return tenon::where(c["input"_arg] <= c["threshold"_arg], 0, g);
  }
  static constexpr auto jvp = tenon::pointwise;
};

}  // namespace
TENON_OPS(Hardshrink, Softshrink, Tanhshrink)
TENON_OPS_WITH_IN_PLACE(Threshold)
