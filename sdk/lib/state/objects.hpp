// Tensors of other types as plain ones and metadata, for states in memory and in files.
#pragma once

#include <string>
#include <string_view>

#include <tenon/state/tensor_file.hpp>

#include "file_header.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

// Keys of metadata about a tensor of another type, before its name.
inline constexpr std::string_view kTypeKey = "tensor type of ";
inline constexpr std::string_view kAttributesKey = "attributes of ";
inline constexpr std::string_view kRestoreKey = "restore ";

// Named tensors as a file has them: a tensor of another type becomes its data under its name, where
// it has data, and each of its components as "NAME.component"; both for components in turn. In the
// metadata "tensor type of NAME" is the type, "attributes of NAME" the attributes of the payload, and
// "restore NAME" what makes the object again: dtype, shape, components, plugin, and attributes.
struct StoredTensors {
  NamedTensors tensors;
  Metadata metadata;
};

// Extent of what is stored of each tensor: the parts that the objects of a module are loaded from,
// or all that make_objects needs.
enum class Stored { Parts, Whole };

// Throws TypeError where a type has no components, or loses a part of its payload.
StoredTensors store_objects(const NamedTensors& tensors, Stored stored);

bool has_objects(const Metadata& metadata);
// Makes the objects that were stored whole, which take the place of their tensors; loads the plugins
// of their types. Throws ValueError, which names the source, where the metadata does not fit tensors
// or types.
NamedTensors make_objects(NamedTensors tensors, const Metadata& metadata,
                          const std::string& source);

}  // namespace state

TENON_NAMESPACE_END
