// A safetensors file as it is stored: plain tensors, and metadata about tensors of other types.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <tenon/state/tensor_file.hpp>

#include "file_header.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

// Keys that the host gives to metadata of tensors of other types, before their names.
inline constexpr std::string_view kTypeKey = "tensor type of ";
inline constexpr std::string_view kAttributesKey = "attributes of ";
inline constexpr std::string_view kRestoreKey = "restore ";

struct StoredFile {
  NamedTensors tensors;
  Metadata metadata;
  // Names of chosen tensors whose dtype cannot be read, and the fault of each.
  std::vector<std::pair<std::string, std::string>> unreadable;

  // Throws the fault of this name, where it is among the unreadable ones.
  void require_readable(const std::string& name) const;
};

enum class Access { Read, Map };

// The tensors that `chosen` accepts, called once the metadata is known. One that cannot be read is
// left out, as `unreadable`.
StoredFile read_stored(
    const std::string& path, Access access,
    const std::function<bool(const Metadata& metadata, const std::string& name)>& chosen);

// Tensors as the host stores them: `flags` are TENON_STORE_ bits. `metadata` is an object of strings, or
// undefined.
void write_stored(const std::string& path, const NamedTensors& tensors, uint32_t flags,
                  const Json& metadata);

// An object of these pairs.
Json json_of(Metadata&& metadata);

// Names and handles of tensors as the boundary takes them; valid as long as the tensors.
struct TensorArguments {
  explicit TensorArguments(const NamedTensors& tensors);
  std::vector<tenon_string> names;
  std::vector<tenon_tensor*> handles;
  int64_t count() const { return static_cast<int64_t>(names.size()); }
};
NamedTensors named_tensors(const Value& names, const Value& tensors);

}  // namespace state

TENON_NAMESPACE_END
