// How vmap runs ops.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tenon/transforms/rule_text.hpp>

#include "inventory.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

// One of the ways that vmap tries for an op.
struct BatchWay {
  std::string how;  // rule, function, ops, elementwise, loop, random, refused
  std::string rule, provider;
  std::string reason;  // reason of loop("...") and refuse("...")
};

// Ways of all ops.
class BatchWays {
 public:
  BatchWays();

  const std::vector<Declared>& ops() const { return ops_; }
  const Declared* declared(const std::string& op) const;  // null: no op of the name
  // In the order in which they are tried; never empty. May load the op's plugin.
  std::vector<BatchWay> of(const Declared& op) const;

 private:
  Inventory inventory_;
  std::vector<Declared> ops_;
  std::map<std::string, std::vector<transforms::BatchRule>> rules_;
  std::map<std::string, std::string> functions_, generated_;  // provider by op
};

// Adds an object of "how", "provider" and "rule".
void put_way(Writer& document, const BatchWay& way);
// The ways of an op as a list of such objects.
Json batching_of(const std::string& op);

}  // namespace listing

TENON_NAMESPACE_END
