// Activations made of straight lines: hardtanh, relu6, hardsigmoid, hardswish.
#include "common.hpp"

namespace {

using namespace nn;

constexpr uint32_t kNumbers = tenon::floating_dtypes | tenon::integer_dtypes;

// The gradient where low < x < high. At the bounds it is 0, as it is for relu at 0.
Tensor inside(const Tensor& x, const tenon::Scalar& low, const tenon::Scalar& high,
              const Tensor& g) {
  return tenon::where((x > low).logical_and(x < high), g, 0);
}

struct Hardtanh {
  static constexpr auto schema =
      "nn.functional.hardtanh(Tensor input, Scalar min_val=-1, Scalar max_val=1) -> Tensor";
  static constexpr auto doc =
      "input cut to min_val and max_val; the gradient is 0 at both. Unlike clamp, min_val must "
      "not be above max_val.";
  static constexpr auto accuracy = "exact";
  static constexpr auto saves = "input";
  static Tensor forward(const Tensor& input, const tenon::Scalar& min_val,
                        const tenon::Scalar& max_val) {
    kernel::check_dtype("hardtanh", "input", input.dtype(), kNumbers);
    if (min_val.to<double>() > max_val.to<double>()) {
      throw tenon::ValueError("hardtanh(): min_val " + min_val.text() +
                              " must not be above max_val " + max_val.text());
    }
    return input.clamp(min_val, max_val);
  }
  static Tensor backward(ContextOf<Hardtanh>& c, const Tensor& g) {
    return inside(c["input"_arg], c["min_val"_arg], c["max_val"_arg], g);
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Relu6 {
  static constexpr auto schema = "nn.functional.relu6(Tensor input) -> Tensor";
  static constexpr auto doc = "input cut to the range from 0 to 6; the gradient is 0 at both.";
  static constexpr auto accuracy = "exact";
  static constexpr auto saves = "input";
  static Tensor forward(const Tensor& input) {
    kernel::check_dtype("relu6", "input", input.dtype(), kNumbers);
    return input.clamp(0, 6);
  }
  static Tensor backward(ContextOf<Relu6>& c, const Tensor& g) {
    return inside(c["input"_arg], 0, 6, g);
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Hardsigmoid {
  static constexpr auto schema = "nn.functional.hardsigmoid(Tensor input) -> Tensor";
  static constexpr auto doc =
      "(input + 3) / 6, cut to the range from 0 to 1; the gradient is 0 at both.";
  static constexpr auto accuracy = "f32 1.1, f64 1.1; gradient f32 0.5, f64 0.5";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x) {
    using T = decltype(x);
    return x <= T{-3} ? T{0} : x >= T{3} ? T{1} : (x + T{3}) / T{6};
  };
  static Tensor backward(ContextOf<Hardsigmoid>& c, const Tensor& g) {
    return inside(c["input"_arg], -3, 3, g / 6);
  }
  static constexpr auto jvp = tenon::pointwise;
};

struct Hardswish {
  static constexpr auto schema = "nn.functional.hardswish(Tensor input) -> Tensor";
  static constexpr auto doc =
      "input * hardsigmoid(input): 0 up to -3, input from 3 on (arXiv:1905.02244). The gradient at "
      "both "
      "is that of the lines.";
  static constexpr auto accuracy =
      "f32 2, f64 1.9; gradient f32 1.5, f64 1.5; slopes between -2 and -0.5 of 0.5";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static constexpr auto saves = "input";
  static constexpr auto element = [](auto x) {
    using T = decltype(x);
    return x <= T{-3} ? T{0} : x >= T{3} ? x : x * (x + T{3}) / T{6};
  };
  static Tensor backward(ContextOf<Hardswish>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    const Tensor middle = inside(x, -3, 3, g * (x.clamp(-3, 3) / 3 + 0.5));
    return tenon::where(x >= 3, g, middle);
  }
  static constexpr auto jvp = tenon::pointwise;
};

}  // namespace
TENON_OPS(Relu6, Hardsigmoid, Hardswish)
TENON_OPS_WITH_IN_PLACE(Hardtanh)
