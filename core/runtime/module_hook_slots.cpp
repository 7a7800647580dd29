// The host's slot on hooks of modules.
#include <memory>
#include <utility>

#include "core/nn/hooks.hpp"
#include "core/nn/module.hpp"
#include "core/runtime/add_hook.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

tenon_status module_add_hook(tenon_module* module, int32_t kind, uint32_t flags,
                             tenon_module_hook_function function, void* state,
                             void (*destroy)(void* state), tenon_hook** hook, tenon_error** error) {
  return add_hook(function, state, destroy, hook, error, [&](std::shared_ptr<ModuleHookBody> body) {
    ModuleHooks& hooks = module == nullptr ? ModuleHooks::of_all() : module->hooks.make();
    return hooks.add(kind, flags, std::move(body));
  });
}

}  // namespace

void add_module_hook_slots(Services& services) { services.modules.add_hook = module_add_hook; }

}  // namespace tenon::core
