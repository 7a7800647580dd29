// Ranking those that declare one name.
#include "core/plugin/resolve/resolver.hpp"

#include <algorithm>
#include <array>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "tenon/abi/op.h"

namespace tenon::core {

const char* provider_standing_text(ProviderStanding standing) noexcept {
  static constexpr std::array texts{"chosen",   "next",     "outranked", "contested",
                                    "disabled", "excluded", "failed"};
  return texts[static_cast<size_t>(standing)];
}

// ---- what plugins mean by a name ----

namespace {

bool contains(const KnownPlugins& plugins, const KnownPlugin* plugin) {
  return std::find(plugins.begin(), plugins.end(), plugin) != plugins.end();
}

// How two schemas of one item differ, as part of a message; "" when they are the same.
std::string schema_difference_text(std::string_view a, const std::string& a_provider,
                                   std::string_view b, const std::string& b_provider) {
  try {
    return schema_difference(parse_schema(a), a_provider, parse_schema(b), b_provider);
  } catch (const Error&) {  // loading the plugin will say what is wrong with it
    return "";
  }
}

template <class Items>
auto find_item(const Items& items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const auto& item) { return item.name() == name; });
  return found == items.end() ? nullptr : &*found;
}

std::string schema_of(const PluginFacts& facts, ItemKind kind, std::string_view name) {
  const auto schema = [](const auto* item) { return item == nullptr ? "" : item->schema; };
  return kind == ItemKind::Op       ? schema(find_item(facts.ops, name))
         : kind == ItemKind::Module ? schema(find_item(facts.modules, name))
                                    : std::string();
}

// Whether two plugins mean different things by one name, so that neither being asked for by name nor
// declining ranks them: who names a plugin may not know that it takes another's name.
bool redefines(const KnownPlugin& one, const KnownPlugin& two, ItemKind kind,
               std::string_view name) {
  const PluginFacts &a = *one.found.facts, &b = *two.found.facts;
  if (kind != ItemKind::Type) {
    const std::string schema = schema_of(a, kind, name), other = schema_of(b, kind, name);
    return schema != other && !schema_difference_text(schema, a.id, other, b.id).empty();
  }
  const TypeFacts &mine = *find_item(a.types, name), &theirs = *find_item(b.types, name);
  return mine.parent != theirs.parent || mine.payload != theirs.payload;
}
bool redefines(const OverrideFacts& a, const OverrideFacts& b) {
  return a.accepts != b.accepts || !schema_difference_text(a.schema, "a", b.schema, "b").empty();
}

bool is_sound(const KnownPlugin& plugin) {
  return plugin.state != PluginState::Failed || plugin.opened;
}

bool is_side_of(const KnownPlugin& side, const KnownPlugin& plugin) {
  return side.found.is_side() && !plugin.found.is_side() &&
         side.found.facts->id == plugin.found.facts->id;
}
// Versions beside the plugin that has their id.
KnownPlugins side_versions(const KnownPlugins& plugins) {
  KnownPlugins sides;
  std::ranges::copy_if(plugins, std::back_inserter(sides), [&](const KnownPlugin* side) {
    return std::ranges::any_of(
        plugins, [&](const KnownPlugin* plugin) { return is_side_of(*side, *plugin); });
  });
  return sides;
}

KnownPlugins asked_for(const KnownPlugins& plugins) {
  KnownPlugins named;
  std::ranges::copy_if(plugins, std::back_inserter(named),
                       [](const KnownPlugin* plugin) { return plugin->is_asked_for(); });
  return named;
}

// Adds plugins of `others` whose name has another meaning than in the level: they conflict with it.
void add_rivals(ProviderLevel& level, const KnownPlugins& others, ItemKind kind,
                std::string_view name) {
  const KnownPlugins above = level.plugins;
  for (const KnownPlugin* other : others) {
    if (contains(above, other)) continue;
    if (std::any_of(above.begin(), above.end(), [&](const KnownPlugin* plugin) {
          return redefines(*plugin, *other, kind, name);
        }))
      level.plugins.push_back(other);
  }
}

}  // namespace

bool may_decline(const KnownPlugin& plugin, ItemKind kind, std::string_view name) {
  if (kind != ItemKind::Op) return false;
  const OpFacts* op = find_item(plugin.found.facts->ops, name);
  return op != nullptr && (op->flags & TENON_OP_MAY_DECLINE) != 0;
}

// ---- levels ----

namespace {

// -1: in none.
int level_of(const ProviderLevels& levels, const KnownPlugin& plugin) {
  for (size_t i = 0; i < levels.size(); ++i) {
    if (contains(levels[i].plugins, &plugin)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void Resolver::set_plugins(const KnownPlugins& plugins) {
  plugins_ = plugins;
  for (auto& names : declaring_) names.clear();
  for (const KnownPlugin* plugin : plugins_) {
    each_item(*plugin->found.facts, [&](ItemKind kind, std::string_view name) {
      declaring_[static_cast<size_t>(kind)][name].push_back(plugin);
    });
  }
}

const KnownPlugins* Resolver::declaring(ItemKind kind, std::string_view name) const {
  const auto& names = declaring_[static_cast<size_t>(kind)];
  const auto found = names.find(name);
  return found == names.end() ? nullptr : &found->second;
}

std::vector<std::string_view> Resolver::names(ItemKind kind) const {
  std::vector<std::string_view> list;
  for (const auto& [name, plugins] : declaring_[static_cast<size_t>(kind)]) list.push_back(name);
  return list;
}

const KnownPlugins& Resolver::registered(ItemKind kind, std::string_view name) const {
  static const KnownPlugins none;
  const auto& names = registered_[static_cast<size_t>(kind)];
  const auto found = names.find(std::string(name));
  return found == names.end() ? none : found->second;
}

// The level by name, of plugins that are sound or asked for.
ProviderLevel Resolver::by_name(ItemKind kind, std::string_view name, const KnownPlugins& usable,
                                bool is_alone) const {
  ProviderLevel level;
  level.plugins = asked_for(usable);
  if (level.plugins.empty()) return {usable, {}};
  if (level.plugins.size() > 1) {
    if (const KnownPlugin* plugin = policies_.by_place(level.plugins, &level.reason))
      return {{plugin}, level.reason};
  }
  add_rivals(level, usable, kind, name);
  if (level.plugins.size() == 1 && !is_alone) level.reason = "asked for by name";
  return level;
}

ProviderLevel Resolver::best(ItemKind kind, std::string_view name, KnownPlugins candidates,
                             const KnownPlugins& beside) const {
  // A preferred or named plugin that fails is not silently replaced by another.
  ProviderLevel level;
  if (const KnownPlugin* plugin = policies_.preferred(name, candidates, &level.reason))
    return {{plugin}, level.reason};
  std::erase_if(candidates, [&](const KnownPlugin* plugin) { return contains(beside, plugin); });
  const bool is_alone = candidates.size() == 1;
  if (is_alone && is_sound(*candidates.front())) return {candidates, {}};
  KnownPlugins usable, special;
  for (const KnownPlugin* candidate : candidates) {
    if (!candidate->is_asked_for() && !is_sound(*candidate)) continue;
    usable.push_back(candidate);
    if (may_decline(*candidate, kind, name)) special.push_back(candidate);
  }
  if (special.empty() || special.size() == usable.size())
    return by_name(kind, name, usable, is_alone);
  level = by_name(kind, name, special, true);
  add_rivals(level, usable, kind, name);
  if (level.plugins.size() == 1 && level.reason.empty())
    level.reason = "asked first, since it may decline";
  return level;
}

ProviderLevels Resolver::levels(ItemKind kind, std::string_view name) const {
  ProviderLevels levels;
  const KnownPlugins* declaring_name = declaring(kind, name);
  if (declaring_name == nullptr) return levels;
  KnownPlugins candidates;
  for (const KnownPlugin* plugin : *declaring_name) {
    if (plugin->state != PluginState::Excluded && policies_.disabling(*plugin, name) == nullptr)
      candidates.push_back(plugin);
  }
  const KnownPlugins beside = side_versions(candidates);
  while (!candidates.empty()) {
    ProviderLevel level = best(kind, name, candidates, beside);
    if (level.plugins.empty()) {
      // All of them are refused: at first that is the answer.
      if (levels.empty()) levels.push_back({candidates, {}});
      break;
    }
    levels.push_back(std::move(level));
    const KnownPlugins& plugins = levels.back().plugins;
    if (plugins.size() > 1 || !may_decline(*plugins.front(), kind, name)) break;
    std::erase_if(candidates, [&](const KnownPlugin* plugin) {
      return plugin == plugins.front() || redefines(*plugins.front(), *plugin, kind, name);
    });
  }
  if (levels.empty() || levels.back().plugins.size() > 1) return levels;
  for (const PolicyStack::CallPreference& one : call_preferences(kind, name)) {
    if (level_of(levels, *one.plugin) >= 0 || !is_sound(*one.plugin) ||
        redefines(*levels.back().plugins.front(), *one.plugin, kind, name))
      continue;
    levels.push_back({{one.plugin}, {}});
  }
  return levels;
}

std::vector<PolicyStack::CallPreference> Resolver::call_preferences(ItemKind kind,
                                                                    std::string_view name) const {
  const KnownPlugins* declaring_name = declaring(kind, name);
  if (kind != ItemKind::Op || declaring_name == nullptr || declaring_name->size() < 2 ||
      !policies_.prefers_for_calls())
    return {};
  KnownPlugins usable;
  std::ranges::copy_if(*declaring_name, std::back_inserter(usable), [&](const KnownPlugin* plugin) {
    return plugin->state != PluginState::Excluded && policies_.disabling(*plugin, name) == nullptr;
  });
  return policies_.preferred_for_calls(name, usable);
}

std::vector<ProviderPreference> Resolver::preferences(std::string_view op) const {
  std::vector<ProviderPreference> preferences;
  for (const PolicyStack::CallPreference& one : call_preferences(ItemKind::Op, op))
    preferences.push_back({one.plugin->id(), *one.preference->when, one.source});
  return preferences;
}

namespace {

// Inserts the plugin among the registered ones, which an earlier policy may have ranked: those stay
// above.
KnownPlugins insert_ranked(KnownPlugins present, const ProviderLevels& levels,
                           const KnownPlugin& plugin) {
  if (contains(present, &plugin)) return present;
  const int level = level_of(levels, plugin);
  const auto below = std::find_if(present.begin(), present.end(), [&](const KnownPlugin* other) {
    return level >= 0 && level_of(levels, *other) > level;
  });
  present.insert(below, &plugin);
  return present;
}

}  // namespace

// Whether all mean the same, and each but the last may pass calls on: it may decline, or what comes
// next is preferred for some.
bool Resolver::is_chain(const KnownPlugins& plugins, ItemKind kind, std::string_view name) const {
  const auto preferences = call_preferences(kind, name);
  for (size_t i = 0; i + 1 < plugins.size(); ++i) {
    const KnownPlugin &above = *plugins[i], &below = *plugins[i + 1];
    const bool passes_on =
        may_decline(above, kind, name) ||
        std::ranges::find(preferences, &below, &PolicyStack::CallPreference::plugin) !=
            preferences.end();
    if (!passes_on || redefines(above, below, kind, name)) return false;
  }
  return true;
}

KnownPlugins Resolver::registered_with(const KnownPlugin& plugin, ItemKind kind,
                                       std::string_view name) const {
  const KnownPlugins& present = registered(kind, name);
  if (present.empty()) return {&plugin};
  return insert_ranked(present, levels(kind, name), plugin);
}

bool Resolver::belongs(const KnownPlugin& plugin, ItemKind kind, std::string_view name) const {
  const KnownPlugins& present = registered(kind, name);
  if (contains(present, &plugin)) return true;
  const ProviderLevels ranked = levels(kind, name);
  for (const ProviderLevel& level : ranked) {
    if (contains(level.plugins, &plugin))
      return level.plugins.size() == 1 &&
             is_chain(insert_ranked(present, ranked, plugin), kind, name);
    // One that is asked before it is not there yet.
    if (!contains(present, level.plugins.front())) return false;
  }
  return false;
}

ProviderStanding Resolver::standing(const KnownPlugin& plugin, ItemKind kind, std::string_view name,
                                    std::string* reason) const {
  std::string not_asked;
  std::string& why = reason == nullptr ? not_asked : *reason;
  const auto next_after = [&](const KnownPlugin& above) {
    why = format_text("runs what {} declines", above.text());
    for (const ProviderPreference& preference : preferences(name)) {
      if (kind == ItemKind::Op && preference.provider == plugin.id())
        why += format_text("; {}", preference.text());
    }
    return ProviderStanding::Next;
  };
  const KnownPlugins& present = registered(kind, name);
  const ProviderLevels ranked = levels(kind, name);
  if (const auto place = std::ranges::find(present, &plugin); place != present.end()) {
    if (place != present.begin()) return next_after(**(place - 1));
    why = ranked.empty() ? std::string() : ranked.front().reason;
    return ProviderStanding::Chosen;
  }
  if (plugin.state == PluginState::Excluded) {
    why = plugin.reason;
    return ProviderStanding::Excluded;
  }
  std::string source;
  if (const auto* preference = policies_.disabling(plugin, name, &source)) {
    why = format_text("{} is disabled by {}", quote(preference->pattern), source);
    return ProviderStanding::Disabled;
  }
  const int place = level_of(ranked, plugin);
  const ProviderLevel* own = place < 0 ? nullptr : &ranked[static_cast<size_t>(place)];
  if (plugin.state == PluginState::Failed && (own == nullptr || own->plugins.size() == 1)) {
    why = plugin.reason;
    return ProviderStanding::Failed;
  }
  if (own == nullptr) {
    if (ranked.empty()) return ProviderStanding::Outranked;
    const ProviderLevel& above = ranked.back();
    why = format_text("{} ranks above it{}", above.plugins.front()->text(),
                      above.reason.empty() ? "" : format_text(", {}", above.reason));
    return ProviderStanding::Outranked;
  }
  if (own->plugins.size() > 1) {
    std::vector<std::string> others;
    for (const KnownPlugin* other : own->plugins) {
      if (other != &plugin) others.push_back(other->text());
    }
    why = format_text("nothing ranks it above or below {}", join(others, ", "));
    return ProviderStanding::Contested;
  }
  const KnownPlugins chain = insert_ranked(present, ranked, plugin);
  if (!is_chain(chain, kind, name)) {
    why = format_text("{} has registered it already", present.front()->text());
    return ProviderStanding::Contested;
  }
  if (place > 0) return next_after(*ranked[static_cast<size_t>(place) - 1].plugins.front());
  if (chain.front() != &plugin) return next_after(*chain.front());
  why = own->reason;
  return ProviderStanding::Chosen;
}

// ---- overrides ----

const KnownPlugin* Resolver::ranked_override(const PreferenceTarget& target,
                                             const KnownPlugins& candidates) const {
  if (const KnownPlugin* plugin = policies_.preferred(target, candidates)) return plugin;
  if (candidates.size() == 2) {
    if (is_side_of(*candidates[0], *candidates[1])) return candidates[1];
    if (is_side_of(*candidates[1], *candidates[0])) return candidates[0];
  }
  const KnownPlugins named = asked_for(candidates);
  if (named.size() == candidates.size()) return policies_.by_place(named);
  if (named.size() != 1) return nullptr;
  const auto entry_of = [&](const KnownPlugin& plugin) {
    return find_item(plugin.found.facts->overrides, target.key);
  };
  const OverrideFacts* own = entry_of(*named.front());
  for (const KnownPlugin* candidate : candidates) {
    const OverrideFacts* other = entry_of(*candidate);
    if (own != nullptr && other != nullptr && redefines(*own, *other)) return nullptr;
  }
  return named.front();
}

TypeTable::OpSource Resolver::declared_op(std::string_view op) const {
  const ProviderLevels ranked = levels(ItemKind::Op, op);
  if (ranked.empty()) return {"", "", suggestion(op, names(ItemKind::Op))};
  const KnownPlugin& best = *ranked.front().plugins.front();
  const OpFacts& declared = *find_item(best.found.facts->ops, op);
  return {declared.schema, best.id(), "", (declared.flags & TENON_OP_NOT_OVERRIDABLE) == 0};
}

std::set<std::string, std::less<>> Resolver::declared_overrides() const {
  std::set<std::string, std::less<>> keys;
  for (const KnownPlugin* plugin : plugins_) {
    if (plugin->state == PluginState::Failed || plugin->state == PluginState::Excluded) continue;
    for (const OverrideFacts& entry : plugin->found.facts->overrides) keys.insert(entry.key);
  }
  return keys;
}

bool Resolver::is_free(const KnownPlugin& plugin, const PreferenceTarget& target) const {
  return plugin.state != PluginState::Failed && plugin.state != PluginState::Excluded &&
         policies_.disabling(plugin, target) == nullptr;
}

// ---- registered names ----

const KnownPlugins* Registrations::of(ItemKind kind, std::string_view name) const {
  const auto& names = names_[static_cast<size_t>(kind)];
  const auto found = names.find(std::string(name));
  return found == names.end() ? nullptr : &found->second;
}

void Registrations::add(const KnownPlugin& plugin, const ItemNames& names,
                        const Resolver& resolver) {
  for (const auto& [kind, name] : names) {
    KnownPlugins ranked = resolver.registered_with(plugin, kind, name);
    names_[static_cast<size_t>(kind)][name] = std::move(ranked);
  }
}

ItemNames Registrations::withdraw(const KnownPlugin& plugin) {
  ItemNames alone;
  for (size_t kind = 0; kind < kItemKinds; ++kind) {
    for (auto& [name, plugins] : names_[kind]) {
      if (std::erase(plugins, &plugin) != 0 && plugins.empty())
        alone.emplace_back(static_cast<ItemKind>(kind), name);
    }
    std::erase_if(names_[kind], [](const auto& entry) { return entry.second.empty(); });
  }
  std::ranges::sort(alone);
  return alone;
}

// ---- conflicts ----

namespace {

// Items by what is wrong with them, in the order of their finding.
class Conflicts {
 public:
  void add(std::string item, const std::string& reason) {
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const auto& one) { return one.first == reason; });
    if (group == groups_.end()) group = groups_.insert(groups_.end(), {reason, {}});
    group->second.push_back(std::move(item));
  }
  std::optional<PluginFailure> failure(const KnownPlugin& plugin) const {
    if (groups_.empty()) return std::nullopt;
    std::vector<std::string> texts;
    for (const auto& [reason, items] : groups_)
      texts.push_back(format_text("{} would have two providers: {}", join(items, ", "), reason));
    return make_failure(PluginStage::Register, plugin.id(), plugin.found.path, join(texts, "; "),
                        "rank them by `prefer` or `duplicates` in the config, or disable one");
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;
};

}  // namespace

std::optional<PluginFailure> Resolver::conflict(const KnownPlugin& plugin) const {
  Conflicts conflicts;
  const PluginFacts& facts = *plugin.found.facts;
  each_item(facts, [&](ItemKind kind, std::string_view name) {
    std::string reason;
    if (standing(plugin, kind, name, &reason) != ProviderStanding::Contested) return;
    for (const KnownPlugin* rival : *declaring(kind, name)) {
      if (rival == &plugin) continue;
      const std::string difference =
          schema_difference_text(schema_of(facts, kind, name), plugin.id(),
                                 schema_of(*rival->found.facts, kind, name), rival->id());
      if (!difference.empty()) reason += format_text("; {}", difference);
    }
    conflicts.add(format_text("{} {}", kind_text(kind), quote(name)), reason);
  });
  for (const OverrideFacts& entry : facts.overrides) {
    const PreferenceTarget target(schema_name(entry.schema), entry.key);
    if (policies_.disabling(plugin, target) != nullptr) continue;
    for (const KnownPlugin* rival : plugins_) {
      if (rival == &plugin || !is_free(*rival, target)) continue;
      if (find_item(rival->found.facts->overrides, entry.key) != nullptr &&
          ranked_override(target, {&plugin, rival}) == nullptr)
        conflicts.add(format_text("override {}", entry.key),
                      format_text("nothing ranks it above or below {}", rival->text()));
    }
  }
  return conflicts.failure(plugin);
}

Error Resolver::contested(ItemKind kind, std::string_view name, const KnownPlugins& rivals) const {
  KnownPlugins sorted = rivals;
  std::ranges::sort(sorted, {}, &KnownPlugin::text);
  std::vector<std::string> texts;
  std::string difference;
  const KnownPlugin& first = *sorted.front();
  for (const KnownPlugin* rival : sorted) {
    texts.push_back(rival->text());
    if (difference.empty()) {
      difference = schema_difference_text(schema_of(*first.found.facts, kind, name), first.id(),
                                          schema_of(*rival->found.facts, kind, name), rival->id());
    }
  }
  return Error(TENON_ERROR_PLUGIN,
               "{} {} has {} providers and nothing ranks them: {}{}; rank them by `prefer` in the "
               "config, or disable all but one",
               kind_text(kind), quote(name), texts.size(), join(texts, ", "),
               difference.empty() ? "" : format_text("; {}", difference));
}

}  // namespace tenon::core
