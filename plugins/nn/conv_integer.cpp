// conv_integer: convolutions of quantized images, less their zero points.
#include "common.hpp"

namespace {

using namespace nn;

constexpr auto kName = "conv_integer";

// The elements less their zero point, in f64: sums of their products are exact up to 2^53.
Tensor without_zero(const char* name, const Tensor& x, const Tensor& zero_point) {
  kernel::check_dtype(kName, name, x.dtype(), tenon::integer_dtypes);
  const Tensor numbers = x.to(tenon::f64);
  if (!zero_point.defined()) return numbers;
  check_same_dtype(kName, name, x, "its zero point", zero_point);
  const Tensor zero = zero_point.to(tenon::f64);
  if (zero.numel() == 1) return numbers - zero.reshape(IntList());
  // A zero point for each output channel, the first dimension of weights.
  const int64_t channels = x.size(0);
  kernel::check_shape(kName, "weight_zero_point", zero, IntList(&channels, 1));
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[0] = channels;
  return numbers - zero.reshape(shape);
}

struct ConvInteger {
  static constexpr auto schema =
      "nn.functional.conv_integer(Tensor input, Tensor weight, Tensor? input_zero_point=None, "
      "Tensor? weight_zero_point=None, *, int[]? stride=None, int[]? padding=None, int[]? "
      "dilation=None, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 5], "dtype": "u8"}, "weight": {"shape": [3, 2, 2], "dtype": "i8"}},
          {"input": {"shape": [1, 1, 4, 4], "dtype": "u8"}, "weight": {"shape": [2, 1, 2, 2], "dtype": "u8"},
           "input_zero_point": {"values": [3], "dtype": "u8"},
           "weight_zero_point": {"values": [1, 2], "dtype": "u8"}, "padding": [1, 1], "stride": [2, 1]}])";
  static constexpr auto doc =
      "The convolution of integers [N, C, ...] of one to three spatial dimensions, less their zero "
      "points, in i32: input has one, weight one or one for each output channel. The padding is "
      "the "
      "zero point. Sums beyond i32 saturate (ONNX' ConvInteger).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& input_zero_point,
                        const Tensor& weight_zero_point, std::optional<IntList> stride,
                        std::optional<IntList> padding, std::optional<IntList> dilation,
                        int64_t groups) {
    const int64_t spatial = input.dim() - 2;
    if (spatial < 1 || spatial > 3) {
      throw tenon::ValueError("conv_integer(): 'input' must have 3, 4 or 5 dimensions, got shape " +
                              shape_text(input));
    }
    if (input_zero_point.defined() && input_zero_point.numel() != 1) {
      throw tenon::ValueError("conv_integer(): 'input_zero_point' must be one number, got shape " +
                              shape_text(input_zero_point));
    }
    const auto setting = [&](const char* name, const std::optional<IntList>& given, int64_t value) {
      if (given && given->size() != spatial) {
        throw tenon::ValueError("conv_integer(): " + std::string(name) + " must have " +
                                std::to_string(spatial) + " numbers, got " + shape_text(*given));
      }
      return given ? std::vector<int64_t>(given->begin(), given->end())
                   : std::vector<int64_t>(static_cast<size_t>(spatial), value);
    };
    static const tenon::Op convolutions[] = {tenon::Op("nn.functional.conv1d"),
                                             tenon::Op("nn.functional.conv2d"),
                                             tenon::Op("nn.functional.conv3d")};
    return convolutions[spatial - 1]
        .call<Tensor>(without_zero("input", input, input_zero_point),
                      without_zero("weight", weight, weight_zero_point), Tensor(),
                      setting("stride", stride, 1), setting("padding", padding, 0),
                      setting("dilation", dilation, 1), groups)
        .to(tenon::i32);
  }
};

}  // namespace
TENON_OP(ConvInteger)
