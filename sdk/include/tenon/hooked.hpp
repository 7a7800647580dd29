// Whether hooks see the calls of a module: its own, or those for all modules. A module that computes in
// one step what several of its children would asks first.
#pragma once

#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

inline bool runs_hooks(const Module& module) {
  return service::modules().has_hooks(module.handle()) != 0;
}

TENON_NAMESPACE_END
