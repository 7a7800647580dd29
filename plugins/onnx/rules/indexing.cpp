// Operators of elements at indices.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(indexing, "onnx", R"(
Compress:9(input, condition; axis?) = onnx.compress(input, condition, axis=axis)
Gather:1(data, indices; axis=0) = onnx.gather(data, indices, axis=axis)
GatherElements:11(data, indices; axis=0) = onnx.gather_elements(data, indices, axis=axis)
GatherND:11(data, indices; batch_dims=0) = gather_nd(data, indices, batch_dims)
NonZero:9(X) = onnx.nonzero(X)
OneHot:9(indices, depth, values; axis=-1) = onnx.one_hot(indices, depth, values, axis=axis)
Scatter:9(data, indices, updates; axis=0) = onnx.scatter_elements(data, indices, updates, axis=axis)
ScatterElements:11(data, indices, updates; axis=0, reduction='none') = onnx.scatter_elements(data, indices, updates, axis=axis, reduction=reduction)
ScatterND:11(data, indices, updates; reduction=='none'='none') = scatter_nd(data, indices, updates)
ScatterND:11(data, indices, updates; reduction=='add') = scatter_nd(data, indices, updates, 'sum')
ScatterND:11(data, indices, updates; reduction=='mul') = scatter_nd(data, indices, updates, 'prod')
ScatterND:11(data, indices, updates; reduction=='max') = scatter_nd(data, indices, updates, 'amax')
ScatterND:11(data, indices, updates; reduction=='min') = scatter_nd(data, indices, updates, 'amin')
TensorScatter:24(past_cache, update, write_indices?; axis=-2, mode='linear') = onnx.tensor_scatter(past_cache, update, write_indices, axis=axis, mode=mode)
Unique:11(X; axis?, sorted=1) = onnx.unique(X, axis=axis, sorted=sorted)
)")
