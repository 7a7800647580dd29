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

// At global scope: inputs with which `tenon check` tries rules of the plugin, beside those that it finds. A line
// for each rule, "acme.conv_relu: [{"x": {"shape": [1, 3, 8, 8]}, ...}]": objects by variable, as in the
// samples of ops, which may continue on lines that begin with a bracket, a quote or a comma.
#define TENON_REWRITE_SAMPLES(name, sample_lines) \
  TENON_CONVERSIONS(rewrite_samples_##name, "rewrite.samples", sample_lines)
