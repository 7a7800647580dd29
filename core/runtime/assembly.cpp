// Assembly of the process's runtime: the layers of a call, in order; functions above dispatch that
// it calls; the tables, and the plugins that fill them. Each of these can be constructed apart from
// the process's, as tests do.
#include "core/autograd/typed/component_history.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/types/plan.hpp"
#include "core/kernel/elementwise.hpp"
#include "core/nn/module.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/table_registrar.hpp"

namespace tenon::core {

#define TENON_LAYER(id, flags, run, explain) {LayerId::id, run, explain},
constinit const std::array<Layer, kLayerCount> layers{{TENON_LAYERS(TENON_LAYER)}};
#undef TENON_LAYER

constinit const HigherAreas higher_areas{
    prepare_elementwise,
    choose_kernel,
    share_with_history,
    connect_conversion,
    connect_tangent,
    connect_same_data,
    refresh_components,
    has_held_history,
    refuse_hidden_history,
    refuse_lost_gradient,
    [](tenon_module* module) noexcept { module->release(); },
    run_elementwise_into,
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

void index_plugins() { plugin_manager().index(); }

Runtime process_runtime() { return {process_tables(), plugin_manager()}; }

}  // namespace tenon::core
