// Tensors by name, as states and files have them.
#pragma once

#include <string>

#include "core/tensor/tensor.hpp"

namespace tenon::core {

struct NamedTensor {
  std::string name;
  TensorRef tensor;
};

}  // namespace tenon::core
