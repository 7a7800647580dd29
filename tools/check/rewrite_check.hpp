// One rewrite under check: what its stages share. Each stage is a function in a file named after it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "item_check.hpp"
#include "rewrite_inputs.hpp"
#include "rewrite_run.hpp"

namespace cli {

class RewriteCheck : public ItemCheck {
 public:
  RewriteCheck(const tenon::rewrites::Rule& rule_of, RewritePattern pattern_of,
               const CheckSettings& settings_of, CheckListener& listener_of)
      : ItemCheck(settings_of, listener_of), rule(rule_of), pattern(std::move(pattern_of)) {}

  const tenon::rewrites::Rule& rule;
  const RewritePattern pattern;
  std::vector<RewriteCase> cases;  // in which the rule was used
  std::set<std::string> refusals;  // why it was not used where it fits
  int64_t compared = 0;

  // Rewrites lists with these cases and compares both sides wherever the rule was used; differences
  // are findings of this kind. Returns the cases in which it was used.
  std::vector<RewriteCase> compare(const std::string& kind, const std::vector<RewriteCase>& given,
                                   RewriteUse use = RewriteUse::read);
  // The first cases, tensors made.
  std::vector<RewriteCase> first(size_t count) const;

 private:
  void compare_case(const std::string& kind, const RewriteLists& lists, size_t index,
                    RewriteUse use);
};

bool find_rewrite_cases(RewriteCheck& check, const std::string& samples);
void check_rewrite_dtypes(RewriteCheck& check);
void check_rewrite_sizes(RewriteCheck& check);
void check_rewrite_layouts(RewriteCheck& check);
void check_rewrite_numbers(RewriteCheck& check);
void check_rewrite_conditions(RewriteCheck& check);
void check_rewrite_uses(RewriteCheck& check);
void check_rewrite_beside_others(RewriteCheck& check);

}  // namespace cli
