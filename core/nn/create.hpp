// Making modules: of attributes, of a document, and of another module.
#pragma once

#include <span>

#include "core/nn/module.hpp"

struct tenon_json;

namespace tenon::core {

class Registry;

// From attributes by position and name, bound like a call's arguments. Throws TypeError in Python's
// words.
ModuleRef create_module(const ModuleType& type, std::span<const tenon_value> positional,
                        std::span<const tenon_string> keywords,
                        std::span<const tenon_value> keyword_values);

// From {"type": "Linear", attribute: value, ...}, or the name of a type. An attribute that is a
// module is such a document itself; settings (module_settings.hpp) may be beside the attributes.
// Throws a ConfigError that names every fault with its place. Types and init ops are looked up in
// these tables, the process's by default.
ModuleRef create_module(const tenon_json& document, const ModuleTable& types, const Registry& ops);
ModuleRef create_module(const tenon_json& document);

// A copy with its own tensors: what is shared inside of the tree stays shared in the copy. Hooks
// run for the copy as well, which keeps them when the original loses them. Gradients are not copied.
// Throws RuntimeError that names a type which has a state and cannot copy it.
ModuleRef clone_module(tenon_module& module);

}  // namespace tenon::core
