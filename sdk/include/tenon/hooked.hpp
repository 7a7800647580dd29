// Whether hooks see the calls of a module: its own, or those for all modules. A module that computes in
// one step what several of its children would asks first.
#pragma once

#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

inline bool runs_hooks(const Module& module) {  // whether a call of it runs hooks
  constexpr uint32_t of_calls = 1u << TENON_HOOK_FORWARD_PRE | 1u << TENON_HOOK_FORWARD |
                                1u << TENON_HOOK_BACKWARD_PRE | 1u << TENON_HOOK_BACKWARD;
  return service::modules().has_hooks(module.handle(), of_calls) != 0;
}

TENON_NAMESPACE_END
