// The ops of this plugin that its rules and modules call: its typed wrappers come from the built
// plugin.
#pragma once

#include <tenon/plugin.hpp>

#include "shared_ops/convolution_ops.hpp"
#include "shared_ops/linear.hpp"

TENON_NAMESPACE_BEGIN
namespace nn {

using TensorPair = std::tuple<Tensor, Tensor>;
using TensorTriple = std::tuple<Tensor, Tensor, Tensor>;

#define NN_OWN_OP(space, Result, name)                    \
  namespace space {                                       \
  TENON_OP_FUNCTION(Result, name, "nn." #space "." #name) \
  }
NN_OWN_OP(functional, Tensor, adaptive_avg_pool1d)
NN_OWN_OP(functional, Tensor, adaptive_avg_pool2d)
NN_OWN_OP(functional, Tensor, adaptive_avg_pool3d)
NN_OWN_OP(functional, Tensor, avg_pool1d)
NN_OWN_OP(functional, Tensor, avg_pool2d)
NN_OWN_OP(functional, Tensor, avg_pool3d)
NN_OWN_OP(functional, Tensor, dropout)
NN_OWN_OP(functional, Tensor, elu)
NN_OWN_OP(functional, Tensor, embedding)
NN_OWN_OP(functional, Tensor, flash_attention)
NN_OWN_OP(functional, Tensor, fold)
NN_OWN_OP(functional, Tensor, gelu_erf)
NN_OWN_OP(functional, Tensor, gelu_tanh)
NN_OWN_OP(functional, Tensor, layer_norm)
NN_OWN_OP(functional, Tensor, log_softmax)
NN_OWN_OP(functional, Tensor, logsigmoid)
NN_OWN_OP(functional, TensorPair, lstm_step)
NN_OWN_OP(functional, Tensor, nll_loss)
NN_OWN_OP(functional, Tensor, pixel_shuffle)
NN_OWN_OP(functional, Tensor, scaled_dot_product_attention)
NN_OWN_OP(functional, Tensor, silu)
NN_OWN_OP(functional, Tensor, softmax)
NN_OWN_OP(functional, Tensor, softplus)
NN_OWN_OP(functional, Tensor, unfold)
NN_OWN_OP(grad, Tensor, adaptive_avg_pool)
NN_OWN_OP(grad, Tensor, avg_pool)
NN_OWN_OP(grad, Tensor, cross_entropy)
NN_OWN_OP(grad, Tensor, embedding)
NN_OWN_OP(grad, Tensor, gelu)
NN_OWN_OP(grad, Tensor, gelu_tanh)
NN_OWN_OP(grad, Tensor, softsign)
NN_OWN_OP(grad, TensorTriple, layer_norm)
NN_OWN_OP(grad, Tensor, log_softmax)
NN_OWN_OP(grad, Tensor, max_pool)
NN_OWN_OP(grad, Tensor, mish)
NN_OWN_OP(grad, Tensor, nll_loss)
NN_OWN_OP(grad, Tensor, silu)
NN_OWN_OP(grad, Tensor, smoothed_nll_loss)
NN_OWN_OP(grad, Tensor, softmax)
#undef NN_OWN_OP

}  // namespace nn
TENON_NAMESPACE_END
