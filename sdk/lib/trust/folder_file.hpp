// Small files of a private folder: markers and records, which a killed process may have cut off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

inline constexpr std::string_view kMarkerPrefix = "loading-";
inline constexpr size_t kMostMarker = 16384;

// Up to `limit` bytes; empty when the file cannot be read. `folder` is a descriptor.
std::string read_small(int folder, const std::string& name, size_t limit);
// Names of a folder's files, some thousands at most, without hidden ones.
std::vector<std::string> names_in(int folder);
// The number of the process in a name, and the number behind it: "loading-4711-3".
std::optional<std::pair<int, int64_t>> numbers_of(std::string_view name, std::string_view prefix);
// An object; undefined for a text that was cut when its writer was killed.
Json parse_object(const std::string& text);
// Version of the host, for files that are valid for this host alone: "1.0.0".
std::string host_text();

}  // namespace trust

TENON_NAMESPACE_END
