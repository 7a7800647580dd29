// Checks of one rewrite, stage by stage: lists in which its pattern occurs are run before and after it.
#include <algorithm>
#include <array>
#include <cmath>

#include <tenon/kernel/shape.hpp>

#include "format.hpp"
#include "rewrite_check.hpp"
#include "rewrite_rules.hpp"
#include "tensors.hpp"
#include "text.hpp"

namespace cli {

namespace rewrites = tenon::rewrites;
using tenon::Tensor;

namespace {

constexpr size_t kBatch = 48;  // cases of one list: rewriting takes the square of its calls

// Elements of all operands of a case: a size in place of another one, in five dimensions, asks for
// a billion, and a convolution of them for minutes.
constexpr double kMostElements = 1 << 16;

std::string operands_text(const RewritePattern& pattern, const RewriteCase& given) {
  std::vector<std::string> parts;
  for (size_t s = 0; s < given.values.size(); ++s) {
    const std::string& name = pattern.slots[s].type.name;
    if (given.tensors[s].empty()) {
      parts.push_back(format_text("{}={}", name, given.values[s].json().dump()));
      continue;
    }
    for (const Tensor& tensor : given.tensors[s]) {
      std::string text = format_text("{} {}", name, shape_dtype_text(tensor));
      if (tensor.numel() == 1 && !tenon::is_complex(tensor.dtype()))
        text += format_text(" of {}", short_number(numbers_of(tensor)[0]));
      if (given.constants.count(s) > 0) text += ", a constant";
      parts.push_back(std::move(text));
    }
  }
  return join(parts, "; ");
}

bool has_infinite(const RewriteCase& given) {
  for (const std::vector<Tensor>& tensors : given.tensors) {
    for (const Tensor& tensor : tensors) {
      if (!tensor.defined() || !tenon::is_differentiable(tensor.dtype())) continue;
      const std::vector<double> numbers = numbers_of(tensor);
      if (std::any_of(numbers.begin(), numbers.end(),
                      [](double number) { return std::isinf(number); }))
        return true;
    }
  }
  return false;
}

}  // namespace

void RewriteCheck::compare_case(const std::string& kind, const RewriteLists& lists, size_t index,
                                RewriteUse use) {
  const RewriteCase& given = lists.given(index);
  const Sample sample = given.sample();
  listener.trying(sample);
  const RewriteResults before = lists.before(index);
  if (!before.error.empty()) return;
  const RewriteResults after = lists.after(index);
  ++compared;
  const std::string where = format_text(
      "for {}{}{}", operands_text(pattern, given), given.with.empty() ? "" : "; " + given.with,
      use == RewriteUse::read ? "" : format_text("; the result is {}", text_of(use)));
  const std::string rule_text = format_text("\nthe rule: {}", rule.text);
  if (!after.error.empty()) {
    find("rewrite-error",
         format_text("{}: the pattern computes a result, the replacement raises: {}{}", where,
                     after.error, rule_text),
         &sample);
    return;
  }
  if (!after.changed.empty() && before.changed.empty())
    find("rewrite-mutation",
         format_text("{}: the replacement changes {}{}", where, after.changed, rule_text), &sample);
  if (before.tensors.size() != after.tensors.size()) {
    find(kind,
         format_text("{}: the replacement gives {} results in place of {}{}", where,
                     after.tensors.size(), before.tensors.size(), rule_text),
         &sample);
    return;
  }
  const bool infinite = has_infinite(given);
  for (size_t r = 0; r < before.tensors.size(); ++r) {
    const std::string what = rewrite_difference(before.tensors[r], after.tensors[r],
                                                rule.bound * given.times_bound, infinite);
    if (what.empty()) continue;
    find(kind,
         format_text("{}: {}{}{}", where,
                     before.tensors.size() == 1 ? "" : format_text("result {}: ", r), what,
                     rule_text),
         &sample);
    return;
  }
}

std::vector<RewriteCase> RewriteCheck::compare(const std::string& kind,
                                               const std::vector<RewriteCase>& given,
                                               RewriteUse use) {
  std::vector<RewriteCase> used;
  const size_t batch = use == RewriteUse::read ? kBatch : 1;
  for (size_t begin = 0; begin < given.size(); begin += batch) {
    if (found.count(kind) > 0) return used;
    RewriteLists lists(pattern, rule);
    for (size_t i = begin; i < std::min(begin + batch, given.size()); ++i) {
      if (given[i].elements() > kMostElements) continue;
      RewriteCase one = given[i];
      try {
        if (one.tensors.size() != one.values.size() || one.with.empty()) one.fill(settings.seed);
      } catch (const tenon::Error&) {  // another dtype or size than tensors can have
        continue;
      }
      listener.trying(one.sample());
      lists.add(one, use);
    }
    if (lists.size() == 0) continue;
    const rewrites::Account account = lists.apply(false);
    for (const std::string& refusal : account.refused) {
      if (contains_text(refusal, ": stopped, since"))
        find("rewrite-endless", format_text("{}\nthe rule: {}", refusal, rule.text), nullptr);
      else
        refusals.insert(refusal.substr(std::min(rule.name.size() + 2, refusal.size())));
    }
    for (size_t i = 0; i < lists.size(); ++i) {
      if (!lists.is_applied(i)) continue;
      used.push_back(lists.given(i));
      compare_case(kind, lists, i, use);
    }
  }
  return used;
}

std::vector<RewriteCase> RewriteCheck::first(size_t count) const {
  return {cases.begin(),
          cases.begin() + static_cast<std::ptrdiff_t>(std::min(count, cases.size()))};
}

namespace {

std::string reason_of(const rewrites::Rule& rule) {
  rewrites::Options options;
  options.declared = false;
  options.rules.push_back(rule);
  const std::vector<rewrites::ListedRule> listed = rewrites::rules(options);
  return listed.empty() ? "" : listed.front().reason;
}

bool is_sound(const RewriteCheck& check) { return check.found.count("rewrite-result") == 0; }

struct Stage {
  const char* name;
  void (*check)(RewriteCheck&);
};
constexpr std::array kStages{Stage{"dtypes", check_rewrite_dtypes},
                             Stage{"sizes", check_rewrite_sizes},
                             Stage{"layouts", check_rewrite_layouts},
                             Stage{"numbers", check_rewrite_numbers},
                             Stage{"conditions", check_rewrite_conditions},
                             Stage{"uses", check_rewrite_uses},
                             Stage{"beside other rules", check_rewrite_beside_others}};

}  // namespace

void check_rewrite(const CheckedRewrite& rewrite, const CheckSettings& settings,
                   CheckListener& listener) {
  ItemCheck reading(settings, listener);
  rewrites::Rule rule;
  RewritePattern pattern;
  std::string reason;
  reading.run_stage("rule", [&] {
    try {
      rule = rewrites::read_rule(rewrite.plugin, rewrite.text);
      reason = reason_of(rule);
      if (reason.empty()) pattern = read_pattern(rule);
    } catch (const tenon::Error& error) {
      reason = error.what();
    }
  });
  if (!reason.empty()) {
    // Another plugin, which is not installed, may have the op.
    if (contains_text(reason, "which no plugin declares"))
      listener.skip(reason);
    else
      reading.find("rewrite", reason, nullptr);
    return;
  }
  RewriteCheck check(rule, std::move(pattern), settings, listener);
  check.run_stage("match", [&] { find_rewrite_cases(check, rewrite.samples); });
  for (const Stage& stage : kStages) {
    if (!check.cases.empty() && is_sound(check))
      check.run_stage(stage.name, [&] { stage.check(check); });
  }
  constexpr size_t most = 4;
  size_t noted = 0;
  for (const std::string& refusal : check.refusals) {
    if (!check.cases.empty() && noted++ < most)
      listener.note(format_text("it fits and is not used where {}", refusal));
  }
  listener.samples(check.compared);
}

}  // namespace cli
