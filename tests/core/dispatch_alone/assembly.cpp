// The definitions of runtime/assembly.cpp for a program whose last area is dispatch: the layers of
// a call, a stand-in for the areas above, and the process's tables.
#include "tests/core/dispatch_alone/assembly.hpp"

#include "core/dispatch/call/higher_areas.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/dispatch/types/plan_cache.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

int64_t test::calls_to_record = 0;

namespace {

tenon_status count_call(Call& call) noexcept {
  ++test::calls_to_record;
  return next<LayerId::autograd>(call);
}

}  // namespace

constinit const std::array<Layer, kLayerCount> layers{{
    {LayerId::trace, run_traced},
    {LayerId::mode, run_modes},
    {LayerId::typed, run_typed},
    {LayerId::provider, run_provider},
    {LayerId::checks, run_checks},
    {LayerId::shapes, run_shapes},
    {LayerId::half, run_half},
    {LayerId::autograd, count_call},
    {LayerId::mode_below, run_modes_below},
    {LayerId::kernel, run_kernel},
}};

// No tensor of this program has a history or a tangent that could be lost, and there are no modules.
constinit const HigherAreas higher_areas{
    .share_with_history = [](Tensor& tensor) { return make_detached(tensor); },
    .connect_conversion = [](TensorRef result, Tensor&, const char*) { return result; },
    .connect_tangent = [](TensorRef result, Tensor&) { return result; },
    .connect_same_data = [](TensorRef result, Tensor&, const TensorType&) { return result; },
    .refresh_components = [](Tensor&) -> uint32_t { return 0; },
    .has_held_history = [](const Tensor&) { return false; },
    .refuse_hidden_history = [](const CallFrame&, const Override&) {},
    .refuse_lost_gradient = [](const CallFrame&, tenon_value*) {},
    .release_module = [](tenon_module*) noexcept {},
};

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

}  // namespace tenon::core
