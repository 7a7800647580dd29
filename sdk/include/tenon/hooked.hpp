// Whether hooks or a watch see the calls of a module. A module that computes in one step what several of its
// children would asks first.
#pragma once

#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

// Whether a call of it runs hooks: its own, or those for all modules.
inline bool runs_hooks(const Module& module) {
  constexpr uint32_t of_calls = 1u << TENON_HOOK_FORWARD_PRE | 1u << TENON_HOOK_FORWARD |
                                1u << TENON_HOOK_BACKWARD_PRE | 1u << TENON_HOOK_BACKWARD;
  return service::modules().has_hooks(module.handle(), of_calls) != 0;
}

// Whether hooks or a watch of this thread (module_watch.hpp) see a call of it.
inline bool is_watched(const Module& module) {
  return service::modes().watches() > 0 || runs_hooks(module);
}

TENON_NAMESPACE_END
