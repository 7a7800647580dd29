// A safetensors file in several parts: an index, in JSON, says which part has each tensor.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// Whether the file is an index. One of tensors begins with the length of its header, in 8 bytes of which
// the last is 0.
bool is_shard_index(const std::string& path);

struct ShardIndex {
  // Paths of the parts, and the names of the tensors of each, in the order of the index.
  std::vector<std::pair<std::string, std::vector<std::string>>> parts;
  Json metadata;
};

// Throws ValueError that names the path and the fault: a part that is not beside the index, a name that
// is there twice.
ShardIndex read_shard_index(const std::string& path);

}  // namespace state

TENON_NAMESPACE_END
