// Tensors of other types as what they are made of: for files.
#pragma once

#include <string>
#include <vector>

#include "core/tensor/file.hpp"

namespace tenon::core {

// What a file keeps of a tensor: its data under its name, where it has data, and each component of
// its type's payload as "name.component"; both for components in turn. In its metadata "tensor type
// of NAME" is the type of those that are not plain, "restore NAME" what else makes them again: an
// object of dtype, shape, components, the plugin, and the payload's attributes.
struct StoredTensors {
  std::vector<NamedTensor> tensors;
  FileMetadata metadata;

  // For a module, which has the objects that its state is loaded into. Throws TypeError for a
  // tensor-like that has no components.
  void add(const std::string& name, const TensorRef& tensor) { add(name, tensor, false); }
  // So that restore_types makes the object again. Throws TypeError where its type cannot.
  void add_whole(const std::string& name, const TensorRef& tensor) { add(name, tensor, true); }

 private:
  void add(const std::string& name, const TensorRef& tensor, bool whole);
};

// The type that a file names for the tensor; "" when it names none.
std::string stored_type(const TensorFile& file, const std::string& name);
// Makes what was stored whole out of the file's tensors, which it takes the place of; loads the
// plugins of its types. Throws, naming the file.
void restore_types(TensorFile& file);

}  // namespace tenon::core
