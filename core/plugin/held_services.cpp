// Asking the host, alike for its own services and for those of plugins.
#include "core/plugin/held_services.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
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
    PluginFailure failure = make_failure(
        PluginStage::Version, facts.id, path,
        format_text("it uses a newer service {} than this Tenon has", quote(use.service)),
        "update Tenon, or build the plugin for the older version of the service");
    failure.expected = format_text("version {} or older", version);
    failure.found = format_text("version {}", use.version);
    return failure;
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

}  // namespace tenon::core
