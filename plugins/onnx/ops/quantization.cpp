// Products of quantized tensors.
#include "window.hpp"

namespace {

using namespace onnx;
using tenon::arg, tenon::Op;

// The convolution of integers. Padding is their zero point, which the op takes in front only as much as behind.
Tensor convolved(const Tensor& x, const Tensor& w, const Tensor& x_zero, const Tensor& w_zero,
                 const WindowAttributes& attributes, int64_t group,
                 const std::optional<IntList>& kernel_shape) {
  static const Op op("nn.functional.conv_integer");
  const Window window = window_of_weight(x, w, kernel_shape, attributes);
  const bool pads = !window.is_symmetric() && x_zero.defined();
  const PaddedInput input = with_padding(x, window, pads ? x_zero.item<int64_t>() : 0);
  return op.call<Tensor>(input.tensor, w, x_zero, w_zero, arg("stride") = window.stride,
                         arg("padding") = input.padding, arg("dilation") = window.dilation,
                         arg("groups") = group);
}

Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t axis) {
  static const Op op("quantize");
  return op.call<Tensor>(x.to(scale.dtype()), scale, zero_point, arg("dim") = axis);
}

struct Dequantize {
  static constexpr auto schema =
      "onnx.dequantize(Tensor x, Tensor x_scale, Tensor? x_zero_point=None, *, int axis=1, int "
      "block_size=0, dtype output_dtype) -> Tensor";
  static constexpr auto samples =
      R"([{"x": {"shape": [2, 3], "dtype": "u8"}, "x_scale": {"values": [0.5]}, "output_dtype": "f64"}])";
  static constexpr auto doc = "dequantize in another dtype than that of the scale.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& scale, const Tensor& zero_point,
                        int64_t axis, int64_t block_size, DType output_dtype) {
    static const Op op("dequantize");
    return op.call<Tensor>(x, scale, zero_point, arg("dim") = axis, arg("block_size") = block_size)
        .to(output_dtype);
  }
};

struct ConvInteger {
  static constexpr auto schema =
      "onnx.conv_integer(Tensor x, Tensor w, Tensor? x_zero_point=None, Tensor? w_zero_point=None, "
      "*, str auto_pad='NOTSET', int[]? dilations=None, int group=1, int[]? kernel_shape=None, "
      "int[]? pads=None, int[]? strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"x": {"shape": [1, 2, 5], "dtype": "u8"}, "w": {"shape": [3, 2, 2], "dtype": "i8"}, "pads": [1, 0]}])";
  static constexpr auto doc = "nn.functional.conv_integer with the padding of ONNX.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& x, const Tensor& w, const Tensor& x_zero,
                        const Tensor& w_zero, std::string_view auto_pad,
                        std::optional<IntList> dilations, int64_t group,
                        std::optional<IntList> kernel_shape, std::optional<IntList> pads,
                        std::optional<IntList> strides) {
    return convolved(x, w, x_zero, w_zero, {auto_pad, strides, pads, dilations, false}, group,
                     kernel_shape);
  }
};

struct QLinearConv {
  static constexpr auto schema =
      "onnx.qlinear_conv(Tensor x, Tensor x_scale, Tensor x_zero_point, Tensor w, Tensor w_scale, "
      "Tensor w_zero_point, Tensor y_scale, Tensor y_zero_point, Tensor? B=None, *, str "
      "auto_pad='NOTSET', int[]? dilations=None, int group=1, int[]? kernel_shape=None, int[]? "
      "pads=None, int[]? strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"x": {"shape": [1, 2, 5], "dtype": "u8"}, "x_scale": {"values": [0.5], "requires_grad": false},
           "x_zero_point": {"values": [3], "dtype": "u8"}, "w": {"shape": [3, 2, 2], "dtype": "u8"},
           "w_scale": {"values": [0.25], "requires_grad": false}, "w_zero_point": {"values": [1], "dtype": "u8"},
           "y_scale": {"values": [2.0], "requires_grad": false}, "y_zero_point": {"values": [5], "dtype": "u8"}}])";
  static constexpr auto doc = "A convolution of quantized tensors, quantized again.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& x, const Tensor& x_scale, const Tensor& x_zero,
                        const Tensor& w, const Tensor& w_scale, const Tensor& w_zero,
                        const Tensor& y_scale, const Tensor& y_zero, const Tensor& b,
                        std::string_view auto_pad, std::optional<IntList> dilations, int64_t group,
                        std::optional<IntList> kernel_shape, std::optional<IntList> pads,
                        std::optional<IntList> strides) {
    Tensor sum = convolved(x, w, x_zero, w_zero, {auto_pad, strides, pads, dilations, false}, group,
                           kernel_shape)
                     .to(tenon::f64);
    std::vector<int64_t> shape(static_cast<size_t>(x.dim()) - 1, 1);
    shape[0] = -1;
    if (b.defined()) sum = sum + b.to(tenon::f64).reshape(list_of(shape));
    const Tensor scale = (x_scale * w_scale).to(tenon::f64);
    sum = sum * (scale.numel() > 1 ? scale.reshape(list_of(shape)) : scale.reshape(IntList()));
    return quantized(sum, y_scale, y_zero, 1);
  }
};

struct QLinearMatMul {
  static constexpr auto schema =
      "onnx.qlinear_matmul(Tensor a, Tensor a_scale, Tensor a_zero_point, Tensor b, Tensor "
      "b_scale, "
      "Tensor b_zero_point, Tensor y_scale, Tensor y_zero_point) -> Tensor";
  static constexpr auto samples =
      R"([{"a": {"shape": [2, 3], "dtype": "u8"}, "a_scale": {"values": [0.5], "requires_grad": false},
           "a_zero_point": {"values": [3], "dtype": "u8"}, "b": {"shape": [3, 2], "dtype": "u8"},
           "b_scale": {"values": [0.25], "requires_grad": false}, "b_zero_point": {"values": [1], "dtype": "u8"},
           "y_scale": {"values": [2.0], "requires_grad": false}, "y_zero_point": {"values": [5], "dtype": "u8"}}])";
  static constexpr auto doc = "A product of quantized matrices, quantized again.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& a, const Tensor& a_scale, const Tensor& a_zero,
                        const Tensor& b, const Tensor& b_scale, const Tensor& b_zero,
                        const Tensor& y_scale, const Tensor& y_zero) {
    static const Op op("matmul_integer");
    const Tensor product = op.call<Tensor>(a, b, a_zero, b_zero).to(tenon::f64);
    // One for each row of a, one for each column of b.
    const Tensor rows = a_scale.numel() == 1 ? a_scale.reshape(IntList())
                        : a_scale.dim() == 1 ? a_scale.unsqueeze(-1)
                                             : a_scale;
    const Tensor columns = b_scale.numel() == 1 ? b_scale.reshape(IntList()) : b_scale;
    const Tensor scale = rows.to(tenon::f64) * columns.to(tenon::f64);
    return quantized(product * scale, y_scale, y_zero, a.dim() - 2);
  }
};

}  // namespace
TENON_OP(Dequantize)
TENON_OP(ConvInteger)
TENON_OP(QLinearConv)
TENON_OP(QLinearMatMul)
