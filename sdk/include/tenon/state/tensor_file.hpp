// Tensors in safetensors files: a JSON header with names, dtypes, shapes and ranges, then data.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // in order

// Replaces the file as a whole, or leaves the old one. A tensor of another type is stored as its
// components; TypeError where its type has no components or attributes that describe it completely.
// `metadata`, an object of strings, is kept in the file's "__metadata__". ValueError for names and
// dtypes that the format does not have, IOError for what the system refuses.
void save_tensors(const std::string& path, const NamedTensors& tensors, const Json& metadata = {});
// With data that begins at a multiple of `alignment` bytes, otherwise 8, for readers that map the file.
void save_tensors(const std::string& path, const NamedTensors& tensors, const Json& metadata,
                  int64_t alignment);

// The tensors of these names, of all names where there are none, in the order of their data. The path may
// be that of an index of a file in parts (model.safetensors.index.json); a part is opened only when a
// tensor of it is asked for. The header
// is checked whole before memory is taken for a tensor. Tensors of other types are made again, which
// loads their plugins. ValueError names the path and the fault; a tensor of a dtype that Tenon does
// not have is a fault only when it is asked for, by its name or by no names at all.
NamedTensors load_tensors(const std::string& path, const std::vector<std::string>& names = {});

// load_tensors without a copy: a page of the file is read when it is first used. Writing to a tensor
// changes it alone, never the file, which must not be shortened as long as a tensor is used. A tensor
// whose data is not aligned to its elements is copied.
NamedTensors map_tensors(const std::string& path, const std::vector<std::string>& names = {});

// The metadata of such a file, an object of strings; that of an index may hold other values.
Json metadata(const std::string& path);

}  // namespace state

TENON_NAMESPACE_END
