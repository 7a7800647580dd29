// Whether hooks see the calls of a module: its own, or those for all modules. A module that computes in
// one step what several of its children would asks first.
#pragma once

#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

inline bool runs_hooks(const Module& module) {
  int64_t count = 0;
  detail::check(host().module_walk, module.handle(), TENON_WALK_HOOKS, int32_t{0}, &count,
                static_cast<tenon_value*>(nullptr), static_cast<tenon_value*>(nullptr));
  return count != 0;
}

TENON_NAMESPACE_END
