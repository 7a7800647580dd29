// Files in memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace onnx {

// A mapping, which each copy keeps. It is the process's alone: writing does not reach the file.
struct MappedFile {
  std::shared_ptr<char> bytes;  // null for an empty file
  size_t size = 0;

  std::string_view view() const { return {bytes.get(), size}; }
};

// IOError for what cannot be read, and for what is not a regular file: a pipe would block its reader.
MappedFile map_file(const std::string& path);

}  // namespace onnx
