// The printed form of one module.
#pragma once

#include <string>

#include "core/nn/module.hpp"

namespace tenon::core {

// Linear(in_features=1, out_features=1, bias=True): its type and what its type prints of it, without
// its children.
std::string module_text(tenon_module& module);

}  // namespace tenon::core
