// A safetensors file as it is stored: plain tensors, and metadata about tensors of other types.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <tenon/state/tensor_file.hpp>

#include "file_header.hpp"
#include "objects.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

struct StoredFile {
  NamedTensors tensors;
  Metadata metadata;
  // Names of chosen tensors whose dtype cannot be read, and the fault of each.
  std::vector<std::pair<std::string, std::string>> unreadable;

  // Throws the fault of this name, where it is among the unreadable ones.
  void require_readable(const std::string& name) const;
};

enum class Access { Read, Map };

using ChosenTensor = std::function<bool(const Metadata& metadata, const std::string& name)>;

// The tensors that `chosen` accepts, called once the metadata is known. A file in parts, whose path is that
// of its index, has none. A tensor that cannot be read is left out, as `unreadable`.
StoredFile read_stored(const std::string& path, Access access, const ChosenTensor& chosen);

// Reads a GGUF file likewise; it has no metadata.
StoredFile read_stored_gguf(const std::string& path, const ChosenTensor& chosen);

// Tensors of any type. `metadata` is an object of strings, or undefined.
void write_stored(const std::string& path, const NamedTensors& tensors, Stored stored,
                  const Json& metadata, size_t alignment = 8);

// An object of these pairs.
Json json_of(Metadata&& metadata);

}  // namespace state

TENON_NAMESPACE_END
