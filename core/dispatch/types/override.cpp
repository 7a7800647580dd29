// Types that overrides accept, how arguments of an op become their own, and steps from types to
// what they accept, compared type by type.
#include "core/dispatch/types/override.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

constexpr int kAnyDistance = 1 << 16;

}  // namespace

std::string Override::key() const { return schema.name + type_names_text(types); }

int Override::distance(const TensorType& type) const {
  int nearest = accepts_any ? kAnyDistance : -1;
  for (const auto* list : {&types, &accepts}) {
    for (const TensorType* accepted : *list) {
      const int steps = type.distance(*accepted);
      if (steps >= 0 && (nearest < 0 || steps < nearest)) nearest = steps;
    }
  }
  return nearest;
}

int Override::distance_of_plain() const {
  for (const auto* list : {&types, &accepts}) {
    for (const TensorType* accepted : *list) {
      if (accepted->is_plain()) return 0;
    }
  }
  return accepts_any ? kAnyDistance : -1;
}

bool Override::for_type(const TensorType& type) const {
  return std::find(types.begin(), types.end(), &type) != types.end();
}

OverrideBinding bind_override(const Schema& own, const Schema& op) {
  const auto fail = [&](const std::string& what) {
    throw Error(TENON_ERROR_VALUE, "override of '{}': {}; the op is {}{}, the override {}{}",
                op.name, what, op.name, signature_text(op), own.name, signature_text(own));
  };
  OverrideBinding binding;
  std::vector<bool> taken(op.parameters.size());
  for (size_t i = 0; i < own.parameters.size(); ++i) {
    const Parameter& parameter = own.parameters[i];
    int64_t source = -1;
    // By position, as Python would pass it; by name where it is passed by name.
    if (!parameter.keyword_only && i < static_cast<size_t>(op.positional_count)) {
      source = static_cast<int64_t>(i);
    } else {
      source = op.find(parameter.name);
      if (source >= 0 && taken[static_cast<size_t>(source)]) source = -1;
    }
    if (source < 0 && !parameter.has_default) {
      fail(format_text("its parameter '{}' is not one of the op's and has no default",
                       parameter.name));
    }
    if (source >= 0) taken[static_cast<size_t>(source)] = true;
    binding.source.push_back(static_cast<int8_t>(source));
  }
  for (size_t i = 0; i < op.parameters.size(); ++i) {
    if (taken[i]) continue;
    if (!op.parameters[i].has_default)
      fail(format_text("it does not take '{}', which every call passes", op.parameters[i].name));
    binding.untaken.push_back(static_cast<uint8_t>(i));
  }
  return binding;
}

std::vector<std::string> signature_differences(const Schema& own, const Schema& op,
                                               const OverrideBinding& binding) {
  std::vector<std::string> differences;
  Words lacking, added;
  for (const uint8_t parameter : binding.untaken) lacking.push_back(op.parameters[parameter].name);
  for (size_t i = 0; i < own.parameters.size(); ++i) {
    if (binding.source[i] < 0) added.push_back(own.parameters[i].name);
  }
  if (!lacking.empty()) differences.push_back(format_text("lacks {}", join(lacking, ", ")));
  if (!added.empty()) differences.push_back(format_text("adds {}", join(added, ", ")));
  return differences;
}

// ---- specificity ----

namespace {

// Whether a is at least as specific as b in every type, and more so in one.
bool dominates(const Override& a, const std::vector<int>& a_steps, const Override& b,
               const std::vector<int>& b_steps) {
  bool better = a.types.size() > b.types.size();
  if (a.types.size() < b.types.size()) return false;
  for (size_t i = 0; i < a_steps.size(); ++i) {
    if (a_steps[i] > b_steps[i]) return false;
    better |= a_steps[i] < b_steps[i];
  }
  return better;
}

// Pairs that accept more types than this are not searched: nothing is said of them before a call.
constexpr size_t kMostCandidates = 16;
// Sets of types that are tried for one pair at most; lists take any number of types.
constexpr size_t kMostSets = 4096;

// The search for one pair. Types that neither of the two names need no look: they are as far from
// accepted by both as the nearest type that is named, plus the same steps.
class PairSearch {
 public:
  PairSearch(std::span<const Override* const> entries, const Override& a, const Override& b)
      : entries_(entries), a_(a), b_(b) {
    for (const Override* entry : {&a, &b}) {
      for (const auto* list : {&entry->types, &entry->accepts}) {
        for (const TensorType* type : *list) consider(*type);
      }
    }
    takes_plain_ = a.distance_of_plain() >= 0 && b.distance_of_plain() >= 0;
  }

  std::optional<Ambiguity> smallest(size_t operand_count) {
    std::vector<int> steps;
    const TypeSet all{candidates_, false};
    if (candidates_.size() > kMostCandidates || !fits(a_, all, steps) || !fits(b_, all, steps))
      return std::nullopt;
    for (size_t count = 1; count <= std::min(operand_count, candidates_.size()); ++count) {
      chosen_.clear();
      if (!choose(0, count, operand_count)) continue;
      std::sort(chosen_.begin(), chosen_.end(),
                [](const TensorType* x, const TensorType* y) { return x->name < y->name; });
      return Ambiguity{&a_, &b_, chosen_, plain_};
    }
    return std::nullopt;
  }

 private:
  void consider(const TensorType& type) {
    const bool known = type.is_plain() || std::find(candidates_.begin(), candidates_.end(),
                                                    &type) != candidates_.end();
    if (!known && a_.distance(type) >= 0 && b_.distance(type) >= 0) candidates_.push_back(&type);
  }

  bool choose(size_t first, size_t count, size_t operand_count) {
    if (count == 0) {
      if (++tried_ > kMostSets || !both_fit()) return false;
      plain_ = false;
      if (undecided()) return true;
      plain_ = takes_plain_ && chosen_.size() < operand_count;
      return plain_ && undecided();
    }
    for (size_t i = first; i + count <= candidates_.size() && tried_ <= kMostSets; ++i) {
      chosen_.push_back(candidates_[i]);
      if (choose(i + 1, count - 1, operand_count)) return true;
      chosen_.pop_back();
    }
    return false;
  }

  bool both_fit() {
    const TypeSet operands{chosen_, false};
    return fits(a_, operands, steps_) && fits(b_, operands, steps_);
  }

  // As a call goes up the lines of its operands, until something of a line handles it.
  bool undecided() const {
    const TypeSet operands{chosen_, plain_};
    const auto has = [](const std::vector<const Override*>& list, const Override& entry) {
      return std::find(list.begin(), list.end(), &entry) != list.end();
    };
    for (const TensorType* type : chosen_) {
      for (const TensorType* level = type; level != nullptr; level = level->parent) {
        const auto best = most_specific(entries_, *level, operands);
        if (has(best, a_) && has(best, b_)) return true;
        if (!best.empty() || level->descriptor.handler != nullptr) break;
      }
    }
    return false;
  }

  std::span<const Override* const> entries_;
  const Override& a_;
  const Override& b_;
  std::vector<const TensorType*> candidates_;  // types that both accept
  bool takes_plain_ = false;
  size_t tried_ = 0;
  std::vector<int> steps_;
  std::vector<const TensorType*> chosen_;
  bool plain_ = false;
};

}  // namespace

bool fits(const Override& entry, const TypeSet& operands, std::vector<int>& steps,
          std::string* why) {
  steps.clear();
  const auto check = [&](int distance, const std::string& name) {
    if (distance < 0 && why != nullptr) *why = format_text("it does not accept {}", name);
    steps.push_back(distance);
    return distance >= 0;
  };
  for (const TensorType* type : operands.types) {
    if (!check(entry.distance(*type), type->name)) return false;
  }
  if (operands.plain && !check(entry.distance_of_plain(), "Tensor")) return false;
  for (const TensorType* expected : entry.types) {
    const bool present = std::any_of(operands.types.begin(), operands.types.end(),
                                     [&](const TensorType* type) { return type->is(*expected); });
    if (present) continue;
    if (why != nullptr) *why = format_text("no operand is a {}", expected->name);
    return false;
  }
  return true;
}

std::vector<const Override*> most_specific(std::span<const Override* const> entries,
                                           const TensorType& level, const TypeSet& operands,
                                           const PassOver& pass_over) {
  std::vector<std::pair<const Override*, std::vector<int>>> fitting;
  for (const Override* entry : entries) {
    if (!entry->for_type(level) || entry->is_gradient_override()) continue;
    std::vector<int> steps;
    std::string why;
    if (fits(*entry, operands, steps, pass_over ? &why : nullptr)) {
      fitting.emplace_back(entry, std::move(steps));
    } else if (pass_over) {
      pass_over(*entry, why);
    }
  }
  std::vector<const Override*> best;
  for (const auto& candidate : fitting) {
    const bool beaten = std::any_of(fitting.begin(), fitting.end(), [&](const auto& other) {
      return &other != &candidate &&
             dominates(*other.first, other.second, *candidate.first, candidate.second);
    });
    if (!beaten) best.push_back(candidate.first);
  }
  return best;
}

std::string type_names_text(std::span<const TensorType* const> types) {
  Words names;
  for (const TensorType* type : types) names.push_back(type->name);
  return format_text("[{}]", join(names, ", "));
}

std::string Ambiguity::fix() const { return first->schema.name + type_names_text(types); }

std::string Ambiguity::text() const {
  return format_text(
      "override of '{}' is ambiguous for {}: {} from '{}' and {} from '{}'; possible fix: register "
      "{}",
      first->schema.name, type_names_text(types), first->key(), first->provider, second->key(),
      second->provider, fix());
}

std::vector<Ambiguity> find_ambiguities(std::span<const Override* const> entries,
                                        std::span<const Override* const> added) {
  const std::unordered_set<const Override*> added_set(added.begin(), added.end());
  // Without a type in common two never compete in one call.
  std::unordered_map<const TensorType*, std::vector<size_t>> places;
  std::set<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < entries.size(); ++i) {
    for (const TensorType* type : entries[i]->types) {
      for (const size_t other : places[type]) {
        if ((added_set.contains(entries[i]) || added_set.contains(entries[other])) &&
            entries[i]->types != entries[other]->types)
          pairs.emplace(other, i);
      }
      places[type].push_back(i);
    }
  }
  std::vector<Ambiguity> found;
  for (const auto& [first, second] : pairs) {
    PairSearch search(entries, *entries[first], *entries[second]);
    if (auto ambiguity = search.smallest(entries[first]->operand_count))
      found.push_back(std::move(*ambiguity));
  }
  return found;
}

}  // namespace tenon::core
