// Operators whose answers differ in ONNX Runtime 1.30: sdk/docs/reference/onnx_differences.md.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(extrema, "onnx", R"(
ArgMax:1(data; axis=0, keepdims=1, select_last_index=0, like=='onnxruntime') = onnx._runtime.arg_extremum(data, axis=axis, keepdims=keepdims, last=select_last_index, largest=true)
ArgMin:1(data; axis=0, keepdims=1, select_last_index=0, like=='onnxruntime') = onnx._runtime.arg_extremum(data, axis=axis, keepdims=keepdims, last=select_last_index, largest=false)
ReduceMax:1(data; axes?, keepdims=1, like=='onnxruntime') = onnx._runtime.reduce(data, axes, kind='max', keepdims=keepdims)
ReduceMax:18(data, axes?; keepdims=1, noop_with_empty_axes=0, like=='onnxruntime') = onnx._runtime.reduce(data, axes, kind='max', keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
ReduceMin:1(data; axes?, keepdims=1, like=='onnxruntime') = onnx._runtime.reduce(data, axes, kind='min', keepdims=keepdims)
ReduceMin:18(data, axes?; keepdims=1, noop_with_empty_axes=0, like=='onnxruntime') = onnx._runtime.reduce(data, axes, kind='min', keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
TopK:1(X; axis=-1, k, like=='onnxruntime') = onnx._runtime.topk(X, k, axis=axis)
TopK:10(X, K; axis=-1, like=='onnxruntime') = onnx._runtime.topk(X, K, axis=axis)
TopK:11(X, K; axis=-1, largest=1, sorted=1, like=='onnxruntime') = onnx._runtime.topk(X, K, axis=axis, largest=largest, sorted=sorted)
Unique:11(X; axis?, sorted=1, like=='onnxruntime') = onnx._runtime.unique(X, axis=axis, sorted=sorted)
ScatterElements:11(data, indices, updates; axis=0, reduction=='max', like=='onnxruntime') = onnx._runtime.scatter_elements(data, indices, updates, axis=axis, reduction='max')
ScatterElements:11(data, indices, updates; axis=0, reduction=='min', like=='onnxruntime') = onnx._runtime.scatter_elements(data, indices, updates, axis=axis, reduction='min')
ScatterND:11(data, indices, updates; reduction=='max', like=='onnxruntime') = onnx._runtime.scatter_nd(data, indices, updates, reduction='max')
ScatterND:11(data, indices, updates; reduction=='min', like=='onnxruntime') = onnx._runtime.scatter_nd(data, indices, updates, reduction='min')
MaxPool:1(X; kernel_shape, auto_pad='NOTSET', ceil_mode=0, dilations?, pads?, storage_order=0, strides?, like=='onnxruntime') = onnx._runtime.max_pool(X, kernel_shape=kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, dilations=dilations, pads=pads, storage_order=storage_order, strides=strides, outputs=@outputs)
)")

TENON_CONVERSIONS(formats, "onnx", R"(
ReduceMean:1(data; axes?, keepdims=1, like=='onnxruntime') = onnx._runtime.reduce(data, axes, kind='mean', keepdims=keepdims)
ReduceMean:18(data, axes?; keepdims=1, noop_with_empty_axes=0, like=='onnxruntime') = onnx._runtime.reduce(data, axes, kind='mean', keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
ReduceL2:1(data; axes?, keepdims=1, like=='onnxruntime') = onnx._runtime.reduce(data, axes, kind='l2', keepdims=keepdims)
ReduceL2:18(data, axes?; keepdims=1, noop_with_empty_axes=0, like=='onnxruntime') = onnx._runtime.reduce(data, axes, kind='l2', keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
Cast:6(input; to, saturate=1, like=='onnxruntime') = onnx._runtime.cast(input, to=to)
Cast:24(input; to, round_mode='up', saturate=1, like=='onnxruntime') = onnx._runtime.cast(input, to=to)
CastLike:15(input, target_type; saturate=1, like=='onnxruntime') = onnx._runtime.cast_like(input, target_type)
CastLike:24(input, target_type; round_mode='up', saturate=1, like=='onnxruntime') = onnx._runtime.cast_like(input, target_type)
Pow:7(X, Y; like=='onnxruntime') = onnx._runtime.pow(X, Y)
GroupNormalization:18(X, scale, bias; epsilon=1e-5, num_groups, stash_type=1, like=='onnxruntime') = onnx._runtime.group_norm(X, scale, bias, num_groups=num_groups, epsilon=epsilon)
LpNormalization:1(input; axis=-1, p=2, like=='onnxruntime') = onnx._runtime.lp_normalization(input, axis=axis, p=p)
MeanVarianceNormalization:9(X; axes=[0, 2, 3], like=='onnxruntime') = onnx._runtime.mean_variance_norm(X, axes)
)")

TENON_CONVERSIONS(regions, "onnx", R"(
Resize:11(X, roi?, scales?, sizes?; coordinate_transformation_mode=='tf_crop_and_resize', cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0, mode='nearest', nearest_mode='round_prefer_floor', like=='onnxruntime') = onnx._runtime.crop_and_resize(X, roi, scales, sizes, cubic_coeff_a=cubic_coeff_a, exclude_outside=exclude_outside, extrapolation_value=extrapolation_value, mode=mode, nearest_mode=nearest_mode)
Resize:18(X, roi?, scales?, sizes?; antialias=0, axes?, coordinate_transformation_mode=='tf_crop_and_resize', cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0, keep_aspect_ratio_policy='stretch', mode='nearest', nearest_mode='round_prefer_floor', like=='onnxruntime') = onnx._runtime.crop_and_resize(X, roi, scales, sizes, antialias=antialias, axes=axes, cubic_coeff_a=cubic_coeff_a, exclude_outside=exclude_outside, extrapolation_value=extrapolation_value, keep_aspect_ratio_policy=keep_aspect_ratio_policy, mode=mode, nearest_mode=nearest_mode)
)")

TENON_CONVERSIONS(functions, "onnx", R"(
Gelu:20(X; approximate='none', like=='onnxruntime') = onnx._runtime.gelu(X, approximate=approximate)
HardSwish:14(X; like=='onnxruntime') = onnx._runtime.hardswish(X)
Shrink:9(input; bias=0.0, lambd=0.5, like=='onnxruntime') = onnx._runtime.shrink(input, bias=bias, lambd=lambd)
Softsign:1(input; like=='onnxruntime') = onnx._runtime.softsign(input)
ThresholdedRelu:10(X; alpha=1.0, like=='onnxruntime') = onnx._runtime.thresholded_relu(X, alpha=alpha)
)")
