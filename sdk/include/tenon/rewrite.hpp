// Rewrites: calls of a prepared model that a plugin replaces by other calls, as data in its file.
//
//   TENON_REWRITES(activations, R"(
//     acme.conv_relu: relu(nn.functional.conv2d(x, w, b, ...)) => acme.conv_relu(x, w, b, ...)
//     acme.add_nothing: add(x, c) => x where value(c) == 0, dtype(x) == i64
//   )")
//
// A rule is NAME: PATTERN => REPLACEMENT, then `where CONDITION, ...` and `within BOUND` if need be; its
// name begins with the id of its plugin. A line that begins with "=>", "where" or "within", and one
// behind a line that ends with ',' or '(', continues the rule. sdk/lib/prepare/README.md has the
// grammar; <tenon/prepare/rewrite.hpp> reads rules.
#pragma once

#include "tenon/conversion.hpp"

// At global scope, in any file of a plugin. `name`: an identifier, unique in the file.
#define TENON_REWRITES(name, rule_lines) TENON_CONVERSIONS(rewrites_##name, "rewrite", rule_lines)
