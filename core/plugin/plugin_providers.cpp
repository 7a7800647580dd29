// Who provides an op, module, type or override that several plugins declare.
#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/schema.hpp"
#include "core/plugin/plugin_record.hpp"

namespace tenon::core {

const char* kind_text(ItemKind kind) {
  return kind == ItemKind::Op ? "op" : kind == ItemKind::Module ? "module" : "type";
}

PluginManager::Policies::Entry PluginManager::Policies::entry(const Record& record) const {
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      if (is_plugin_path(plugin.name) ? plugin.name == record.found.path
                                      : record.is_named(plugin.name))
        return {&plugin, &policy};
    }
  }
  return {};
}

const PluginPolicy::Preference* PluginManager::Policies::disabling(const Record& record,
                                                                   const PreferenceTarget& target,
                                                                   std::string* source) const {
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Preference& preference : policy.disable) {
      if (!preference.plugin.empty() && !record.is_named(preference.plugin)) continue;
      if (!matches(preference, target)) continue;
      // Disabling an op of every provider does not disable its overrides.
      if (!target.key.empty() && preference.plugin.empty() && !preference.about_overrides())
        continue;
      if (source != nullptr) *source = policy.source;
      return &preference;
    }
  }
  return nullptr;
}

const PluginManager::Record* PluginManager::Policies::preferred(
    const PreferenceTarget& target, const std::vector<Record*>& candidates,
    std::string* reason) const {
  const auto search = [&](const PluginPolicy& policy) -> const Record* {
    for (const PluginPolicy::Preference& preference : policy.prefer) {
      if (!matches(preference, target)) continue;
      for (const Record* candidate : candidates) {
        if (!candidate->is_named(preference.plugin)) continue;
        if (reason != nullptr)
          *reason = format_text("preferred by {}: {}", policy.source, preference.pattern);
        return candidate;
      }
    }
    return nullptr;
  };
  if (const Record* record = search(environment)) return record;
  for (const PluginPolicy& policy : list) {
    if (const Record* record = search(policy)) return record;
  }
  return nullptr;
}

const PluginManager::Record* PluginManager::Policies::by_place(
    const std::vector<const Record*>& candidates, std::string* reason) const {
  for (const PluginPolicy& policy : list) {
    if (policy.duplicates == DuplicateChoice::Error) continue;
    const Record* chosen = nullptr;
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      for (const Record* candidate : candidates) {
        if (is_plugin_path(plugin.name) ? plugin.name != candidate->found.path
                                        : !candidate->is_named(plugin.name))
          continue;
        if (chosen == nullptr || policy.duplicates == DuplicateChoice::Last) chosen = candidate;
      }
    }
    if (chosen == nullptr) continue;
    if (reason != nullptr) {
      *reason = format_text("{} in the list of {}",
                            policy.duplicates == DuplicateChoice::First ? "first" : "last",
                            policy.source);
    }
    return chosen;
  }
  return nullptr;
}

namespace {

// How two schemas of one item differ, as part of a message; "" when they are the same.
std::string schema_difference_text(std::string_view a, const std::string& a_provider,
                                   std::string_view b, const std::string& b_provider) {
  try {
    return schema_difference(parse_schema(a), a_provider, parse_schema(b), b_provider);
  } catch (const Error&) {  // loading the plugin will say what is wrong with it
    return "";
  }
}

std::string schema_of(const PluginFacts& facts, ItemKind kind, std::string_view name) {
  const auto find = [&](const auto& items) {
    for (const auto& item : items) {
      if (item.name() == name) return item.schema;
    }
    return std::string();
  };
  return kind == ItemKind::Op       ? find(facts.ops)
         : kind == ItemKind::Module ? find(facts.modules)
                                    : std::string();
}

// Whether two plugins mean different things by one name, so that being asked for by name does not
// rank them: who names a plugin may not know that it takes another's name.
bool redefines(const PluginFacts& a, const PluginFacts& b, ItemKind kind, std::string_view name) {
  if (kind != ItemKind::Type) {
    const std::string schema = schema_of(a, kind, name);
    const std::string other = schema_of(b, kind, name);
    return schema != other && !schema_difference_text(schema, a.id, other, b.id).empty();
  }
  const auto find = [&](const PluginFacts& facts) {
    return std::find_if(facts.types.begin(), facts.types.end(),
                        [&](const TypeFacts& type) { return type.name() == name; });
  };
  const auto mine = find(a), theirs = find(b);
  return mine->parent != theirs->parent || mine->payload != theirs->payload;
}
bool redefines(const OverrideFacts& a, const OverrideFacts& b) {
  return a.accepts != b.accepts || !schema_difference_text(a.schema, "a", b.schema, "b").empty();
}

}  // namespace

std::vector<const PluginManager::Record*> PluginManager::best_providers(ItemKind kind,
                                                                        std::string_view name,
                                                                        std::string* reason) const {
  const auto found = index(kind).find(name);
  if (found == index(kind).end()) return {};
  std::vector<Record*> candidates;
  for (Record* record : found->second) {
    if (record->state != PluginState::Excluded &&
        policies_->disabling(*record, name, nullptr) == nullptr) {
      candidates.push_back(record);
    }
  }
  // A preferred or named plugin that fails is not silently replaced by another.
  if (const Record* record = policies_->preferred(name, candidates, reason)) return {record};
  // A side version provides what it is preferred for, and what the version with the id lacks.
  std::erase_if(candidates, [&](const Record* record) {
    return record->found.is_side && std::ranges::any_of(candidates, [&](const Record* other) {
             return !other->found.is_side && other->found.facts->id == record->found.facts->id;
           });
  });
  std::vector<const Record*> named;
  std::vector<const Record*> sound;
  for (const Record* record : candidates) {
    if (record->named || record->configured) named.push_back(record);
    if (record->state != PluginState::Failed || record->opened) sound.push_back(record);
  }
  if (named.size() > 1) {
    if (const Record* record = policies_->by_place(named, reason)) return {record};
  }
  if (!named.empty()) {
    // Above those that provide the same, not above those whose name it takes for something else.
    std::vector<const Record*> rivals = named;
    for (const Record* other : sound) {
      if (std::find(named.begin(), named.end(), other) == named.end() &&
          std::any_of(named.begin(), named.end(), [&](const Record* record) {
            return redefines(*record->found.facts, *other->found.facts, kind, name);
          }))
        rivals.push_back(other);
    }
    if (rivals.size() == 1 && candidates.size() > 1 && reason != nullptr)
      *reason = "asked for by name";
    return rivals;
  }
  if (!sound.empty()) return sound;
  return {candidates.begin(), candidates.end()};
}

ProviderStanding PluginManager::standing(const Record& record, ItemKind kind, std::string_view name,
                                         std::string* reason) const {
  const auto say = [&](std::string text) {
    if (reason != nullptr) *reason = std::move(text);
  };
  const auto& provided = provided_[static_cast<size_t>(kind)];
  const auto present = provided.find(std::string(name));
  if (present != provided.end() && present->second == &record) {
    if (reason != nullptr) best_providers(kind, name, reason);
    return ProviderStanding::Chosen;
  }
  if (record.state == PluginState::Excluded) {
    say(record.reason);
    return ProviderStanding::Excluded;
  }
  std::string source;
  if (const auto* preference = policies_->disabling(record, name, &source)) {
    say(format_text("{} is disabled by {}", quote(preference->pattern), source));
    return ProviderStanding::Disabled;
  }
  std::string ranked_by;
  const std::vector<const Record*> best =
      best_providers(kind, name, reason == nullptr ? nullptr : &ranked_by);
  const bool among = std::find(best.begin(), best.end(), &record) != best.end();
  if (record.state == PluginState::Failed && (!among || best.size() == 1)) {
    say(record.reason);
    return ProviderStanding::Failed;
  }
  if (!among) {
    say(best.empty() ? ""
                     : format_text("{} ranks above it{}", best.front()->text(),
                                   ranked_by.empty() ? "" : format_text(", {}", ranked_by)));
    return ProviderStanding::Outranked;
  }
  if (best.size() > 1) {
    std::string rivals;
    for (const Record* rival : best) {
      if (rival != &record) rivals += (rivals.empty() ? "" : ", ") + rival->text();
    }
    say(format_text("nothing ranks it above or below {}", rivals));
    return ProviderStanding::Contested;
  }
  if (present != provided.end()) {
    say(format_text("{} has registered it already", present->second->text()));
    return ProviderStanding::Contested;
  }
  say(ranked_by);
  return ProviderStanding::Chosen;
}

// For plugins that are asked for by name: all of it that cannot be used because of another plugin.
std::optional<PluginFailure> PluginManager::conflict(const Record& record) const {
  // By reason, which names the other provider.
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  const auto add = [&](std::string item, const std::string& reason) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& one) { return one.first == reason; });
    if (group == groups.end()) group = groups.insert(groups.end(), {reason, {}});
    group->second.push_back(std::move(item));
  };
  each_item(*record.found.facts, [&](ItemKind kind, std::string_view name) {
    std::string reason;
    if (standing(record, kind, name, &reason) != ProviderStanding::Contested) return;
    for (const Record* rival : index(kind).find(name)->second) {
      if (rival == &record) continue;
      const std::string difference =
          schema_difference_text(schema_of(*record.found.facts, kind, name), record.id(),
                                 schema_of(*rival->found.facts, kind, name), rival->id());
      if (!difference.empty()) reason += format_text("; {}", difference);
    }
    add(format_text("{} {}", kind_text(kind), quote(name)), reason);
  });
  for (const OverrideFacts& entry : record.found.facts->overrides) {
    const PreferenceTarget target(schema_name(entry.schema), entry.key);
    if (policies_->disabling(record, target, nullptr) != nullptr) continue;
    for (const auto& rival : records_) {
      if (rival.get() == &record || !rival->found.facts || rival->state == PluginState::Failed ||
          rival->state == PluginState::Excluded || rival->state == PluginState::Shadowed ||
          policies_->disabling(*rival, target, nullptr) != nullptr)
        continue;
      const auto& theirs = rival->found.facts->overrides;
      const bool same = std::any_of(theirs.begin(), theirs.end(), [&](const OverrideFacts& other) {
        return other.key == entry.key;
      });
      if (same && ranked(target, {const_cast<Record*>(&record), rival.get()}) == nullptr)
        add(format_text("override {}", entry.key),
            format_text("nothing ranks it above or below {}", rival->text()));
    }
  }
  if (groups.empty()) return std::nullopt;
  std::vector<std::string> texts;
  for (const auto& [reason, items] : groups)
    texts.push_back(format_text("{} would have two providers: {}", join(items, ", "), reason));
  return make_failure(PluginStage::Register, record.id(), record.found.path, join(texts, "; "),
                      "rank them by `prefer` or `duplicates` in the config, or disable one");
}

Error PluginManager::contested(ItemKind kind, std::string_view name,
                               const std::vector<const Record*>& rivals) const {
  std::vector<const Record*> sorted = rivals;
  std::sort(sorted.begin(), sorted.end(),
            [](const Record* a, const Record* b) { return a->text() < b->text(); });
  std::vector<std::string> texts;
  std::string difference;
  for (const Record* rival : sorted) {
    texts.push_back(rival->text());
    if (difference.empty()) {
      difference = schema_difference_text(schema_of(*sorted.front()->found.facts, kind, name),
                                          sorted.front()->id(),
                                          schema_of(*rival->found.facts, kind, name), rival->id());
    }
  }
  return Error(TENON_ERROR_PLUGIN,
               "{} {} has {} providers and nothing ranks them: {}{}; rank them by `prefer` in the "
               "config, or disable all but one",
               kind_text(kind), quote(name), texts.size(), join(texts, ", "),
               difference.empty() ? "" : format_text("; {}", difference));
}

// Of two providers of an override; null when nothing ranks them.
const PluginManager::Record* PluginManager::ranked(const PreferenceTarget& target,
                                                   const std::vector<Record*>& candidates) const {
  if (const Record* record = policies_->preferred(target, candidates)) return record;
  if (candidates.size() == 2 && candidates[0]->found.facts->id == candidates[1]->found.facts->id)
    return candidates[candidates[0]->found.is_side ? 1 : 0];
  std::vector<const Record*> named;
  for (const Record* record : candidates) {
    if (record->named || record->configured) named.push_back(record);
  }
  if (named.size() == candidates.size()) return policies_->by_place(named);
  if (named.size() != 1) return nullptr;
  const auto entry_of = [&](const Record& record) {
    const auto& entries = record.found.facts->overrides;
    return std::find_if(entries.begin(), entries.end(),
                        [&](const OverrideFacts& entry) { return entry.key == target.key; });
  };
  const auto own = entry_of(*named.front());
  for (const Record* record : candidates) {
    const auto other = entry_of(*record);
    if (own != named.front()->found.facts->overrides.end() &&
        other != record->found.facts->overrides.end() && redefines(*own, *other))
      return nullptr;
  }
  return named.front();
}

std::string PluginManager::preferred(std::string_view op, std::string_view key,
                                     const std::string& a, const std::string& b) {
  const Lock lock(mutex_);
  std::vector<Record*> candidates;
  for (const std::string* id : {&a, &b}) {
    if (Record* record = find_id(*id)) candidates.push_back(record);
  }
  const Record* record = candidates.size() < 2 ? nullptr : ranked({op, key}, candidates);
  return record == nullptr ? "" : record->id();
}

PluginManager::DeclaredOp PluginManager::declared_op(std::string_view op) {
  const Lock lock(mutex_);
  if (!scanned_) scan();
  if (!index(ItemKind::Op).contains(op)) return {};
  const std::vector<const Record*> best = best_providers(ItemKind::Op, op);
  if (best.empty()) return {};
  for (const OpFacts& declared : best.front()->found.facts->ops) {
    if (declared.name() == op) {
      return {declared.schema, best.front()->id(),
              (declared.flags & TENON_OP_NOT_OVERRIDABLE) == 0};
    }
  }
  return {};
}

bool PluginManager::declares_override(std::string_view key) {
  const Lock lock(mutex_);
  return std::any_of(records_.begin(), records_.end(), [&](const auto& record) {
    if (record->found.facts == nullptr || record->state == PluginState::Shadowed ||
        record->state == PluginState::Failed || record->state == PluginState::Excluded)
      return false;
    const auto& entries = record->found.facts->overrides;
    return std::any_of(entries.begin(), entries.end(),
                       [&](const OverrideFacts& entry) { return entry.key == key; });
  });
}

}  // namespace tenon::core
