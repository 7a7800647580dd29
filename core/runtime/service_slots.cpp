// Services by name: the host's own, and those of plugins.
#include <memory>
#include <string_view>

#include "core/base/text.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

const tenon_service& require_host_service(std::string_view name, uint32_t version) {
  const tenon_service* service = find_host_service(name);
  if (service == nullptr) {
    static constexpr std::string_view names[] = {
#define TENON_SERVICE_NAME(one, ONE) "tenon." #one,
        TENON_SERVICES(TENON_SERVICE_NAME)
#undef TENON_SERVICE_NAME
    };
    throw Error(TENON_ERROR_PLUGIN,
                "this Tenon has no service {}{}; correct the name, or update Tenon", quote(name),
                suggestion(name, Words(std::begin(names), std::end(names))));
  }
  if (service->version >= version) return *service;
  throw Error(TENON_ERROR_PLUGIN,
              "version {} of service {} is needed, and this Tenon has version {}; update Tenon",
              version, quote(name), service->version);
}

}  // namespace

tenon_status ask_service(const char* name, uint32_t version, const void** table,
                         tenon_lease** lease, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(name, "the name of a service");
    require_not_null(table, "the place for a table");
    *table = nullptr;
    if (lease != nullptr) *lease = nullptr;
    if (is_host_service(name)) {
      *table = &require_host_service(name, version);
      return;
    }
    PluginManager& manager = plugin_manager();
    std::unique_ptr<tenon_lease> held = manager.lease_service(name, version);
    if (held == nullptr) throw_unknown(manager, ItemKind::Service, name);
    *table = held->table;
    tenon_lease* const kept = held.release();  // without a place for it: as long as the process
    if (lease != nullptr) *lease = kept;
  });
}

void release_service(tenon_lease* lease) { delete lease; }

}  // namespace tenon::core
