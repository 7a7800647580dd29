// Services of plugins: their providers are loaded at the first need, and held by leases.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/held_services.hpp"
#include "core/plugin/plugin_session.hpp"

namespace tenon::core {

namespace {

Error too_new(std::string_view name, uint32_t version, const KnownPlugin& provider,
              uint32_t provided) {
  return Error(TENON_ERROR_PLUGIN,
               "version {} of service {} is needed, and plugin {} provides version {}; update the "
               "plugin that provides it",
               version, quote(name), provider.text(), provided);
}

}  // namespace

// Before the provider is opened.
void PluginManager::refuse_old_provider(std::string_view name, uint32_t version) {
  const Session session(*this);
  const ProviderLevels levels = resolver_.levels(ItemKind::Service, name);
  if (levels.empty() || levels.front().plugins.size() != 1) return;
  const KnownPlugin& provider = *levels.front().plugins.front();
  for (const ServiceFacts& one : provider.found.facts->services) {
    if (one.service == name && one.version < version)
      throw too_new(name, version, provider, one.version);
  }
}

std::unique_ptr<tenon_lease> PluginManager::lease_service(std::string_view name, uint32_t version) {
  const std::string asked_by = format_text("service {}", quote(name));
  refuse_old_provider(name, version);
  // Unloaded between the two steps, it is asked for again: then `ensure` says so.
  while (ensure(ItemKind::Service, name)) {
    Lock lock = lifecycle_.lock();
    const KnownPlugins* registered = registrations_.of(ItemKind::Service, name);
    if (registered == nullptr) continue;
    LivePlugin& provider = *lifecycle_.live(registered->front());
    const std::shared_ptr<LivePlugin> keep = provider.shared_from_this();
    lifecycle_.wait(lock, provider, asked_by);
    if (provider.state != PluginState::Active) continue;
    const tenon_plugin& table = *provider.loaded.table;
    for (int64_t i = 0; i < table.service_count; ++i) {
      const tenon_service_descriptor& one = *table.services[i];
      if (one.name != name) continue;
      if (one.table->version < version) throw too_new(name, version, provider, one.table->version);
      PluginCode* const code = provider.loaded.code;
      return std::unique_ptr<tenon_lease>(
          new tenon_lease{std::string(name), one.table, code, CodeLease(code, Holder::Service)});
    }
  }
  return nullptr;
}

std::vector<std::string> PluginManager::service_users(const PluginCode& code) {
  const Lock lock = lifecycle_.lock();
  std::vector<std::string> users;
  for (const auto& plugin : lifecycle_.plugins()) {
    if (plugin->loaded.services == nullptr) continue;
    for (const std::string& name : plugin->loaded.services->provided_by(code))
      users.push_back(
          format_text("service {} is used by plugin {}", quote(name), quote(plugin->id())));
  }
  return users;
}

}  // namespace tenon::core
