// Functions of elements at NaN and infinities as ONNX Runtime computes them.
#include <limits>

#include "ops/common.hpp"

namespace {

using namespace onnx;
using tenon::Op;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// NaN where the condition holds.
Tensor undefined_where(const Tensor& condition, const Tensor& result) {
  const Tensor nan = number_like(result, std::numeric_limits<double>::quiet_NaN());
  return tenon::where(condition, nan, result);
}

struct RuntimeGelu {
  static constexpr auto schema =
      "onnx._runtime.gelu(Tensor X, *, str approximate='none') -> Tensor";
  static constexpr auto samples = R"([{"X": {"shape": [2, 3]}, "approximate": "tanh"}])";
  static constexpr auto doc = "nn.functional.gelu, which is NaN at -inf.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, std::string_view approximate) {
    return undefined_where(tenon::eq(x, -kInfinity), functional::gelu(x, approximate));
  }
};

struct RuntimeHardSwish {
  static constexpr auto schema = "onnx._runtime.hardswish(Tensor X) -> Tensor";
  static constexpr auto samples = R"([{"X": {"shape": [2, 3]}}])";
  static constexpr auto doc = "nn.functional.hardswish, which is NaN at -inf.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x) {
    return undefined_where(tenon::eq(x, -kInfinity), functional::hardswish(x));
  }
};

struct RuntimeSoftsign {
  static constexpr auto schema = "onnx._runtime.softsign(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3]}}])";
  static constexpr auto doc = "nn.functional.softsign, which is NaN at infinities.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x) {
    return undefined_where(tenon::eq(tenon::abs(x), kInfinity), functional::softsign(x));
  }
};

// The result with 0 where the input is NaN.
Tensor zero_at_nan(const Tensor& input, const Tensor& result) {
  if (!tenon::is_floating(input.dtype())) return result;
  return tenon::where(tenon::isnan(input), number_like(result, 0), result);
}

struct RuntimeThreshold {
  static constexpr auto schema =
      "onnx._runtime.thresholded_relu(Tensor X, *, float alpha=1.0) -> Tensor";
  static constexpr auto samples = R"([{"X": {"shape": [2, 3]}}])";
  static constexpr auto doc = "X above alpha, 0 elsewhere and at NaN.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, double alpha) {
    return zero_at_nan(x, functional::threshold(x, alpha, 0.0));
  }
};

struct RuntimeShrink {
  static constexpr auto schema =
      "onnx._runtime.shrink(Tensor input, *, float bias=0.0, float lambd=0.5) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3]}}])";
  static constexpr auto doc = "onnx.shrink, which is 0 at NaN.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, double bias, double lambd) {
    static const Op op("onnx.shrink");
    return zero_at_nan(
        input, op.call<Tensor>(input, tenon::arg("bias") = bias, tenon::arg("lambd") = lambd));
  }
};

// Conversions as those of x86-64, whose instructions give the smallest integer for what does not fit.
template <class Integer>
Integer truncated(double number) {
  constexpr auto end = static_cast<double>(uint64_t{1} << (8 * sizeof(Integer) - 1));
  return number > -end - 1 && number < end ? static_cast<Integer>(number)
                                           : std::numeric_limits<Integer>::min();
}
// Numbers from the middle of the range on are converted from their difference to it.
template <class Unsigned, class Signed>
Unsigned truncated_unsigned(double number) {
  constexpr Unsigned half = Unsigned{1} << (8 * sizeof(Unsigned) - 1);
  const auto middle = static_cast<double>(half);
  if (!(number >= middle)) return static_cast<Unsigned>(truncated<Signed>(number));
  return static_cast<Unsigned>(truncated<Signed>(number - middle)) ^ half;
}

template <class Integer>
Integer converted(double number) {
  if constexpr (sizeof(Integer) < 4)
    return static_cast<Integer>(truncated<int32_t>(number));
  else if constexpr (std::is_same_v<Integer, uint32_t>)
    return truncated_unsigned<uint32_t, int32_t>(number);
  else if constexpr (std::is_same_v<Integer, uint64_t>)
    return truncated_unsigned<uint64_t, int64_t>(number);
  else
    return truncated<Integer>(number);
}

template <class Integer>
Tensor integers(const Tensor& input) {
  std::vector<Integer> list;
  list.reserve(static_cast<size_t>(input.numel()));
  for (const double number : input.to_vector<double>()) list.push_back(converted<Integer>(number));
  return tenon::from_range(list.begin(), list.end()).reshape(input.shape());
}

struct RuntimeCast {
  static constexpr auto schema = "onnx._runtime.cast(Tensor(a) input, *, dtype to) -> Tensor(a)";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3]}, "to": "i32"},
          {"input": {"shape": [2, 3]}, "to": "u8"}, {"input": {"shape": [2, 3]}, "to": "f64"}])";
  static constexpr auto doc =
      "onnx.cast, as instructions of x86-64 convert NaN and numbers beyond an integer type.";
  static constexpr bool composite = true;
  static constexpr bool any_dtype = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& input, DType to) {
    static const Op op("onnx.cast");
    if (tenon::is_floating(input.dtype())) {
      if (to == tenon::u8) return integers<uint8_t>(input);
      if (to == tenon::i8) return integers<int8_t>(input);
      if (to == tenon::i16) return integers<int16_t>(input);
      if (to == tenon::u16) return integers<uint16_t>(input);
      if (to == tenon::i32) return integers<int32_t>(input);
      if (to == tenon::u32) return integers<uint32_t>(input);
      if (to == tenon::i64) return integers<int64_t>(input);
      if (to == tenon::u64) return integers<uint64_t>(input);
    }
    return op.call<Tensor>(input, tenon::arg("to") = to);
  }
};

struct RuntimeCastLike {
  static constexpr auto schema =
      "onnx._runtime.cast_like(Tensor(a) input, Tensor target_type) -> Tensor(a)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "target_type": {"shape": [1]}},
          {"input": {"shape": [2, 3]}, "target_type": {"shape": [1], "dtype": "i64"}}])";
  static constexpr auto doc =
      "The tensor in the dtype of another one, converted as onnx._runtime.cast does.";
  static constexpr bool composite = true;
  static constexpr bool any_dtype = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& input, const Tensor& target) {
    return RuntimeCast::forward(input, target.dtype());
  }
};

struct RuntimePower {
  static constexpr auto schema = "onnx._runtime.pow(Tensor X, Tensor Y) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"values": [1.5, 0.5, 2.0]}, "Y": {"values": [2.0, -1.0, 0.5]}}])";
  static constexpr auto doc =
      "onnx.pow, in which integers are powers of f64, cut off as by onnx._runtime.cast.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& y) {
    static const Op op("onnx.pow");
    if (tenon::is_differentiable(x.dtype())) return op.call<Tensor>(x, y);
    return RuntimeCast::forward(tenon::pow(x.to(tenon::f64), y.to(tenon::f64)), x.dtype());
  }
};

}  // namespace
TENON_OP(RuntimeGelu)
TENON_OP(RuntimeHardSwish)
TENON_OP(RuntimeSoftsign)
TENON_OP(RuntimeThreshold)
TENON_OP(RuntimeShrink)
TENON_OP(RuntimeCast)
TENON_OP(RuntimeCastLike)
TENON_OP(RuntimePower)
