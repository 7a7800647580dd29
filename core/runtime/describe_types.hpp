// Listings about types: what there is, and what a type covers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/tree.hpp"

namespace tenon::core {

// [{name, parent?, provider, doc, handler, fallback, overrides}], from facts; with a name one of
// them, with overrides: [{op, types, accepts, signature, provider, differences}].
Tree describe_types();
Tree describe_type(std::string_view name);

// {type, provider, covers?, counts: {handled, handler, inherited, fallback, missing}, ops: [{name,
// how, by?}]} over all overridable ops, or those that the config says it covers, for operands that
// are all of the type: by one of its overrides; by its handler, which is asked and may decline
// when it is; by an ancestor or the default handler; by its fallback; not at all. Loads the type's
// plugin, not those of the ops.
Tree describe_coverage(std::string_view type, const std::vector<std::string>& ops);

// Overrides between which nothing decides for operands of the types, of all plugins:
// [{op, types: [name...], overrides: [{key, provider}, {...}], fix: "add[A, B]"}]. Loads the
// plugins of types.
Tree describe_ambiguities();

}  // namespace tenon::core
