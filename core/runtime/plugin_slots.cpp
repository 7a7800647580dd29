// Service plugins, and the slots of service documents that make raw documents.
#include "core/autograd/graph/leak_tracking.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/plugin/resolve/policy.hpp"
#include "core/runtime/documents.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

constinit const tenon_plugins_service plugins_service{
    .head = {},
    .path_add = slot([](const char* folder) { plugin_manager().add_search_path(folder); }),
    .load = slot([](const char* id_or_path) { plugin_manager().load(id_or_path); }),
    .unload = slot([](const char* id, uint32_t choice, int64_t timeout_ms, tenon_json** report) {
      require_not_null(id, "the id of the plugin");
      if (choice > TENON_UNLOAD_FORCE)
        throw Error(
            TENON_ERROR_ARGUMENT,
            "cannot unload plugin '{}': the choice is {}, expected {} to {} (TENON_UNLOAD_...)", id,
            choice, TENON_UNLOAD_REFUSE, TENON_UNLOAD_FORCE);
      const RetiredPlugin retired =
          plugin_manager().unload(id, static_cast<UnloadChoice>(choice), timeout_ms);
      if (report != nullptr) *report = retired_document(retired).give();
    }),
    .reload = slot([](const char* id_or_path, uint64_t* generation) {
      require_not_null(id_or_path, "the id of the plugin");
      const uint64_t loaded = plugin_manager().reload(id_or_path);
      if (generation != nullptr) *generation = loaded;
    }),
    .policy_apply = slot([](const tenon_json* policy, uint32_t flags) {
      require_not_null(policy, "the policy");
      if ((flags & ~static_cast<uint32_t>(TENON_POLICY_LAZY)) != 0)
        throw Error(TENON_ERROR_ARGUMENT,
                    "cannot apply a policy: the flags are {}, expected {} or 0", flags,
                    TENON_POLICY_LAZY);
      plugin_manager().apply(policy_of(*policy, (flags & TENON_POLICY_LAZY) != 0));
    }),
};

namespace {

Json raw_document(uint32_t which) {
  switch (which) {
    case TENON_DOCUMENT_RUNTIME:
      return runtime_document(plugin_manager());
    case TENON_DOCUMENT_PLUGINS:
      return plugins_document(plugin_manager());
    case TENON_DOCUMENT_FACTS:
      return facts_document(plugin_manager());
    case TENON_DOCUMENT_REGISTRATIONS:
      return registrations_document(process_runtime());
    case TENON_DOCUMENT_LIVE:
      return describe_live();
    case TENON_DOCUMENT_LOADABLE:
      return plugin_manager().loadable();
    default:
      throw Error(TENON_ERROR_ARGUMENT,
                  "document {} is unknown; expected {} to {} (TENON_DOCUMENT_...)", which,
                  TENON_DOCUMENT_RUNTIME, TENON_DOCUMENT_LOADABLE);
  }
}

}  // namespace

void add_document_slots(Services& services) {
  services.documents.document = slot([](uint32_t which) {
    plugin_manager().retired();  // lets go what can go, which within a call nothing can
    const OuterCall running;     // reads implementations
    return raw_document(which);
  });
  services.documents.facts_read = slot([](const char* path) {
    require_not_null(path, "the path of the plugin");
    const OuterCall running;
    return facts_document(std::string(path));
  });
  services.documents.providers = slot([](uint32_t kind, const char* name) {
    require_not_null(name, "the name");
    if (kind >= kItemKinds)
      throw Error(TENON_ERROR_ARGUMENT,
                  "items of kind {} are unknown; expected {} to {} (TENON_ITEM_...)", kind,
                  TENON_ITEM_OP, TENON_ITEM_TYPE);
    const OuterCall running;
    return providers_document(process_runtime(), static_cast<ItemKind>(kind), name);
  });
  services.documents.schema_parse = slot([](const char* schema, int64_t length) {
    return schema_document({schema, static_cast<size_t>(length)});
  });
}

}  // namespace tenon::core
