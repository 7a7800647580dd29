// Files that strangers write: few bytes of JSON can make a document of many times their memory.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/json.hpp"

namespace tenon::core {

// Throws, with the options' kind and source, when parse_json could take more memory for the text than
// its size and 16 MiB, from which the caller takes `bytes_per_value` for what it makes of each value.
// To be called before it; 52000 values are always read where the caller takes nothing.
void require_bounded(std::string_view text, const JsonOptions& options, size_t bytes_per_value = 0);

}  // namespace tenon::core
