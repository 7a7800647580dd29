// What the process's runtime is put together from: the layers of a call, in order; what is above
// dispatch and asked by it; the tables, and the plugins that fill them. Each of these can be
// constructed apart from the process's, as tests do.
#include "core/autograd/record/record.hpp"
#include "core/autograd/typed/component_history.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/dispatch/call/higher_areas.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/types/plan_cache.hpp"
#include "core/nn/module.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/table_registrar.hpp"

namespace tenon::core {

constinit const std::array<Layer, kLayerCount> layers{{
    {LayerId::trace, run_traced},
    {LayerId::mode, run_modes},
    {LayerId::typed, run_typed},
    {LayerId::provider, run_provider},
    {LayerId::checks, run_checks},
    {LayerId::shapes, run_shapes},
    {LayerId::half, run_half},
    {LayerId::autograd, run_recorded},
    {LayerId::mode_below, run_modes_below},
    {LayerId::kernel, run_kernel},
}};

constinit const HigherAreas higher_areas{
    share_with_history,
    connect_conversion,
    connect_tangent,
    connect_same_data,
    refresh_components,
    has_held_history,
    refuse_hidden_history,
    refuse_lost_gradient,
    [](tenon_module* module) noexcept { module->release(); },
};

// ---- the process's instances: they outlive every static destructor ----

Registry& Registry::process() {
  static auto* const registry = new Registry;
  return *registry;
}

TypeTable& TypeTable::process() {
  static auto* const table = new TypeTable;
  return *table;
}

PlanCache& PlanCache::process() {
  static auto* const cache = new PlanCache(TypeTable::process());
  return *cache;
}

ModuleTable& ModuleTable::process() {
  static auto* const table = new ModuleTable;
  return *table;
}

Tables process_tables() {
  return {Registry::process(), TypeTable::process(), ModuleTable::process(), &PlanCache::process()};
}

PluginManager& plugin_manager() {
  static PluginManager* const manager = [] {
    auto* registrar = new TableRegistrar(process_tables());
    auto* made = new PluginManager(host_table(), *registrar);
    registrar->connect(*made);
    return made;
  }();
  return *manager;
}

Runtime process_runtime() { return {process_tables(), plugin_manager()}; }

}  // namespace tenon::core
