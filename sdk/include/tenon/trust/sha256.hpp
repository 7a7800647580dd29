// SHA-256 of files, by which configs and lock files pin plugins to their exact bytes.
#pragma once

#include <string>
#include <string_view>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

// 64 lower-case hexadecimal digits. Any thread.
std::string sha256_text(std::string_view bytes);
// Throws IOError when the file is not regular, or cannot be read to its end. Any thread.
std::string sha256_file(const std::string& path);

// A hash as messages show it.
inline std::string hash_text(const std::string& hash) { return "sha256 " + hash; }

}  // namespace trust

TENON_NAMESPACE_END
