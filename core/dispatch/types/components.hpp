// Tensors of other types as what they are made of: for states, in memory and in files.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.hpp"
#include "core/dispatch/types/tensor_type.hpp"
#include "core/tensor/named_tensor.hpp"

namespace tenon::core {

// Contents of a state for a tensor: its data under its name, where it has data, and each component
// of its type's payload as "name.component"; both for components in turn. In its metadata "tensor
// type of NAME" is the type of those that are not plain, "attributes of NAME" those of its payload,
// and "restore NAME" what makes the object again: dtype, shape, components, plugin, and attributes.
struct StoredTensors {
  std::vector<NamedTensor> tensors;
  std::vector<NamedTensor> described;  // with attributes in the metadata
  std::vector<std::pair<std::string, std::string>> metadata;

  // For a module, which has the objects that its state is loaded into, or `whole`, so that
  // restore_types makes the object again. Throws TypeError for a tensor-like that has no components,
  // and where its type cannot.
  void add(const std::string& name, const TensorRef& tensor, bool whole = false);
};

inline constexpr std::string_view kTypeKey = "tensor type of ";
inline constexpr std::string_view kAttributesKey = "attributes of ";

// A payload of these attributes with the tensor's own components.
PayloadRef payload_with_attributes(const Tensor& tensor, std::string_view attributes);
// Makes what was stored whole out of the tensors, which it takes the place of; loads the plugins of
// its types. `metadata` is an object. Throws, naming the source.
void restore_types(std::vector<NamedTensor>& tensors, const tenon_json& metadata,
                   const std::string& source);

}  // namespace tenon::core
