// Service plugins: folders, loads, unloads, reloads and policies.
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
      require_flags("plugins.policy_apply", flags, TENON_POLICY_LAZY);
      plugin_manager().apply(policy_of(*policy, (flags & TENON_POLICY_LAZY) != 0));
    }),
};

}  // namespace tenon::core
