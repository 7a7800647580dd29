// Calls of modules, and modules as modes.
#pragma once

#include <span>

#include "core/nn/module.hpp"

namespace tenon::core {

struct ModeEntry;

// The forward schema of its type, or its own. Throws TypeError for a mode, and for an instance that
// has none.
const Schema& forward_schema(const tenon_module& module);
// Gives the instance its own forward schema. Throws TypeError when its type has one.
void set_forward_schema(tenon_module& module, std::string_view text);

// Binds the arguments to the forward schema as an op's are bound, and runs forward. `results` has
// room for kMaxResults; one is filled for each result of the schema. Throws TypeError before forward
// runs when these are not `result_count`; -1: any number.
void call_module(tenon_module& module, std::span<const tenon_value> positional,
                 std::span<const tenon_string> keywords,
                 std::span<const tenon_value> keyword_values, tenon_value* results,
                 int64_t result_count = -1);
// Enters it as a mode; it is kept until the mode is left. Throws TypeError when it is none.
ModeEntry* enter_module(tenon_module& module, bool below);

}  // namespace tenon::core
