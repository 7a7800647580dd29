// Files that configs and commands name.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/error.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// The file's text, of a long file its first `most` bytes. A pipe or device is refused: it may block
// for ever, or never end. Throws IOError.
std::string read_file(const std::string& path, int64_t most = INT64_MAX);
int64_t file_length(const std::string& path);  // in bytes; IOError

// Why the file cannot be written; empty: it can. Said before hours of training, not after them.
std::string output_fault(const std::string& path);

// Whether both paths lead to one file, there already or not.
bool same_file(const std::string& a, const std::string& b);

}  // namespace training

TENON_NAMESPACE_END
