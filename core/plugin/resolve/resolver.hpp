// Who provides each op, module, type and override, and why: a pure function of the plugins that are
// known, of what policies say, and of what is registered. It reads no file, takes no lock and
// changes nothing.
//
// One plugin provides a name. Several that declare it are ranked, by the first of these that decides:
// TENON_PREFER; `prefer` of configs; an implementation that may decline before those that take every
// call; a plugin that was asked for by name (by a config or load()) before one that is merely in a
// folder; where `duplicates` says so, the place in a config's list. Else they are contested, and to
// use the name is an error that names them all. Plugins that mean different things by the name are not
// ranked by declining or by being asked for. The order of loading never decides.
//
// Calls that a plugin declines are run by the next one, ranked in the same way among those left that mean
// the same: hence levels. A preference for some calls (`when`) ranks nothing; a plugin that would not be
// asked but for it is the last level. A side version of a plugin provides what it is preferred for, and what the
// version with the id does not declare.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/plugin/resolve/policy_stack.hpp"

namespace tenon::core {

// How one plugin stands for one op, module or type that it declares.
enum class ProviderStanding {
  Chosen,     // it is used, or would be
  Next,       // it runs what those above it decline
  Outranked,  // another plugin is preferred
  Contested,  // as good as another: an error when it is called
  Disabled,   // the op is, by the config
  Excluded,   // its plugin is
  Failed      // its plugin is refused
};

const char* provider_standing_text(ProviderStanding standing) noexcept;

// For each name the plugins whose implementations are in the tables, best first.
using RegisteredNames = std::array<std::unordered_map<std::string, KnownPlugins>, kItemKinds>;
using ItemNames = std::vector<std::pair<ItemKind, std::string>>;

// Plugins that nothing ranks above each other: one, or several that are contested.
struct ProviderLevel {
  KnownPlugins plugins;
  std::string reason;  // reason that ranks a single one above the others; may be empty
};
// Best first. Each but the last is one plugin that may decline. None: nothing that may be used
// declares the name.
using ProviderLevels = std::vector<ProviderLevel>;

class Resolver {
 public:
  // Borrowed, and read at each question.
  Resolver(const PolicyStack& policies, const RegisteredNames& registered)
      : policies_(policies), registered_(registered) {}
  // In search order; those whose names count.
  void set_plugins(const KnownPlugins& plugins);

  ProviderLevels levels(ItemKind kind, std::string_view name) const;
  // Standing of a plugin that declares the name; `reason` may be null.
  ProviderStanding standing(const KnownPlugin& plugin, ItemKind kind, std::string_view name,
                            std::string* reason) const;
  // Whether what the plugin declares belongs in the tables now: it provides the name, or runs what
  // those that are there decline.
  bool belongs(const KnownPlugin& plugin, ItemKind kind, std::string_view name) const;
  // The registered plugins and this one, best first.
  KnownPlugins registered_with(const KnownPlugin& plugin, ItemKind kind,
                               std::string_view name) const;

  // Preferences of configs for the provider that some calls of an op ask first.
  std::vector<ProviderPreference> preferences(std::string_view op) const;

  // Which of two plugins provides an override that both declare; null when nothing ranks them.
  const KnownPlugin* ranked_override(const PreferenceTarget& target,
                                     const KnownPlugins& candidates) const;
  // Whether a policy says that an override of the plugin is not used.
  bool is_disabled(const KnownPlugin& plugin, const PreferenceTarget& target) const {
    return policies_.disabling(plugin, target) != nullptr;
  }
  // The schema of an op and the plugin that would provide it; a similar name when none declares it.
  TypeTable::OpSource declared_op(std::string_view op) const;
  // Keys of the overrides that plugins which may be used declare.
  std::set<std::string, std::less<>> declared_overrides() const;
  // All of the plugin that cannot be used because of another plugin; asked for plugins that are
  // asked for by name.
  std::optional<PluginFailure> conflict(const KnownPlugin& plugin) const;
  // The error of a use of a name that several provide.
  Error contested(ItemKind kind, std::string_view name, const KnownPlugins& rivals) const;

  // All that declare the name, in search order; null: none does.
  const KnownPlugins* declaring(ItemKind kind, std::string_view name) const;
  std::vector<std::string_view> names(ItemKind kind) const;

 private:
  const KnownPlugins& registered(ItemKind kind, std::string_view name) const;
  // Preferences for some calls, by plugins that mean the same by the name.
  std::vector<PolicyStack::CallPreference> call_preferences(ItemKind kind,
                                                            std::string_view name) const;
  bool is_chain(const KnownPlugins& plugins, ItemKind kind, std::string_view name) const;
  // `beside`: side versions that the version with the id stands for.
  ProviderLevel best(ItemKind kind, std::string_view name, KnownPlugins candidates,
                     const KnownPlugins& beside) const;
  ProviderLevel by_name(ItemKind kind, std::string_view name, const KnownPlugins& usable,
                        bool is_alone) const;
  bool is_free(const KnownPlugin& plugin, const PreferenceTarget& target) const;

  const PolicyStack& policies_;
  const RegisteredNames& registered_;
  KnownPlugins plugins_;
  std::array<std::unordered_map<std::string_view, KnownPlugins>, kItemKinds> declaring_;
};

// Which plugins have registered which names. One thread at a time.
class Registrations {
 public:
  // For the resolver.
  const RegisteredNames& names() const { return names_; }
  bool has(ItemKind kind, std::string_view name) const { return of(kind, name) != nullptr; }
  // Plugins that have registered the name, best first; null: none has.
  const KnownPlugins* of(ItemKind kind, std::string_view name) const;

  // These names of the plugin were registered.
  void add(const KnownPlugin& plugin, const ItemNames& names, const Resolver& resolver);
  // Nothing of the plugin is there any more. The names that it alone had, sorted.
  ItemNames withdraw(const KnownPlugin& plugin);

 private:
  RegisteredNames names_;
};

template <class Visit>
void each_item(const PluginFacts& facts, Visit&& visit) {
  for (const OpFacts& op : facts.ops) visit(ItemKind::Op, op.name());
  for (const ModuleFacts& module : facts.modules) visit(ItemKind::Module, module.name());
  for (const TypeFacts& type : facts.types) visit(ItemKind::Type, type.name());
  for (const ServiceFacts& one : facts.services) visit(ItemKind::Service, one.name());
}

// Whether the plugin's implementation of the op may decline a call.
bool may_decline(const KnownPlugin& plugin, ItemKind kind, std::string_view name);

}  // namespace tenon::core
