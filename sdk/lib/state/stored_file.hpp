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
};

enum class Access { Read, Map };

// The tensors that `chosen` accepts, called once the metadata is known.
StoredFile read_stored(
    const std::string& path, Access access,
    const std::function<bool(const Metadata& metadata, const std::string& name)>& chosen);

// Tensors of any type. `metadata` is an object of strings, or undefined.
void write_stored(const std::string& path, const NamedTensors& tensors, Stored stored,
                  const Json& metadata);

// An object of these pairs.
Json json_of(Metadata&& metadata);

}  // namespace state

TENON_NAMESPACE_END
