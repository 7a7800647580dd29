// Products of quantized tensors.
#include "window.hpp"

namespace {

using namespace onnx;
using tenon::arg, tenon::Op;

// The integers without their zero point. Their products and sums are exact in f64 up to 2^53.
Tensor centred(const Tensor& x, const Tensor& zero_point, int64_t channel_axis) {
  const Tensor whole = x.to(tenon::f64);
  if (!zero_point.defined()) return whole;
  Tensor zero = zero_point.to(tenon::f64);
  if (zero.numel() > 1 && channel_axis >= 0) {
    std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
    shape[static_cast<size_t>(channel_axis)] = zero.numel();
    zero = zero.reshape(list_of(shape));
  } else if (zero.numel() == 1) {
    zero = zero.reshape(IntList());
  }
  return whole - zero;
}

Tensor convolved(const Tensor& x, const Tensor& w, std::string_view auto_pad,
                 const std::optional<IntList>& dilations, int64_t group,
                 const std::optional<IntList>& kernel_shape, const std::optional<IntList>& pads,
                 const std::optional<IntList>& strides) {
  static const Op op("onnx.conv");
  return op.call<Tensor>(x, w, arg("auto_pad") = auto_pad, arg("dilations") = Argument(dilations),
                         arg("group") = group, arg("kernel_shape") = Argument(kernel_shape),
                         arg("pads") = Argument(pads), arg("strides") = Argument(strides));
}

Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t axis) {
  static const Op op("quantize");
  return op.call<Tensor>(x.to(scale.dtype()), scale, zero_point, arg("dim") = axis);
}

struct ConvInteger {
  static constexpr auto schema =
      "onnx.conv_integer(Tensor x, Tensor w, Tensor? x_zero_point=None, Tensor? w_zero_point=None, "
      "*, str auto_pad='NOTSET', int[]? dilations=None, int group=1, int[]? kernel_shape=None, "
      "int[]? pads=None, int[]? strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"x": {"shape": [1, 2, 5], "dtype": "u8"}, "w": {"shape": [3, 2, 2], "dtype": "i8"}}])";
  static constexpr auto doc = "A convolution of integers without their zero points, as i32.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& x, const Tensor& w, const Tensor& x_zero,
                        const Tensor& w_zero, std::string_view auto_pad,
                        std::optional<IntList> dilations, int64_t group,
                        std::optional<IntList> kernel_shape, std::optional<IntList> pads,
                        std::optional<IntList> strides) {
    return convolved(centred(x, x_zero, -1), centred(w, w_zero, 0), auto_pad, dilations, group,
                     kernel_shape, pads, strides)
        .to(tenon::i32);
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
    Tensor sum = convolved(centred(x, x_zero, -1), centred(w, w_zero, 0), auto_pad, dilations,
                           group, kernel_shape, pads, strides);
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
    const Tensor product = tenon::matmul(centred(a, a_zero, a.dim() - 2), centred(b, b_zero, -1));
    const Tensor scale = (a_scale * b_scale).to(tenon::f64);
    return quantized(product * (scale.numel() == 1 ? scale.reshape(IntList()) : scale), y_scale,
                     y_zero, a.dim() - 2);
  }
};

}  // namespace
TENON_OP(ConvInteger)
TENON_OP(QLinearConv)
TENON_OP(QLinearMatMul)
