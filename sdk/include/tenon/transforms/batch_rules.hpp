// Batch rules as data: how vmap runs an op for a whole batch, in the file of any plugin.
//
//   TENON_BATCH_RULES(acme, R"(
//     acme.norms: dims(dim)
//     acme.blend(x, y, t) = add(mul(x, t), mul(y, sub(1, t)))
//   )")
//
// sdk/lib/transforms/README.md has the families and the grammar; <tenon/transforms/batch_rule.hpp> is for
// rules that are functions.
#pragma once

#include "tenon/conversion.hpp"

// At global scope, in any file of a plugin. `name`: an identifier, unique in the file.
#define TENON_BATCH_RULES(name, rule_lines) \
  TENON_CONVERSIONS(batch_rules_##name, "batch", rule_lines)
