// The transforms plugin: the tensor type of vmap, and the levels that are active.
#include <tenon/plugin.hpp>
#include <tenon/service.hpp>
#include <tenon/type_definition.hpp>

#include "transforms/last_run.hpp"
#include "transforms/levels.hpp"

namespace {

struct Transforms {
  static constexpr const char* name = "transforms";
  static constexpr const char* doc = "Levels of vmap.";
  static constexpr transforms_service table{{sizeof(transforms_service), 2},
                                            tenon_transforms::begin_level,
                                            tenon_transforms::end_level,
                                            tenon_transforms::innermost_level,
                                            tenon_transforms::take_last_run};
};

}  // namespace

using tenon::transforms::Batched;
TENON_TYPE(Batched)
TENON_SERVICE(Transforms)

TENON_PLUGIN(transforms, "1.0.0")
