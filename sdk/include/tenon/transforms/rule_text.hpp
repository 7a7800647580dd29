// Batch rules as text: lines of TENON_BATCH_RULES, read into structs. For the plugin `transforms`,
// listings and checks. Link tenon::transforms, in a plugin tenon::plugin_transforms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/json.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {

// A term of a rule: add(mul(x, 2), y, alpha=a).1
struct RuleTerm {
  enum class Kind { call, name, list, integer, number, text, boolean, nothing };  // forms of a term
  Kind kind = Kind::nothing;                                                      // its form
  std::string text;             // op of a call, name, text
  int64_t integer = 0;          // integer, boolean, or the result of a call that is meant; -1: all
  double number = 0;            // number
  std::vector<RuleTerm> terms;  // arguments of a call, elements of a list
  std::vector<std::string> keywords;  // names of arguments; "" by position
};

// "rank(input) >= 2", "batched(weight)", "reduction == 'mean'"
struct Condition {
  bool negated = false;    // "not"
  std::string function;    // rank, batched, given, floating; "" compares the parameter itself
  std::string parameter;   // a parameter of the op
  std::string comparison;  // ==, !=, <, <=, >, >=; "" for those that hold or not
  RuleTerm value;          // compared with
};

// A rule for some ops.
struct BatchRule {
  std::string provider;                 // id of the plugin that has it in its file
  std::string text;                     // as it was written
  std::vector<std::string> ops;         // full names
  std::string family;                   // "" of a rule with an expression
  std::vector<std::string> parameters;  // of the family, or of the expression
  std::vector<int64_t> numbers;  // leading(x=2): one for each parameter, -1 where there is none
  std::string reason;            // of refuse("...")
  RuleTerm expression;           // computes the batch
  std::vector<Condition> conditions;  // all must hold
};

// Families that a rule may name.
const std::vector<std::string>& batch_families();

// Reads one rule. ValueError with the column where it is not one.
BatchRule read_batch_rule(std::string_view text, std::string provider);

// A rule that could not be read.
struct BatchRuleFault {
  std::string provider, text, reason;  // plugin, rule, and its fault
};
struct BatchRules {                    // rules of all plugins
  std::vector<BatchRule> rules;        // usable ones
  std::vector<BatchRuleFault> faults;  // unusable ones
};
// Rules in the files of all plugins that are found; rules of one op in the order of their lines. `facts`:
// Document::facts. Any thread.
BatchRules read_batch_rules(const Json& facts);

}  // namespace transforms
TENON_NAMESPACE_END
