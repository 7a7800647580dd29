// The pattern of a rewrite as calls whose arguments are chosen: each variable, each '_' and each
// parameter that a '...' is for is a slot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenon/prepare/rewrite.hpp>

#include "op_check.hpp"
#include "sample.hpp"

namespace cli {

struct RewriteSlot {
  DeclaredType type;                            // type of the parameter, under the slot's own name
  std::string variable;                         // empty: '_', or a parameter of a rest
  bool constant = false;                        // a condition asks for a constant
  bool single = false;                          // a condition asks for its one element
  std::vector<tenon::rewrites::Literal> hints;  // values that a condition compares it with
};

struct PatternArgument {
  // `fallback`: the default of the parameter.
  enum class Kind { fallback, slot, call, literal, list };
  Kind kind = Kind::fallback;
  size_t index = 0;   // number of the slot or call
  size_t result = 0;  // which tensor of the call
  tenon::rewrites::Literal literal;
  std::vector<PatternArgument> items;
};

struct PatternCall {
  CheckedOp op;
  std::vector<PatternArgument> arguments;  // one for each parameter
};

struct RewritePattern {
  std::vector<RewriteSlot> slots;
  std::vector<PatternCall> calls;  // operands before the calls that read them
  std::vector<size_t> roots;       // calls whose results are replaced
  std::vector<int64_t> sizes;      // whole numbers of conditions
  std::vector<std::string> ops;    // ops of both sides, each once
  std::string other;               // an op that is not one of them

  std::vector<DeclaredType> types() const;  // slots as parameters of samples
};

// ValueError where an op of the pattern is not known. Loads no plugin.
RewritePattern read_pattern(const tenon::rewrites::Rule& rule);

// A default as schemas print it. Nothing: of another form.
std::optional<SampleValue> default_value(const DeclaredType& type);
// A number, text or list of a rule as an argument; nothing for others.
std::optional<SampleValue> value_of(const tenon::rewrites::Literal& literal);

}  // namespace cli
