// Operators of quantized tensors.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(quantization, "onnx", R"(
ConvInteger:10(x, w, x_zero_point?, w_zero_point?; auto_pad='NOTSET', dilations?, group=1, kernel_shape?, pads?, strides?) = onnx.conv_integer(x, w, x_zero_point, w_zero_point, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads, strides=strides)
DequantizeLinear:10(x, x_scale, x_zero_point?) = dequantize(x, x_scale, x_zero_point)
DequantizeLinear:13(x, x_scale, x_zero_point?; axis=1) = dequantize(x, x_scale, x_zero_point, dim=axis)
DequantizeLinear:21(x, x_scale, x_zero_point?; axis=1, block_size=0) = dequantize(x, x_scale, x_zero_point, dim=axis, block_size=block_size)
DequantizeLinear:23(x, x_scale, x_zero_point?; axis=1, block_size=0, output_dtype==0=0) = dequantize(x, x_scale, x_zero_point, dim=axis, block_size=block_size)
DequantizeLinear:23(x, x_scale, x_zero_point?; axis=1, block_size=0, output_dtype) = onnx.dequantize(x, x_scale, x_zero_point, axis=axis, block_size=block_size, output_dtype=output_dtype)
DynamicQuantizeLinear:11(x) = dynamic_quantize(x)
MatMulInteger:10(A, B, a_zero_point?, b_zero_point?) = matmul_integer(A, B, a_zero_point, b_zero_point)
QLinearConv:10(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B?; auto_pad='NOTSET', dilations?, group=1, kernel_shape?, pads?, strides?) = onnx.qlinear_conv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads, strides=strides)
QLinearMatMul:10(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point) = onnx.qlinear_matmul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)
QuantizeLinear:10(x, y_scale, y_zero_point?) = quantize(x, y_scale, y_zero_point)
QuantizeLinear:13(x, y_scale, y_zero_point?; axis=1, saturate==1=1) = quantize(x, y_scale, y_zero_point, dim=axis)
QuantizeLinear:21(x, y_scale, y_zero_point?; axis=1, block_size=0, output_dtype=0, saturate==1=1) = quantize(x, y_scale, y_zero_point, dim=axis, block_size=block_size, dtype=output_dtype)
QuantizeLinear:23(x, y_scale, y_zero_point?; axis=1, block_size=0, output_dtype=0, precision==0=0, saturate==1=1) = quantize(x, y_scale, y_zero_point, dim=axis, block_size=block_size, dtype=output_dtype)
QuantizeLinear:23(x, y_scale, y_zero_point?; axis=1, block_size=0, output_dtype=0, precision==1, saturate==1=1) = quantize(x, y_scale, y_zero_point, dim=axis, block_size=block_size, dtype=output_dtype)
)")
