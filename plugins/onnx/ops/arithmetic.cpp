// Arithmetic whose results have the dtype of the first operand.
#include <limits>

#include "common.hpp"

namespace {

using namespace onnx;

bool is_integer(const Tensor& tensor) { return !tenon::is_differentiable(tensor.dtype()); }

struct Divide {
  static constexpr auto schema = "onnx.div(Tensor A, Tensor B) -> Tensor";
  static constexpr auto doc = "A / B; of integers truncated towards zero.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& a, const Tensor& b) {
    if (!is_integer(a)) return tenon::div(a, b);
    return tenon::floor_divide(a - tenon::fmod(a, b), b);
  }
};

struct Power {
  static constexpr auto schema = "onnx.pow(Tensor X, Tensor Y) -> Tensor";
  static constexpr auto doc =
      "X to the power Y in the dtype of X; negative powers of integers are cut off.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& y) {
    if (!is_integer(x)) {
      if (plain_number(y) == 2.0) return tenon::square(x);
      return tenon::pow(x, y.dtype() == x.dtype() ? y : y.to(x.dtype()));
    }
    if (!is_integer(y)) return tenon::pow(x.to(tenon::f64), y.to(tenon::f64)).to(x.dtype());
    const Tensor exponent = y.to(x.dtype());
    const Tensor whole = tenon::pow(x, tenon::maximum(exponent, number_like(x, 0)));
    const Tensor unit = tenon::eq(tenon::abs(x), number_like(x, 1));
    const Tensor cut = tenon::where(unit, tenon::pow(x, tenon::abs(exponent)), number_like(x, 0));
    return tenon::where(tenon::lt(exponent, number_like(x, 0)), cut, whole);
  }
};

struct Mean {
  static constexpr auto schema = "onnx.mean(Tensor[] data) -> Tensor";
  static constexpr auto doc =
      "The mean of tensors, element by element; their shapes are broadcast.";
  static constexpr bool composite = true;
  static Tensor forward(TensorList data) {
    Tensor sum = data[0];
    for (int64_t i = 1; i < data.size(); ++i) sum = sum + data[i];
    return tenon::div(sum, static_cast<double>(data.size())).to(data[0].dtype());
  }
};

struct Sum {
  static constexpr auto schema = "onnx.sum(Tensor[] data) -> Tensor";
  static constexpr auto doc = "The sum of tensors, element by element; their shapes are broadcast.";
  static constexpr bool composite = true;
  static Tensor forward(TensorList data) {
    Tensor sum = data[0];
    for (int64_t i = 1; i < data.size(); ++i) sum = sum + data[i];
    return data.size() == 1 ? sum.clone() : sum;
  }
};

struct Maximum {
  static constexpr auto schema = "onnx.max(Tensor[] data) -> Tensor";
  static constexpr auto doc =
      "The largest of tensors, element by element; their shapes are broadcast.";
  static constexpr bool composite = true;
  static Tensor forward(TensorList data) {
    if (data.size() == 1) return data[0].clone();
    Tensor most = computable(data[0]);
    for (int64_t i = 1; i < data.size(); ++i) most = tenon::maximum(most, computable(data[i]));
    return in_dtype(most, data[0].dtype());
  }
};

struct Minimum {
  static constexpr auto schema = "onnx.min(Tensor[] data) -> Tensor";
  static constexpr auto doc =
      "The smallest of tensors, element by element; their shapes are broadcast.";
  static constexpr bool composite = true;
  static Tensor forward(TensorList data) {
    if (data.size() == 1) return data[0].clone();
    Tensor least = computable(data[0]);
    for (int64_t i = 1; i < data.size(); ++i) least = tenon::minimum(least, computable(data[i]));
    return in_dtype(least, data[0].dtype());
  }
};

struct Clip {
  static constexpr auto schema =
      "onnx.clip(Tensor input, Tensor? min=None, Tensor? max=None) -> Tensor";
  static constexpr auto doc = "min(max(input, min), max); where the bounds cross, max.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& min, const Tensor& max) {
    if (min.defined() && max.defined() && input.dtype() == tenon::f32) {
      const std::optional<double> low = plain_number(min), high = plain_number(max);
      if (low && high) return tenon::clamp(input, *low, *high);
    }
    Tensor result = input;
    if (min.defined()) result = tenon::maximum(result, min);
    if (max.defined()) result = tenon::minimum(result, max);
    return min.defined() || max.defined() ? result : input.clone();
  }
};

struct IsInfinite {
  static constexpr auto schema =
      "onnx.isinf(Tensor X, *, bool detect_negative=True, bool detect_positive=True) -> Tensor";
  static constexpr auto doc = "Whether elements are -inf or inf, each if it is to be detected.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& x, bool negative, bool positive) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (negative && positive) return tenon::isinf(x);
    if (!negative && !positive) return tenon::full(x.shape(), false, tenon::boolean);
    return tenon::eq(x, positive ? infinity : -infinity);
  }
};

struct Modulo {
  static constexpr auto schema = "onnx.mod(Tensor A, Tensor B, *, bool fmod=False) -> Tensor";
  static constexpr auto doc =
      "The remainder of A / B with the sign of B, or with fmod with the sign of A.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& a, const Tensor& b, bool fmod) {
    const Tensor left = computable(a), right = computable(b);
    return in_dtype(fmod ? tenon::fmod(left, right) : tenon::remainder(left, right), a.dtype());
  }
};

struct BitShift {
  static constexpr auto schema = "onnx.bit_shift(Tensor X, Tensor Y, *, str direction) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"values": [16, 4, 1], "dtype": "u8"}, "Y": {"values": [1, 2, 9], "dtype": "u8"}, "direction": "LEFT"}])";
  static constexpr auto doc = "X shifted by Y bits, LEFT or RIGHT.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& x, const Tensor& y, std::string_view direction) {
    if (direction != "LEFT" && direction != "RIGHT")
      throw tenon::ValueError("onnx.bit_shift(): 'direction' is '" + std::string(direction) +
                              "'; there are LEFT and RIGHT");
    const Tensor bits = computable(x), count = computable(y);
    return in_dtype(direction == "LEFT" ? tenon::bitwise_left_shift(bits, count)
                                        : tenon::bitwise_right_shift(bits, count),
                    x.dtype());
  }
};

}  // namespace
TENON_OP(Divide)
TENON_OP(Power)
TENON_OP(Mean)
TENON_OP(Sum)
TENON_OP(Maximum)
TENON_OP(Minimum)
TENON_OP(Clip)
TENON_OP(IsInfinite)
TENON_OP(Modulo)
TENON_OP(BitShift)
