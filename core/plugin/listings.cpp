// Answers about plugins that are known, sorted for listings.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/plugin/plugin_manager.hpp"
#include "core/plugin/resolve/plugin_documents.hpp"

namespace tenon::core {

std::vector<PluginListing> PluginManager::list() {
  retirement_.sweep();
  const Session session(*this);
  std::vector<PluginListing> listings;
  for (const auto& plugin : lifecycle_.plugins()) {
    PluginListing listing;
    listing.id = plugin->id();
    if (plugin->found.facts) listing.version = plugin->found.facts->version;
    listing.path = plugin->found.path;
    listing.origin = plugin->found.origin;
    listing.state = plugin->state;
    listing.reason = plugin->reason;
    listing.failure = plugin->failure;
    listing.facts = plugin->found.facts;
    listing.generation = plugin->generation;
    if (plugin->loaded.code != nullptr) listing.holders = plugin->loaded.code->holders();
    listings.push_back(std::move(listing));
  }
  std::sort(listings.begin(), listings.end(), [](const PluginListing& a, const PluginListing& b) {
    return std::tie(a.id, a.path) < std::tie(b.id, b.path);
  });
  return listings;
}

std::vector<ProviderListing> PluginManager::providers(ItemKind kind, std::string_view name) {
  const Session session(*this);
  std::vector<ProviderListing> listings;
  const KnownPlugins* declaring = resolver_.declaring(kind, name);
  if (declaring == nullptr) return listings;
  for (const KnownPlugin* plugin : *declaring) {
    ProviderListing listing;
    listing.plugin = plugin->id();
    listing.standing = resolver_.standing(*plugin, kind, name, &listing.reason);
    listing.may_decline = may_decline(*plugin, kind, name);
    listings.push_back(std::move(listing));
  }
  std::ranges::sort(listings, {}, &ProviderListing::plugin);
  return listings;
}

std::vector<std::string> PluginManager::declared_names(ItemKind kind) {
  const Session session(*this);
  const std::vector<std::string_view> declared = resolver_.names(kind);
  std::vector<std::string> names(declared.begin(), declared.end());
  std::sort(names.begin(), names.end());
  return names;
}

std::string PluginManager::preferred(std::string_view op, std::string_view key,
                                     const std::string& a, const std::string& b) {
  const Lock lock = lifecycle_.lock();
  const KnownPlugins known = lifecycle_.known();
  KnownPlugins candidates;
  for (const std::string* id : {&a, &b}) {
    if (const KnownPlugin* plugin = find_id(known, *id)) candidates.push_back(plugin);
  }
  const KnownPlugin* plugin =
      candidates.size() < 2 ? nullptr : resolver_.ranked_override({op, key}, candidates);
  return plugin == nullptr ? "" : plugin->id();
}

bool PluginManager::strict() {
  const Lock lock = lifecycle_.lock();
  return policies_.is_strict();
}

std::vector<SearchFolder> PluginManager::folders() {
  const Session session(*this);
  return catalogue_.folders();
}

Json PluginManager::loadable() {
  const Session session(*this);
  return loadable_document(lifecycle_.known(), resolver_);
}

}  // namespace tenon::core
