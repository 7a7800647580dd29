// Facts about an op that batching needs, read once: its parameters and its batch rules.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/transforms/rule_text.hpp>

namespace tenon_transforms {

struct OpParameter {
  std::string name;
  bool tensor = false;  // may hold one, or a list
  bool list = false;    // int[], Tensor[]
  bool mutates = false;
  bool out = false;
};

enum class Elementwise : int { unknown, yes, no };

struct OpPlan {
  const tenon_op* op = nullptr;
  std::string name;
  std::vector<OpParameter> parameters;
  std::vector<tenon::transforms::BatchRule> rules;  // in the order in which they are tried
  const tenon::transforms::BatchRule* elementwise_rule = nullptr;  // the first such one; null: none
  int64_t result_count = 0;
  int out = -1;      // position of `out`
  int changed = -1;  // position of the first operand that is changed in place and returned
  bool changes = false;
  bool random = false;
  bool generated = false;  // generate_batch_rule
  mutable std::atomic<Elementwise> elementwise{Elementwise::unknown};
  mutable std::atomic<bool> logged{false};

  // -1 where there is none of the name.
  int position(std::string_view parameter) const;
};

// RuntimeError: the op draws numbers, and its vmap has Randomness::error.
[[noreturn]] void refuse_random(const OpPlan& plan);

// The plan of an op as plugins are now. Valid for the life of the process. Any thread.
const OpPlan& plan_of(const tenon_op* op);

}  // namespace tenon_transforms
