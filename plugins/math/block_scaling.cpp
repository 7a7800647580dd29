// block_quantize and block_dequantize: narrow elements with one scale for each block, as the OCP
// specification MX 1.0 defines them.
#include <algorithm>
#include <limits>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// The exponent of the largest power of two of a dtype of elements.
int largest_exponent(DType dtype) {
  switch (dtype) {
    case f8_e4m3:
      return 8;
    case f8_e5m2:
      return 15;
    case f6_e3m2:
      return 4;
    case f6_e2m3:
    case f4_e2m1:
      return 2;
    default:
      throw TypeError(
          "block_quantize(): elements of blocks are f8_e4m3, f8_e5m2, f6_e2m3, f6_e3m2 or f4_e2m1, "
          "not " +
          std::string(dtype_text(dtype)));
  }
}

// A dimension as two: the blocks, and the elements of one. The last block may be a part of one.
class Blocks {
 public:
  Blocks(const char* op, const Tensor& input, int64_t dim, int64_t block_size)
      : along_(wrap_dimension(op, dim, input.dim())), block_size_(block_size) {
    if (input.dim() == 0)
      throw ValueError(std::string(op) + "(): a tensor without dimensions has no blocks");
    size_ = input.shape()[along_];
    if (block_size < 1) {
      throw ValueError(std::string(op) + "(): block_size must be 1 or more, got " +
                       std::to_string(block_size));
    }
    count_ = size_ / block_size + (size_ % block_size != 0 ? 1 : 0);
    scales_ = Shape(input.shape());
    scales_[along_] = count_;
    // A block beyond the end is not longer than the dimension.
    block_size_ = std::min(block_size_, std::max<int64_t>(size_, 1));
  }
  int64_t along() const { return along_; }
  const Shape& scales() const { return scales_; }
  // Behind the end of the dimension are zeros.
  Tensor split(const Tensor& whole) const {
    const int64_t more = count_ * block_size_ - size_;
    if (more == 0) return whole.reshape(IntList(shape(block_size_)));
    Shape rest(whole.shape());
    rest[along_] = more;
    return cat({whole, expanded_zeros(IntList(rest), whole.dtype())}, along_)
        .reshape(IntList(shape(block_size_)));
  }
  // One for each block, beside the elements of `split`.
  Tensor beside(const Tensor& scale) const { return scale.reshape(IntList(shape(1))); }
  Tensor join(const Tensor& blocks) const {
    Shape whole = scales_;
    whole[along_] = count_ * block_size_;
    const Tensor joined = blocks.reshape(IntList(whole));
    return whole[along_] == size_ ? joined : joined.narrow(along_, 0, size_);
  }

 private:
  Shape shape(int64_t block) const {
    Shape shape;
    for (int64_t d = 0; d < scales_.rank; ++d) {
      shape.push(scales_[d]);
      if (d == along_) shape.push(block);
    }
    return shape;
  }
  int64_t along_, size_ = 0, block_size_, count_ = 0;
  Shape scales_;
};

// The largest power of two that is not above a positive number; of smaller ones than 2^-127, less
// than it.
Tensor power_below(const Tensor& number) {
  const Tensor nearest = number.to(f8_e8m0).to(number.dtype());
  return where(nearest > number, nearest * 0.5, nearest);
}

struct BlockQuantize {
  static constexpr auto schema =
      "block_quantize(Tensor input, dtype dtype, *, int dim=-1, int block_size=32) -> (Tensor "
      "values, "
      "Tensor scale)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 8], "requires_grad": false}, "dtype": "f8_e4m3", "block_size": 4},
          {"input": {"shape": [5, 3], "requires_grad": false}, "dtype": "f6_e3m2", "dim": 0, "block_size": 2},
          {"input": {"shape": [2, 40], "requires_grad": false}, "dtype": "f4_e2m1"}])";
  static constexpr auto doc =
      "input as elements of dtype, f8_e4m3, f8_e5m2, f6_e2m3, f6_e3m2 or f4_e2m1, with a scale of "
      "f8_e8m0 for each block of block_size elements along dim (OCP MX): the largest power of two "
      "that "
      "is not above the largest finite magnitude, divided by the largest power of two of dtype. "
      "Elements "
      "are rounded to the nearest, ties to even; what is too large, infinity included, becomes the "
      "largest number. NaN stays NaN, and makes the scale of its block NaN where dtype has none. "
      "scale "
      "has input's shape, with the number of blocks along dim. It has no gradient.";
  static constexpr bool zero_gradient = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, DType dtype, int64_t dim,
                                            int64_t block_size) {
    constexpr auto op = "block_quantize";
    const double unit = 1.0 / static_cast<double>(int64_t{1} << largest_exponent(dtype));
    kernel::check_floating(op, "input", input);
    const Blocks blocks(op, input, dim, block_size);
    const Tensor numbers = blocks.split(input.to(compute_dtype(input.dtype())));
    const Tensor magnitudes = where(numbers.isfinite(), numbers.abs(), 0);
    const int64_t inside = blocks.along() + 1;
    Tensor scale = magnitudes.amax({inside}, true);
    scale = (power_below(scale) * unit).to(f8_e8m0);
    Tensor values = (numbers / scale.to(numbers.dtype())).to(dtype);
    if (dtype != f8_e4m3 && dtype != f8_e5m2) {
      const Tensor missing = numbers.isnan().any({inside}, true);
      scale =
          scale.to(f32).masked_fill(missing, std::numeric_limits<float>::quiet_NaN()).to(f8_e8m0);
    }
    return {blocks.join(values), scale.reshape(IntList(blocks.scales()))};
  }
};

void check_scaled(const char* op, const char* name, const Tensor& tensor) {
  if (is_narrow(tensor.dtype()) || is_floating(tensor.dtype())) return;
  throw TypeError(std::string(op) + "(): the elements of '" + name +
                  "' must be floating, f8, f6 or f4, got " + dtype_text(tensor.dtype()));
}

struct BlockDequantize {
  static constexpr auto schema =
      "block_dequantize(Tensor input, Tensor scale, *, int dim=-1, int block_size=32, dtype? "
      "dtype=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 8], "dtype": "f8_e4m3"}, "scale": {"values": [[0.5, 2], [4, 1]], "dtype": "f8_e8m0"},
           "block_size": 4},
          {"input": {"shape": [5, 3], "dtype": "f4_e2m1"}, "scale": {"shape": [3, 3], "dtype": "f8_e4m3"},
           "dim": 0, "block_size": 2, "dtype": "f64"},
          {"input": {"shape": [2, 40], "dtype": "f6_e2m3"}, "scale": {"shape": [2, 2]}}])";
  static constexpr auto doc =
      "Each element of input times the scale of its block of block_size elements along dim, in "
      "dtype, else "
      "that of scale, or f32 where that is narrow: what block_quantize made of numbers (OCP MX, "
      "with a scale of f8_e8m0), and "
      "elements with scales of other floating dtypes. scale has input's shape, with the number of "
      "blocks along dim.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& scale, int64_t dim, int64_t block_size,
                        DType dtype) {
    constexpr auto op = "block_dequantize";
    const DType result = dtype != DType::none         ? dtype
                         : is_floating(scale.dtype()) ? scale.dtype()
                                                      : f32;
    check_scaled(op, "input", input);
    check_scaled(op, "scale", scale);
    if (!is_floating(result)) {
      throw TypeError(std::string(op) + "(): dtype must be f32, f64, f16 or bf16, got " +
                      dtype_text(result));
    }
    const Blocks blocks(op, input, dim, block_size);
    kernel::check_shape(op, "scale", scale, IntList(blocks.scales()));
    const DType compute = result == f64 || input.dtype() == f64 || scale.dtype() == f64 ? f64 : f32;
    const Tensor numbers = blocks.split(input.to(compute)) * blocks.beside(scale.to(compute));
    return blocks.join(numbers).to(result);
  }
};

}  // namespace

TENON_OPS(BlockQuantize, BlockDequantize)
