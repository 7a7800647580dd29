// Files that are read whole: regular ones, opened without waiting for another process.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/error.hpp>

TENON_NAMESPACE_BEGIN

namespace lib {

// The file's text, of a long file its first `most` bytes. A pipe or device is refused: it may block
// its reader for ever, or never end. `what`: "" or a noun with a blank behind it, "the config ".
// IOError: "cannot read the config 'PATH': reason".
std::string read_file(const std::string& path, int64_t most = INT64_MAX, const char* what = "");
// The text of standard input, of a long one its first `most` bytes.
std::string read_standard_input(const char* what, int64_t most);
// Bytes of a regular file.
int64_t file_length(const std::string& path);

}  // namespace lib

TENON_NAMESPACE_END
