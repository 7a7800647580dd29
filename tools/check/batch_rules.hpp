// Batch rules that a plugin has for ops of others, as items of a check; rules of the plugin's ops are a stage of these ops.
#pragma once

#include <string>
#include <vector>

#include "item.hpp"

namespace cli {

struct DeclaredBatchRule {
  std::string op;     // or the beginning of a rule that cannot be read
  std::string fault;  // why not
};
// Rules in facts. `declarations`: of listing::declarations.
std::vector<DeclaredBatchRule> declared_batch_rules(const tenon::Json& declarations);

// Whether the override is the batch rule, as a function, of an op that the plugin declares.
bool is_rule_of_own_op(const tenon::Json& declarations, const std::string& override_key);

// `name`: an op, or the key of an override.
void check_batch_rule(const std::string& name, const std::string& fault,
                      const CheckSettings& settings, CheckListener& listener);

}  // namespace cli
