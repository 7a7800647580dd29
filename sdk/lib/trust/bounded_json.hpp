// JSON of files that others may have written: few bytes can make a document of many times their memory.
#pragma once

#include <string_view>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

// Throws ValueError for what is not JSON, and for a text with more values than its size justifies.
Json parse_bounded(std::string_view text);

}  // namespace trust

TENON_NAMESPACE_END
