// Batch rules (<tenon/transforms/batch_rules.hpp>) of the ops that are neither loops over elements nor made of
// ops.
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(elements, R"(
eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor, logical_not, isfinite, isinf, isnan, signbit: elementwise
where, clone, contiguous, positive, conj, real, imag, to, copy_, fill_, zero_: elementwise
zeros_like, ones_like, full_like, nan_to_num, clamp, square, logit, polygamma, nextafter: elementwise
one_hot, view_as_real, view_as_complex, constant_pad_nd: leading(input=0)
)")

TENON_BATCH_RULES(reductions, R"(
sum, mean, amax, amin, all, any, count_nonzero, logsumexp, var, std, vector_norm, nansum: dims(dim)
prod, argmax, argmin, median, max, min, kthvalue, mode, nanmedian: dims(dim)
quantile, nanquantile: dims(dim, input) where not rank(q) >= 1
cummax, cummin, cumprod, cumsum, logcumsumexp, sort, argsort, topk: dims(dim)
)")

TENON_BATCH_RULES(shapes, R"(
select, slice, narrow, unbind, chunk, split: dims(dim) where rank(input) > 0
slice_scatter: dims(dim)
cat: dims(dim)
stack, unsqueeze: insert(dim)
squeeze: squeeze(dim)
transpose: dims(dim0, dim1)
diagonal: dims(dim1, dim2)
flip: dims(dims)
roll: dims(dims)
roll(input, shifts, dims) = reshape(roll(flatten(input), shifts, [0]), shape(input))
permute: permute(dims)
reshape, view: shape(shape)
expand: expand(size)
expand_as(input, other) = expand(input, shape(other))
flatten: dims(start_dim, end_dim) where rank(input) > 0
flatten(input, start_dim, end_dim) = reshape(input, [1])
t(input) = transpose(input, 0, 1) where rank(input) == 2
t(input) = positive(input)
unfold: dims(dimension) where rank(input) > 0
select_backward, slice_backward: placed(input_size, dim)
diagonal_backward: placed(input_size, dim1, dim2)
select_scatter: placed(input, dim)
as_strided, as_strided_scatter: strided(size, stride)
sum_to_size: reduce(size)
zeros, ones, full, empty: shape(size)
arange, linspace, eye: once
tril, triu: leading(input=2)
trace(input) = sum(diagonal(input), -1)
)")

TENON_BATCH_RULES(indices, R"(
gather, scatter_add, scatter_reduce: dims(dim)
scatter: dims(dim)
index_select: dims(dim, input) where rank(input) > 0
index_select(input, dim, index) = gather(input, dim, index) where rank(input) == 1, rank(index) == 1
index_add: dims(dim, input, source) where rank(input) > 0
searchsorted: leading(input=0) where rank(sorted_sequence) == 1, not batched(sorted_sequence)
isin: leading(elements=0)
)")

TENON_BATCH_RULES(quantized, R"(
block_quantize: dims(dim)
# Scales of all elements, then of the places along a dimension.
quantize: leading(input=0) where rank(scale) == 0
quantize: dims(dim, input) where rank(scale) == 1
dynamic_quantize: loop("each sample has the range of its elements")
histc: loop("without min and max the range is that of the elements")
)")

TENON_BATCH_RULES(elements_decide, R"(
rand, randn, randint, randperm, bernoulli, multinomial, normal_, uniform_: random
nonzero: refuse("the number of elements that are not zero differs between samples; use where")
masked_select: refuse("the number of elements that are selected differs between samples; use where")
unique: refuse("the number of different elements differs between samples")
bincount: refuse("the length of the result depends on the largest element; give one_hot the number of classes, and sum")
)")
