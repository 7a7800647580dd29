// Definitions of runtime/assembly.cpp for a program whose last area is dispatch: the layers of a
// call, stand-ins for the areas above, and the process's tables.
#include "tests/core/dispatch_alone/assembly.hpp"

#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/dispatch/types/plan.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

int64_t test::calls_to_record = 0;

// Stand-ins of the layers that kernel and autograd define.
tenon_status run_shapes(Call& call) noexcept { return next<LayerId::shapes>(call); }
tenon_status run_half(Call& call) noexcept { return next<LayerId::half>(call); }
tenon_status run_recorded(Call& call) noexcept {
  ++test::calls_to_record;
  return next<LayerId::autograd>(call);
}
void explain_recorded(Explanation&) {}

#define TENON_LAYER(id, flags, run, explain) {LayerId::id, run, explain},
constinit const std::array<Layer, kLayerCount> layers{{TENON_LAYERS(TENON_LAYER)}};
#undef TENON_LAYER

// No tensor of this program has a history or a tangent that could be lost, and there are no modules.
constinit const HigherAreas higher_areas{
    .prepare_elementwise = [](Implementation&) {},
    .choose_kernel = [](const Implementation&, const tenon_value*) { return KernelChoice{}; },
    .share_with_history = [](Tensor& tensor) { return make_detached(tensor); },
    .connect_conversion = [](TensorRef result, Tensor&, const char*) { return result; },
    .connect_tangent = [](TensorRef result, Tensor&) { return result; },
    .connect_same_data = [](TensorRef result, Tensor&, const TensorType&) { return result; },
    .refresh_components = [](Tensor&) -> uint32_t { return 0; },
    .has_held_history = [](const Tensor&) { return false; },
    .refuse_hidden_history = [](const CallFrame&, const Override&) {},
    .refuse_lost_gradient = [](const CallFrame&, tenon_value*) {},
    .release_module = [](tenon_module*) noexcept {},
    .run_elementwise_into = [](const Implementation&, const tenon_value*, Tensor&,
                               tenon_error**) noexcept -> tenon_status { return TENON_OK; },
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
