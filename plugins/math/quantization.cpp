// quantize, dequantize and dynamic_quantize: numbers as small integers times a scale.
#include <algorithm>
#include <cmath>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// The smallest and largest element of a dtype of quantized numbers.
std::pair<double, double> range_of(const char* op, DType dtype) {
  if (dtype == u8) return {0, 255};
  if (dtype == i8) return {-128, 127};
  if (dtype == u16) return {0, 65535};
  if (dtype == i16) return {-32768, 32767};
  throw TypeError(std::string(op) + "(): numbers are quantized as u8, i8, u16 or i16, not as " +
                  dtype_text(dtype));
}

// A scale, or a zero point, for each element: of the tensor, of each entry along a dimension, or of
// each block of `block_size` entries.
Tensor spread(const char* op, const char* name, const Tensor& given, const Tensor& input,
              int64_t dim, int64_t block_size) {
  if (given.numel() == 1 && block_size == 0) return given.reshape(IntList());
  const int64_t along = wrap_dimension(op, dim, input.dim());
  const int64_t size = input.shape()[along];
  Shape expected;
  if (block_size == 0) {
    expected.push(size);
    kernel::check_shape(op, name, given, IntList(expected));
    Shape shape;
    for (int64_t i = 0; i < input.dim(); ++i) shape.push(i == along ? size : 1);
    return given.reshape(IntList(shape));
  }
  if (block_size < 0) {
    throw ValueError(std::string(op) + "(): block_size must be 0 or more, got " +
                     std::to_string(block_size));
  }
  expected = Shape(input.shape());
  expected[along] = (size + block_size - 1) / block_size;
  kernel::check_shape(op, name, given, IntList(expected));
  return given.index_select(along, floor_divide(arange(size), block_size));
}

// Floating dtypes that numbers are quantized to. Their zero point is 0.
bool is_small_float(DType dtype) {
  return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2 || dtype == DType::f4_e2m1;
}

struct Quantize {
  static constexpr auto schema =
      "quantize(Tensor input, Tensor scale, Tensor? zero_point=None, *, int dim=1, int "
      "block_size=0, dtype? dtype=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "requires_grad": false}, "scale": {"values": [0.02], "requires_grad": false}},
          {"input": {"shape": [2, 3], "requires_grad": false}, "scale": {"values": [0.1, 0.2, 0.3], "requires_grad": false},
           "zero_point": {"values": [0, 1, -2], "dtype": "i8"}},
          {"input": {"shape": [2, 3], "requires_grad": false}, "scale": {"values": [[0.1, 0.2], [0.3, 0.4]], "requires_grad": false},
           "block_size": 2, "dtype": "i16"}])";
  static constexpr auto doc =
      "round(input / scale) + zero_point, half to even, saturated to the dtype: that of "
      "zero_point, "
      "or u8, i8, u16 or i16; of f8_e4m3, f8_e5m2 and f4_e2m1 input / scale, rounded and "
      "saturated, "
      "whose zero_point is 0. scale has one element, one for each entry along dim, or with "
      "block_size one for each block of entries along dim; zero_point has its shape. NaN gives 0 "
      "(ONNX' QuantizeLinear). There is no gradient.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                        int64_t dim, int64_t block_size, DType dtype) {
    constexpr auto op = "quantize";
    kernel::check_dtype(op, "input", input.dtype(), floating_dtypes | dtype_bit(i32));
    kernel::check_floating(op, "scale", scale);
    const DType result = zero_point.defined()   ? zero_point.dtype()
                         : dtype == DType::none ? u8
                                                : dtype;
    if (dtype != DType::none && dtype != result) {
      throw TypeError("quantize(): dtype is " + std::string(dtype_text(dtype)) +
                      ", but 'zero_point' is " + dtype_text(result));
    }
    if (zero_point.defined())
      kernel::check_same_shape(op, "scale", scale, "zero_point", zero_point);
    const DType compute = input.dtype() == f64 || scale.dtype() == f64 ? f64 : f32;
    const Tensor factors = spread(op, "scale", scale, input, dim, block_size);
    if (is_small_float(result)) return (input.to(compute) / factors.to(compute)).to(result);
    const auto [low, high] = range_of(op, result);
    Tensor scaled = (input.to(compute) / factors.to(compute)).round();
    if (zero_point.defined())
      scaled = scaled + spread(op, "zero_point", zero_point.to(compute), input, dim, block_size);
    return scaled.masked_fill(scaled.isnan(), 0).clamp(low, high).to(result);
  }
};

struct Dequantize {
  static constexpr auto schema =
      "dequantize(Tensor input, Tensor scale, Tensor? zero_point=None, *, int dim=1, int "
      "block_size=0) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "dtype": "u8"}, "scale": {"shape": [1]},
           "zero_point": {"values": [3], "dtype": "u8"}},
          {"input": {"shape": [2, 3], "dtype": "i8"}, "scale": {"shape": [3]}},
          {"input": {"shape": [3, 2], "dtype": "i32"}, "scale": {"shape": [2, 2]}, "dim": 0,
           "block_size": 2}])";
  static constexpr auto doc =
      "(input - zero_point) * scale, in the dtype of scale: what quantize made integers of, with "
      "its scale, zero_point, dim and block_size (ONNX' DequantizeLinear).";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                        int64_t dim, int64_t block_size) {
    constexpr auto op = "dequantize";
    kernel::check_floating(op, "scale", scale);
    if (is_small_float(input.dtype())) {
      const DType compute = compute_dtype(scale.dtype());
      return (input.to(compute) * spread(op, "scale", scale.to(compute), input, dim, block_size))
          .to(scale.dtype());
    }
    kernel::check_dtype(op, "input", input.dtype(), integer_dtypes | dtype_bit(u16));
    Tensor numbers = input.to(i64);
    if (zero_point.defined()) {
      kernel::check_same_dtype(op, "input", input, "zero_point", zero_point);
      kernel::check_same_shape(op, "scale", scale, "zero_point", zero_point);
      numbers = numbers - spread(op, "zero_point", zero_point.to(i64), input, dim, block_size);
    }
    // Halves do not have all integers of 16 bits.
    const DType compute = compute_dtype(scale.dtype());
    return (numbers.to(compute) * spread(op, "scale", scale.to(compute), input, dim, block_size))
        .to(scale.dtype());
  }
};

struct DynamicQuantize {
  static constexpr auto schema =
      "dynamic_quantize(Tensor input) -> (Tensor values, Tensor scale, Tensor zero_point)";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3], "requires_grad": false}}])";
  static constexpr auto doc =
      "input as u8, with the scale and zero point for the range from its smallest to its largest "
      "element, 0 included (ONNX' DynamicQuantizeLinear). There is no gradient.";
  static constexpr bool zero_gradient = true;
  static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& input) {
    kernel::check_floating("dynamic_quantize", "input", input);
    const DType dtype = input.dtype();
    Tensor low = zeros(IntList(), dtype), high = low;
    if (input.numel() != 0) {
      low = input.amin().clamp(none, 0);
      high = input.amax().clamp(0);
    }
    const Tensor range = (high - low) / 255;
    const Tensor scale = where(eq(range, 0), 1, range);
    const Tensor middle = (low / scale * -1).round().clamp(0, 255);
    const Tensor zero_point = middle.masked_fill(middle.isnan(), 0).to(u8);
    static const Op quantize("quantize");
    return {quantize.call<Tensor>(input, scale, zero_point), scale, zero_point};
  }
};

}  // namespace

TENON_OPS(Quantize, Dequantize, DynamicQuantize)
