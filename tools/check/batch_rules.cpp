// Batch rules that a plugin has for ops of others.
#include "batch_rules.hpp"

#include <algorithm>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/transforms/rule_text.hpp>

#include "batching.hpp"
#include "format.hpp"

namespace cli {

using tenon::Json;

namespace {

bool declares(const Json& declarations, const std::string& op) {
  for (int64_t i = 0; i < declarations["ops"].size(); ++i) {
    if (declarations["ops"][i]["name"].text() == op) return true;
  }
  return false;
}

}  // namespace

bool is_rule_of_own_op(const Json& declarations, const std::string& override_key) {
  return (override_key.ends_with("[Batched]") || override_key.ends_with("[BatchedOperand]")) &&
         declares(declarations, override_key.substr(0, override_key.find('[')));
}

std::vector<DeclaredBatchRule> declared_batch_rules(const Json& declarations) {
  const Json facts = tenon::plugin_facts(declarations["path"].text());
  const Json plugin = tenon::JsonObject().set("id", facts["id"]).set("facts", facts).json();
  const tenon::transforms::BatchRules read =
      tenon::transforms::read_batch_rules(tenon::JsonArray().add(plugin).json());
  std::vector<DeclaredBatchRule> rules;
  for (const tenon::transforms::BatchRuleFault& fault : read.faults)
    rules.push_back({fault.text.substr(0, fault.text.find_first_of(":(, ")),
                     format_text("{}\nthe rule: {}", fault.reason, fault.text)});
  for (const tenon::transforms::BatchRule& rule : read.rules) {
    for (const std::string& op : rule.ops) {
      const bool known =
          declares(declarations, op) ||
          std::any_of(rules.begin(), rules.end(), [&](const DeclaredBatchRule& each) {
            return each.op == op && each.fault.empty();
          });
      if (!known) rules.push_back({op, ""});
    }
  }
  return rules;
}

void check_batch_rule(const std::string& name, const std::string& fault,
                      const CheckSettings& settings, CheckListener& listener) {
  CheckedOp op;
  op.name = name.substr(0, name.find('['));
  if (!fault.empty()) {
    OpCheck check(op, settings, listener);
    check.run_stage("rule", [&] { check.find("batch-rule", fault, nullptr); });
    return;
  }
  if (!has_vmap())
    return listener.skip(
        "vmap cannot be used: load the plugin 'transforms', from a folder in TENON_PLUGIN_PATH");
  try {
    op = checked_op(tenon::listing::op(op.name));
  } catch (const tenon::Error& error) {  // the plugin of the op is not installed
    return listener.skip(error.what());
  }
  OpCheck check(op, settings, listener);
  check.run_stage("call", [&] { find_samples(check); });
  if (check.samples.empty()) return;
  check.run_stage("batching", [&] { check_batching(check); });
  listener.samples(static_cast<int64_t>(check.samples.size()));
}

}  // namespace cli
