// Hashing what is there, and asking the resolver for the rest.
#include "core/plugin/present_lock.hpp"

#include <algorithm>
#include <utility>

#include "core/base/text.hpp"

namespace tenon::core {

namespace {

bool is_usable(const KnownPlugin& plugin) {
  return plugin.found.facts && plugin.state != PluginState::Failed &&
         plugin.state != PluginState::Excluded && plugin.state != PluginState::Shadowed;
}

// `all`: also plugins that are not in the lock.
LockedProviders providers_of(ItemKind kind, const Resolver& resolver, const PluginLock& lock,
                             bool all) {
  LockedProviders providers;
  for (const std::string_view name : resolver.names(kind)) {
    std::vector<std::string> ids;
    for (const ProviderLevel& level : resolver.levels(kind, name)) {
      const std::string& id = level.plugins.front()->id();
      if (level.plugins.size() > 1 || (!all && lock.find(id) == nullptr)) break;
      ids.push_back(id);
    }
    if (!ids.empty()) providers.emplace(name, join(ids, ", "));
  }
  return providers;
}

}  // namespace

PluginLock present_lock(const KnownPlugins& plugins, const Resolver& resolver,
                        const PluginLock* locked, std::vector<PluginFailure>& failures) {
  PluginLock lock;
  KnownHashes known;
  for (const KnownPlugin* one : plugins) {
    if (!is_usable(*one)) continue;
    const LockedPlugin* const approved = locked == nullptr ? nullptr : locked->find(one->id());
    if (locked != nullptr && approved == nullptr) continue;
    try {
      const SealedFile copy(one->found.path);
      LockedPlugin plugin = lock_plugin(*one->found.facts, one->found.path, copy);
      plugin.id = one->id();
      // The loader is not asked about bytes that are not approved.
      if (approved != nullptr && approved->sha256 != plugin.sha256)
        plugin.libraries = approved->libraries;
      else
        lock_libraries(plugin, copy, known);
      lock.plugins.push_back(std::move(plugin));
    } catch (const PluginError& error) {
      failures.push_back(error.failure);
      failures.back().plugin = one->id();
    }
  }
  std::ranges::sort(lock.plugins, {}, &LockedPlugin::id);
  const bool all = locked != nullptr;
  lock.ops = providers_of(ItemKind::Op, resolver, lock, all);
  lock.modules = providers_of(ItemKind::Module, resolver, lock, all);
  lock.types = providers_of(ItemKind::Type, resolver, lock, all);
  return lock;
}

}  // namespace tenon::core
