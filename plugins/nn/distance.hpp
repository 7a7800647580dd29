// Lengths of vectors along a dimension, as distances and losses take them.
#pragma once

#include "common.hpp"

namespace nn {

// ValueError unless p is 0 or more; infinity is allowed.
void check_norm_order(const char* op, double p);

// The p-norm along `dim`, whose size becomes 1. Neither overflows nor underflows where the norm
// does not; the gradient of a vector of zeros is zero. p = 0 counts what is not zero.
Tensor norm_along(const Tensor& input, double p, int64_t dim);

// The distances of the vectors of two tensors along their last dimension, which disappears unless
// `keepdim`: the norms of input1 - input2 + eps.
Tensor distance_of(const Tensor& input1, const Tensor& input2, double p, double eps, bool keepdim);

// The cosine of the angles between the vectors along `dim` of two tensors that are broadcast
// together; the dimension disappears. ValueError, in the name of `op`, where they cannot be.
Tensor cosine_of(const char* op, const Tensor& input1, const Tensor& input2, int64_t dim,
                 double eps);

}  // namespace nn
