// Applies rules to a list until none fits.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <tenon/grad_mode.hpp>
#include <tenon/prepare/rewrite.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "replacement.hpp"
#include "rule_set.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

using lib::format_text;

namespace {

// How often calls that rules have made may be rewritten again, and all rewrites of a list.
constexpr size_t kMostInARow = 16;
constexpr int64_t kMostForEachCall = 16, kMostMore = 256;

// Rules that do not end.
struct Endless {
  std::set<std::string> rules;
};

class Rewriter {
 public:
  Rewriter(CallList list, const RuleSet& rules, const std::set<std::string>& stopped)
      : list_(std::move(list)), origins_(list_.calls.size()), stopped_(stopped) {
    for (const CompiledRule& rule : rules.active()) {
      if (stopped_.count(rule.rule->name) == 0) rules_.push_back(&rule);
    }
    left_ = kMostForEachCall * static_cast<int64_t>(list_.calls.size()) + kMostMore;
  }

  // Throws Endless.
  void run() {
    while (apply_one()) {
    }
    if (!account_.applied.empty()) renumber(list_);
  }
  CallList take_list() { return std::move(list_); }
  Account take_account() { return std::move(account_); }

 private:
  // By which rules a call was made: of the call with the fewest among those that the last rule replaced,
  // its rules and then that rule. Each rewrite that takes a call of the model begins again.
  using Origin = std::vector<const CompiledRule*>;

  bool apply_one() {
    const ListIndex index(list_);
    for (const CompiledRule* rule : rules_) {
      Matcher matcher(index, *rule);
      for (const size_t call : index.calls_of(rule->pattern.front().signature->op)) {
        const std::optional<Match> match = matcher.match(call);
        if (match && apply(index, *rule, *match)) return true;
      }
    }
    return false;
  }

  bool apply(const ListIndex& index, const CompiledRule& rule, const Match& match) {
    std::vector<size_t> key = match.results;
    const std::vector<size_t> bound = bound_values(match);
    key.insert(key.end(), bound.begin(), bound.end());
    if (refused_.count({&rule, key}) > 0) return false;
    try {
      Replacement replacement = make_replacement(index, rule, match);
      std::vector<std::string> folded = replacement.folded;
      const Origin origin = origin_of(rule, match);
      const auto [first, count] = replace(list_, index, match, std::move(replacement));
      move_origins(match, first, count, origin);
      account_.folded.insert(account_.folded.end(), folded.begin(), folded.end());
      release_freed_of(match);
    } catch (const Error& error) {
      if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
      refused_.emplace(&rule, std::move(key));
      refuse(format_text("{}: {}", rule.rule->name, error.what()));
      return false;
    }
    count(rule);
    return true;
  }

  // The replacement was run once.
  void release_freed_of(const Match& match) const {
    int64_t bytes = 0;
    for (const size_t result : match.results)
      bytes += prepared::bytes_of(list_.values[result].layout);
    prepared::release_freed(bytes);
  }

  Origin origin_of(const CompiledRule& rule, const Match& match) const {
    const size_t least = *std::min_element(
        match.calls.begin(), match.calls.end(),
        [&](size_t a, size_t b) { return origins_[a].size() < origins_[b].size(); });
    Origin origin = origins_[least];
    origin.push_back(&rule);
    return origin;
  }
  void move_origins(const Match& match, size_t first, size_t count, const Origin& origin) {
    std::vector<Origin> origins;
    for (size_t i = 0; i < origins_.size(); ++i) {
      if (!std::binary_search(match.calls.begin(), match.calls.end(), i))
        origins.push_back(std::move(origins_[i]));
    }
    origins.insert(origins.begin() + static_cast<std::ptrdiff_t>(first), count, origin);
    origins_ = std::move(origins);
    if (count == 0 || origin.size() <= kMostInARow) return;
    // One that comes only once has fitted what the others made.
    Endless endless;
    std::set<std::string> once;
    for (size_t i = origin.size() / 2; i < origin.size(); ++i) {
      if (!once.insert(origin[i]->rule->name).second) endless.rules.insert(origin[i]->rule->name);
    }
    throw endless;
  }

  void count(const CompiledRule& rule) {
    const auto known =
        std::find_if(account_.applied.begin(), account_.applied.end(),
                     [&](const Applied& one) { return one.rule == rule.rule->name; });
    if (known != account_.applied.end())
      ++known->count;
    else
      account_.applied.push_back({rule.rule->name, rule.rule->plugin, 1, rule.rule->bound});
    if (--left_ > 0) return;
    const auto most =
        std::max_element(account_.applied.begin(), account_.applied.end(),
                         [](const Applied& a, const Applied& b) { return a.count < b.count; });
    throw Endless{{most->rule}};
  }
  void refuse(std::string text) {
    constexpr size_t most = 64;
    if (account_.refused.size() < most &&
        std::find(account_.refused.begin(), account_.refused.end(), text) == account_.refused.end())
      account_.refused.push_back(std::move(text));
  }

  CallList list_;
  std::vector<Origin> origins_;  // by call
  const std::set<std::string>& stopped_;
  std::vector<const CompiledRule*> rules_;
  std::set<std::pair<const CompiledRule*, std::vector<size_t>>> refused_;
  int64_t left_ = 0;
  Account account_;
};

std::string stopped_text(const std::set<std::string>& rules) {
  const std::vector<std::string> names(rules.begin(), rules.end());
  if (names.size() == 1)
    return format_text("{}: stopped, since it fits what it makes without end", names.front());
  return format_text("{}: stopped, since they undo each other without end", join(names, ", "));
}

}  // namespace

Account apply(CallList& list, const Options& options) {
  if (!options.enabled) return {};
  const std::shared_ptr<const RuleSet> kept = rule_set_for(options);
  const RuleSet& rules = *kept;
  if (rules.active().empty()) return {};
  const InferenceMode ordinary(false);
  const NoGrad no_grad;
  std::set<std::string> stopped;
  std::vector<std::string> texts;
  while (true) {
    Rewriter rewriter(list, rules, stopped);
    try {
      rewriter.run();
    } catch (const Endless& endless) {
      texts.push_back(stopped_text(endless.rules));
      stopped.insert(endless.rules.begin(), endless.rules.end());
      continue;
    }
    Account account = rewriter.take_account();
    account.refused.insert(account.refused.begin(), texts.begin(), texts.end());
    if (!account.applied.empty()) list = rewriter.take_list();
    return account;
  }
}

}  // namespace rewrites

TENON_NAMESPACE_END
