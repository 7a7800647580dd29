// The rules of plugins and of the application that a model uses, in order.
#pragma once

#include <memory>
#include <vector>

#include <tenon/prepare/rewrite.hpp>

#include "compiled_rule.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

// How often apply_policy was called. Any thread.
uint64_t policy_generation();

class RuleSet {
 public:
  // With the process's policy.
  explicit RuleSet(const Options& options);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  const std::vector<CompiledRule>& active() const { return active_; }
  // Active rules in their order, then the others.
  std::vector<ListedRule> listed() const;

 private:
  struct Entry {
    ListedRule listed;
    size_t rank = 0;  // by Options::prefer
  };
  void read(const Options& options, const Json& plugins);
  void add(Rule rule, std::string reason);
  void refuse_equal_names();
  void compile_all(Signatures& signatures);

  std::vector<std::unique_ptr<Entry>> entries_;
  std::unique_ptr<Signatures> signatures_;
  std::vector<CompiledRule> active_;
};

// The set for these options, which is made again only where plugins, the process's policy or the options have
// changed: reading the facts of all plugins takes longer than most lists. Any thread.
std::shared_ptr<const RuleSet> rule_set_for(const Options& options);

}  // namespace rewrites

TENON_NAMESPACE_END
