// Tensors of other types as what they are made of: for files.
#pragma once

#include <string>
#include <vector>

#include "core/tensor/file.hpp"

namespace tenon::core {

// What a file keeps of a tensor: its data under its name, where it has data, and each component of
// its type's payload as "name.component"; both for components in turn.
struct StoredTensors {
  std::vector<NamedTensor> tensors;
  FileMetadata types;  // "tensor type of NAME" -> the type, for those that are not plain

  // Throws TypeError for a tensor-like that has no components.
  void add(const std::string& name, const TensorRef& tensor);
};

}  // namespace tenon::core
