// Convolutions whose groups have one channel each, and their gradients.
#pragma once

#include "opencl/operands.hpp"
#include "shared_ops/convolution.hpp"

namespace tenon_opencl {

// Whether these kernels are for it: products would have one row for each group.
inline bool is_depthwise(const nn::Convolution& k) {
  return k.groups > 1 && k.group_channels() == 1;
}
// Operands are contiguous, results not empty; `bias` may be undefined.
void convolve_depthwise(const nn::Convolution& k, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, const Tensor& result);
void depthwise_input_gradient(const nn::Convolution& k, const Tensor& weight,
                              const Tensor& grad_output, const Tensor& result);
void depthwise_weight_gradient(const nn::Convolution& k, const Tensor& input,
                               const Tensor& grad_output, const Tensor& result);

}  // namespace tenon_opencl
