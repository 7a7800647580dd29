// The process's runtime: one of each, in the order of their identifiers.
#include "core/autograd/typed/component_history.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/types/plan.hpp"
#include "core/runtime/runtime.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("runtime/assembly") {
  TEST_CASE("the layers are in the order of their identifiers, the kernel last") {
    for (size_t i = 0; i < layers.size(); ++i) {
      CHECK(static_cast<size_t>(layers[i].id) == i);
      CHECK((layers[i].run != nullptr));
    }
    CHECK(layers.back().id == LayerId::kernel);
    CHECK(layer_flags(LayerId::kernel) == kKernelFlag);
  }

  TEST_CASE("each layer but the kernel is led into by its own flags, which make a call special") {
    uint32_t all = 0;
    for (size_t i = 0; i + 1 < layers.size(); ++i) {
      // Types are asked in one of two places.
      if (layers[i].id == LayerId::own_memory) {
        CHECK(layer_flags(LayerId::own_memory) == layer_flags(LayerId::typed));
        continue;
      }
      CHECK((all & layer_flags(layers[i].id)) == 0);
      all |= layer_flags(layers[i].id);
    }
    CHECK(all == kSpecialFlags);
    CHECK((all & kKernelFlag) == 0);
  }

  TEST_CASE("there is one table of each kind, and a tensor type that is shared") {
    CHECK(&Registry::process() == &Registry::process());
    CHECK(&PlanCache::process() == &PlanCache::process());
    const Tables tables = process_tables();
    CHECK(&tables.ops == &Registry::process());
    CHECK(&tables.types == &TypeTable::process());
    CHECK(&tables.modules == &ModuleTable::process());
    CHECK(TypeTable::process().at(0).is_plain());
  }

  TEST_CASE("the areas above dispatch answer all that it asks") {
    CHECK((higher_areas.share_with_history != nullptr));
    CHECK((higher_areas.connect_conversion != nullptr));
    CHECK((higher_areas.connect_tangent != nullptr));
    CHECK((higher_areas.connect_same_data != nullptr));
    CHECK((higher_areas.refresh_components == refresh_components));
    CHECK((higher_areas.has_held_history == has_held_history));
    CHECK((higher_areas.refuse_hidden_history != nullptr));
    CHECK((higher_areas.refuse_lost_gradient != nullptr));
    CHECK((higher_areas.release_module != nullptr));
  }
}
