// How modules are printed.
#pragma once

#include <string>

#include "core/nn/module.hpp"

namespace tenon::core {

// Linear(in_features=1, out_features=1, bias=True); children indented by two spaces.
std::string module_text(tenon_module& module);

}  // namespace tenon::core
