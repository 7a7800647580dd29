// Making modules: of attributes, of a document, and of another module.
#pragma once

#include <span>

#include "core/nn/module.hpp"
#include "tenon/abi/module.h"

struct tenon_json;

namespace tenon::core {

// From attributes by position and name, bound like a call's arguments. Throws TypeError in Python's
// words.
ModuleRef create_module(const ModuleType& type, std::span<const tenon_value> positional,
                        std::span<const tenon_string> keywords,
                        std::span<const tenon_value> keyword_values);

// From {"type": "Linear", attribute: value, ...}, or the name of a type. An attribute that is a
// module is such a document itself; `settings` may be beside the attributes, those of the creation
// that runs on this thread where it is null. Throws a ConfigError that names every fault with its
// place.
ModuleRef create_module(const tenon_json& document, const tenon_module_settings* settings,
                        const ModuleTable& types = ModuleTable::process());

// A copy with its own tensors: what is shared inside of the tree stays shared in the copy. Hooks
// run for the copy as well, which keeps them when the original loses them. Gradients are not copied.
// Throws RuntimeError that names a type which has a state and cannot copy it.
ModuleRef clone_module(tenon_module& module);

}  // namespace tenon::core
