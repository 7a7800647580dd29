// Tensors of other types as what they are made of: for files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/dispatch/types/tensor_type.hpp"
#include "core/tensor/file.hpp"

namespace tenon::core {

// Contents of a file for a tensor: its data under its name, where it has data, and each component
// of its type's payload as "name.component"; both for components in turn. In its metadata "tensor
// type of NAME" is the type of those that are not plain, "attributes of NAME" those of its payload,
// and "restore NAME" what makes the object again: dtype, shape, components, plugin, and attributes.
struct StoredTensors {
  std::vector<NamedTensor> tensors;
  std::vector<NamedTensor> described;  // with attributes in the metadata
  FileMetadata metadata;

  // For a module, which has the objects that its state is loaded into. Throws TypeError for a
  // tensor-like that has no components.
  void add(const std::string& name, const TensorRef& tensor) { add(name, tensor, false); }
  // So that restore_types makes the object again. Throws TypeError where its type cannot.
  void add_whole(const std::string& name, const TensorRef& tensor) { add(name, tensor, true); }

 private:
  void add(const std::string& name, const TensorRef& tensor, bool whole);
};

inline constexpr std::string_view kTypeKey = "tensor type of ";
inline constexpr std::string_view kAttributesKey = "attributes of ";

// A payload of these attributes with the tensor's own components.
PayloadRef payload_with_attributes(const Tensor& tensor, std::string_view attributes);
// Makes what was stored whole out of the file's tensors, which it takes the place of; loads the
// plugins of its types. Throws, naming the file.
void restore_types(TensorFile& file);

}  // namespace tenon::core
