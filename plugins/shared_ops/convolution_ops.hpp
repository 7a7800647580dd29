// The convolutions by name, for rules and modules that call them.
#pragma once

#include <tenon/plugin.hpp>

TENON_NAMESPACE_BEGIN
namespace nn::functional {
TENON_OP_FUNCTION(Tensor, conv1d, "nn.functional.conv1d")
TENON_OP_FUNCTION(Tensor, conv1d_input, "nn.functional.conv1d_input")
TENON_OP_FUNCTION(Tensor, conv1d_weight, "nn.functional.conv1d_weight")
TENON_OP_FUNCTION(Tensor, conv2d, "nn.functional.conv2d")
TENON_OP_FUNCTION(Tensor, conv2d_input, "nn.functional.conv2d_input")
TENON_OP_FUNCTION(Tensor, conv2d_weight, "nn.functional.conv2d_weight")
TENON_OP_FUNCTION(Tensor, conv3d, "nn.functional.conv3d")
TENON_OP_FUNCTION(Tensor, conv3d_input, "nn.functional.conv3d_input")
TENON_OP_FUNCTION(Tensor, conv3d_weight, "nn.functional.conv3d_weight")
}  // namespace nn::functional
TENON_NAMESPACE_END
