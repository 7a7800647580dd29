// Operators of shapes and parts of tensors.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(shapes, "onnx", R"(
CenterCropPad:18(input_data, shape; axes?) = onnx.center_crop_pad(input_data, shape, axes=axes)
Col2Im:18(input, image_shape, block_shape; dilations?, pads?, strides?) = onnx.col2im(input, image_shape, block_shape, dilations=dilations, pads=pads, strides=strides)
Concat:4(inputs...; axis) = cat(inputs, axis)
ConstantOfShape:9(input; value?) = onnx.constant_of_shape(input, value=value)
DepthToSpace:1(input; blocksize, mode='DCR') = nn.functional.depth_to_space(input, blocksize, mode)
Expand:8(input, shape) = onnx.expand(input, shape)
EyeLike:9(input; dtype?, k=0) = onnx.eye_like(input, dtype=dtype, k=k)
Flatten:1(input; axis=1) = onnx.flatten(input, axis=axis)
Pad:2(data; pads, mode='constant', value=0.0) = onnx.pad(data, pads, value, mode=mode)
Pad:11(data, pads, constant_value?; mode='constant') = onnx.pad(data, pads, constant_value, mode=mode)
Pad:18(data, pads, constant_value?, axes?; mode='constant') = onnx.pad(data, pads, constant_value, axes, mode=mode)
Range:11(start, limit, delta) = onnx.range(start, limit, delta)
Reshape:5(data, shape; allowzero=0) = onnx.reshape(data, shape, allowzero=allowzero)
ReverseSequence:10(input, sequence_lens; batch_axis=1, time_axis=0) = reverse_sequence(input, sequence_lens, time_axis, batch_axis)
Shape:1(data; start=0, end?) = onnx.shape(data, start=start, end=end)
Size:1(data) = onnx.size(data)
Slice:1(data; starts, ends, axes?) = onnx.slice(data, starts, ends, axes)
Slice:10(data, starts, ends, axes?, steps?) = onnx.slice(data, starts, ends, axes, steps)
SpaceToDepth:1(input; blocksize) = nn.functional.space_to_depth(input, blocksize)
Split:2(input; axis=0, split?) = onnx.split(input, split, axis=axis, parts=@outputs)...
Split:13(input, split?; axis=0) = onnx.split(input, split, axis=axis, parts=@outputs)...
Split:18(input, split?; axis=0, num_outputs?) = onnx.split(input, split, axis=axis, parts=@outputs)...
Squeeze:1(data; axes?) = onnx.squeeze(data, axes)
Squeeze:13(data, axes?) = onnx.squeeze(data, axes)
Tile:6(input, repeats) = onnx.tile(input, repeats)
Transpose:1(data; perm?) = onnx.transpose(data, perm=perm)
Trilu:14(input, k?; upper=1) = onnx.trilu(input, k, upper=upper)
Unsqueeze:1(data; axes) = onnx.unsqueeze(data, axes)
Unsqueeze:13(data, axes) = onnx.unsqueeze(data, axes)
)")
