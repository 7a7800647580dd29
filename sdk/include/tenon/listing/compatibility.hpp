// Comparison of two builds of a plugin: changes that callers would notice.
#pragma once

#include <string>

#include "tenon/json.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

// Compares two plugins, each by id or file: {"old", "new", "breaks", "version_allows", "changes"}, see
// share/tenon/documents.md. Breaking changes come first, then additions; each in the order of the old
// facts, then of the new. ValueError for a schema that cannot be parsed.
Json compatibility(const std::string& old_plugin, const std::string& new_plugin);

// The "changes", from the facts of both.
Json changes_between(const Json& old_facts, const Json& new_facts);
// Whether semantic versioning lets `new_version` break callers of `old_version`: another major
// version, below 1.0.0 another minor one, or a lower version.
bool version_may_break(const std::string& old_version, const std::string& new_version);

}  // namespace listing

TENON_NAMESPACE_END
