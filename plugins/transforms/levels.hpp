// Levels of vmap that are active on a thread: slots of the service `transforms`.
#pragma once

#include <tenon/plugin.hpp>
#include <tenon/transforms/batched.hpp>

namespace tenon_transforms {

tenon_status begin_level(int64_t size, uint32_t randomness, transforms_level** level,
                         tenon_error** error);
tenon_status end_level(transforms_level* level, tenon_error** error);
transforms_level* innermost_level();

}  // namespace tenon_transforms
