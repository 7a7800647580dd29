// Listings about types: what there is, and what a type covers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.hpp"
#include "core/runtime/runtime.hpp"

namespace tenon::core {

// sdk/share/tenon/documents.md has the shapes.

// From facts; one type loads its plugin.
Json describe_types(const Runtime& runtime);
Json describe_type(const Runtime& runtime, std::string_view name);

// How each op is handled, of all overridable ones or those that the config says the type covers,
// for operands that are all of the type: by one of its overrides; by its handler, which is asked
// and may decline; by an ancestor or the default handler; by its fallback; not at all.
// Loads the type's plugin, not those of the ops.
Json describe_coverage(TypeTable& table, std::string_view type,
                       const std::vector<std::string>& ops);

// Overrides between which nothing decides for operands of the types, of all plugins. Loads the
// plugins of types.
Json describe_ambiguities(const Runtime& runtime);

}  // namespace tenon::core
