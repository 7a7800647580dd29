// Files in memory, for readers of formats.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// A mapping, which each copy keeps. It is the process's alone: writing does not reach the file. Any thread;
// threads that write the bytes synchronize themselves.
struct MappedFile {
  std::shared_ptr<char> bytes;  // null for an empty file
  size_t size = 0;              // in bytes

  std::string_view view() const { return {bytes.get(), size}; }  // its bytes
};

// IOError for a file that cannot be read, and for one that is not regular: a pipe would block its reader.
MappedFile map_file(const std::string& path);

}  // namespace state

TENON_NAMESPACE_END
