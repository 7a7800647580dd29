// Asking the host, alike for its own services and for those of plugins.
#include "core/plugin/load/services.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "tenon/abi/host.h"

namespace tenon::core {

std::optional<PluginFailure> judge_services(const tenon_host& host, const PluginFacts& facts,
                                            const std::string& path) {
  for (const ServiceUse& use : facts.uses) {
    if (!is_host_service(use.service)) continue;
    const void* table = nullptr;
    const tenon_status status = host.service(use.service.c_str(), 1, &table, nullptr, nullptr);
    if (status != TENON_OK) {
      return make_failure(
          PluginStage::Version, facts.id, path,
          format_text("it uses service {}, which this Tenon does not have", quote(use.service)),
          "update Tenon, or build the plugin with the SDK of this one");
    }
    const uint32_t version = static_cast<const tenon_service*>(table)->version;
    if (version >= use.version) continue;
    return make_failure(
        PluginStage::Version, facts.id, path,
        format_text("it uses a newer service {} than this Tenon has", quote(use.service)),
        "update Tenon, or build the plugin for the older version of the service",
        format_text("version {} or older", version), format_text("version {}", use.version));
  }
  return std::nullopt;
}

HeldServices::HeldServices(const tenon_host& host, const PluginFacts& facts,
                           const std::string& path)
    : host_(host) {
  if (auto failure = judge_services(host, facts, path)) throw PluginError(std::move(*failure));
  held_.reserve(facts.uses.size());
  for (const ServiceUse& use : facts.uses) {
    Held& held = held_.emplace_back(Held{use.service});
    tenon_error* error = nullptr;
    const tenon_status status =
        host.service(use.service.c_str(), use.version, &held.table, &held.lease, &error);
    if (status == TENON_OK) continue;
    release();
    try {
      throw_status(status, error);
    } catch (Error& cause) {
      PluginError failure(
          make_failure(PluginStage::Open, facts.id, path,
                       format_text("service {}, which it uses, is not available: {}",
                                   quote(use.service), cause.message),
                       "install or repair the plugin that provides it"));
      failure.cause = std::make_shared<const tenon_error>(tenon_error{std::move(cause)});
      throw failure;
    }
  }
}

HeldServices::~HeldServices() { release(); }

void HeldServices::release() const noexcept {
  for (const Held& held : held_) host_.service_release(held.lease);
}

void HeldServices::fill(const tenon_plugin& plugin) const {
  for (int64_t i = 0; i < plugin.use_count; ++i) {
    const tenon_use& use = *plugin.uses[i];
    const auto held = std::ranges::find(held_, std::string_view(use.name), &Held::service);
    *use.table = held->table;
  }
}

std::vector<std::string> HeldServices::provided_by(const PluginCode& code) const {
  std::vector<std::string> names;
  for (const Held& held : held_) {
    if (held.lease != nullptr && held.lease->provider == &code) names.push_back(held.service);
  }
  return names;
}

// ---- services of plugins ----

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
