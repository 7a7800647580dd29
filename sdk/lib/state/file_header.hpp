// The header of a safetensors file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file_dtype.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using Metadata = std::vector<std::pair<std::string, std::string>>;

// A tensor of a file.
struct FileEntry {
  std::string name;
  const FileDtype* dtype = nullptr;  // null: `unknown_dtype` is what the file says
  std::string unknown_dtype;
  std::vector<int64_t> shape;
  int64_t begin = 0;  // begin of its data, in bytes
  int64_t end = 0;
};

struct FileHeader {
  std::vector<FileEntry> entries;  // in the order of their data
  Metadata metadata;
};

// The message about a file that is not valid.
std::string invalid_text(const std::string& path, const std::string& fault);

// Parses the header of a file with so many bytes of data: its ranges cover them without gap or
// overlap, and fit shapes and dtypes. Throws ValueError that names the path and the fault.
FileHeader read_header(const std::string& path, std::string_view text, int64_t data_bytes);

// The text of a header, blanks at its end, so that data behind it begins at a multiple of `alignment` bytes.
std::string header_text(const FileHeader& header, size_t alignment = 8);

}  // namespace state

TENON_NAMESPACE_END
