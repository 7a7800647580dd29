// Tensor files in the safetensors format: a JSON header with names, dtypes, shapes and ranges, then
// data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.hpp"
#include "core/tensor/file_header.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

struct NamedTensor {
  std::string name;
  TensorRef tensor;
};

struct TensorFile {
  std::string path;
  std::vector<NamedTensor> tensors;  // in the order of their data
  StoredMetadata metadata;

  const NamedTensor* find(std::string_view name) const noexcept;
  // Throws ValueError naming the tensor and the file.
  const TensorRef& at(std::string_view name) const;
};

// Replaces the file as a whole or leaves the old one. Wide dtypes come first, so that all data is
// aligned; otherwise the given order stays. Throws ValueError for names that are taken twice,
// reserved, or no UTF-8, and Error(IO) for what the system refuses.
void save_tensors(const std::string& path, std::span<const NamedTensor> tensors,
                  const FileMetadata& metadata = {});

// Everything is checked before memory is taken for any tensor. Throws ValueError naming the path
// and the fault, Error(IO) when the file cannot be read.
TensorFile load_tensors(const std::string& path);

// Reads a file without a copy: tensors are in a mapping of the file, which is private to the
// process, and keep it. A page is read when it is first used. A tensor whose data is not aligned to
// its elements is copied.
TensorFile map_tensors(const std::string& path);

// The metadata of such a file, without its tensors; with the same errors.
StoredMetadata load_metadata(const std::string& path);
// From an object of strings; TypeError for another value.
FileMetadata file_metadata(const tenon_json& object);

}  // namespace tenon::core
