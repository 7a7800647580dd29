#include "transforms/op_plan.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <tenon/conversion_rules.hpp>

namespace tenon_transforms {

using namespace tenon;
using transforms::BatchRule;

int OpPlan::position(std::string_view parameter) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == parameter) return static_cast<int>(i);
  }
  return -1;
}

namespace {

// "Tensor(a!)? out=None"
OpParameter parameter_of(std::string_view item) {
  const size_t space = detail::find_text(item, " ");
  const std::string_view type = item.substr(0, space);
  std::string_view name = detail::trim(item.substr(space));
  name = name.substr(0, name.find_first_of("= "));
  OpParameter parameter;
  parameter.name = std::string(name);
  parameter.tensor = detail::may_hold_tensor(type);
  parameter.list = detail::find_text(type, "[") != std::string_view::npos;
  parameter.mutates = detail::find_text(type, "!") != std::string_view::npos;
  parameter.out = name == "out";
  return parameter;
}

void read_schema(const std::string& schema, OpPlan& plan) {
  const size_t open = schema.find('(');
  const size_t end = detail::read_list(schema, open, [&](std::string_view item) {
    if (!item.empty() && item != "*") plan.parameters.push_back(parameter_of(item));
  });
  const bool returns_changed = schema.find('!', end) != std::string::npos;
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const OpParameter& parameter = plan.parameters[i];
    if (parameter.out) plan.out = static_cast<int>(i);
    if (!parameter.mutates || parameter.out) continue;
    plan.changes = true;
    if (returns_changed && plan.changed < 0) plan.changed = static_cast<int>(i);
  }
}

// Every change to the providers of ops makes all plans again; the ones before stay, for calls that run.
class Plans {
 public:
  const OpPlan& find(const tenon_op* op, uint64_t generation) {
    const std::lock_guard lock(mutex_);
    if (generation != generation_) {
      plans_.clear();
      rules_.clear();
      generated_.clear();
      read_rules();
      read_generated();
      generation_ = generation;
    }
    const OpPlan*& place = plans_[op];
    if (place == nullptr) place = make(op);
    return *place;
  }

 private:
  void read_rules() {
    transforms::BatchRules read = transforms::read_batch_rules(document(Document::facts));
    for (const transforms::BatchRuleFault& fault : read.faults) {
      const std::string line = "batch rule '" + fault.text + "' of plugin '" + fault.provider +
                               "' is not used: " + fault.reason;
      service::threads().log(3, "transforms", line.c_str(), static_cast<int64_t>(line.size()));
    }
    for (BatchRule& rule : read.rules) {
      for (const std::string& op : rule.ops) rules_[op].push_back(rule);
    }
  }

  void read_generated() {
    const Json plugins = document(Document::facts);
    for (int64_t p = 0; p < plugins.size(); ++p) {
      const Json overrides = plugins[p]["facts"]["overrides"];
      for (int64_t i = 0; i < overrides.size(); ++i) {
        const std::string key = overrides[i]["key"].text();
        const size_t open = key.find("[BatchedOperand]");
        if (open != std::string::npos) generated_.insert(key.substr(0, open));
      }
    }
  }

  const OpPlan* make(const tenon_op* op) {
    OpPlan& plan = all_.emplace_back();
    const Op handle(op);
    plan.op = op;
    plan.name = handle.name();
    plan.result_count = service::ops().result_count(op);
    read_schema(handle.schema(), plan);
    plan.generated = generated_.count(plan.name) != 0;
    const auto found = rules_.find(plan.name);
    if (found != rules_.end()) plan.rules = found->second;
    for (const BatchRule& rule : plan.rules) plan.random |= rule.family == "random";
    // The in-place form of an op is elementwise where that is.
    if (plan.rules.empty() && plan.changed == 0 && plan.name.back() == '_') {
      const auto form = rules_.find(plan.name.substr(0, plan.name.size() - 1));
      if (form != rules_.end() && form->second.front().family == "elementwise")
        plan.elementwise = Elementwise::yes;
    }
    for (const BatchRule& rule : plan.rules) {
      if (rule.family != "elementwise") continue;
      if (plan.elementwise_rule == nullptr) plan.elementwise_rule = &rule;
      if (rule.conditions.empty()) plan.elementwise = Elementwise::yes;
    }
    return &plan;
  }

  std::mutex mutex_;
  uint64_t generation_ = UINT64_MAX;
  std::unordered_map<const tenon_op*, const OpPlan*> plans_;
  std::unordered_map<std::string, std::vector<BatchRule>> rules_;
  std::unordered_set<std::string> generated_;
  std::deque<OpPlan> all_;
};

}  // namespace

void refuse_random(const OpPlan& plan) {
  throw RuntimeError(plan.name +
                     "(): vmap: it draws random numbers; say by randomness whether all samples get "
                     "the same numbers or different ones");
}

const OpPlan& plan_of(const tenon_op* op) {
  // The last plans of the thread, without a lock.
  struct Cached {
    const tenon_op* op = nullptr;
    uint64_t generation = 0;
    const OpPlan* plan = nullptr;
  };
  static thread_local Cached cache[64];
  static Plans plans;
  Cached& cached = cache[(reinterpret_cast<uintptr_t>(op) >> 6) % 64];
  const uint64_t generation = service::calls().ops_generation();
  if (cached.op != op || cached.generation != generation)
    cached = {op, generation, &plans.find(op, generation)};
  return *cached.plan;
}

}  // namespace tenon_transforms
