// First values of parameters, as torch.nn.init sets them: nn.init.* without recording.
#pragma once

#include <string>

#include "tenon/autograd.hpp"
#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN
namespace init {

// Runs nn.init.NAME on the tensor: set(weight, "kaiming_uniform_", arg("nonlinearity") = "relu").
// Draws from the process's generator. Returns the tensor.
template <class... Arguments>
const Tensor& set(const Tensor& tensor, const std::string& name, const Arguments&... arguments) {
  const NoGrad no_grad;
  Op("nn.init." + name)(tensor, arguments...);
  return tensor;
}
// Elements uniform in [a, b), in place.
inline const Tensor& uniform_(const Tensor& tensor, double a = 0, double b = 1) {
  return set(tensor, "uniform_", a, b);
}
// Elements of the normal distribution, in place.
inline const Tensor& normal_(const Tensor& tensor, double mean = 0, double std = 1) {
  return set(tensor, "normal_", mean, std);
}
inline const Tensor& constant_(const Tensor& tensor, double value) {  // every element
  return set(tensor, "constant_", value);
}
inline const Tensor& ones_(const Tensor& tensor) { return set(tensor, "ones_"); }    // ones
inline const Tensor& zeros_(const Tensor& tensor) { return set(tensor, "zeros_"); }  // zeros
inline const Tensor& eye_(const Tensor& tensor) { return set(tensor, "eye_"); }      // identity
inline const Tensor& xavier_uniform_(const Tensor& tensor, double gain = 1) {  // Glorot's, uniform
  return set(tensor, "xavier_uniform_", gain);
}
inline const Tensor& xavier_normal_(const Tensor& tensor, double gain = 1) {  // Glorot's, normal
  return set(tensor, "xavier_normal_", gain);
}
// Orthonormal rows or columns, in place.
inline const Tensor& orthogonal_(const Tensor& tensor, double gain = 1) {
  return set(tensor, "orthogonal_", gain);
}

}  // namespace init
TENON_NAMESPACE_END
