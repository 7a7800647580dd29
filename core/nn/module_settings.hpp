// Settings of a module in a document, beside its attributes:
//
//   "init": {"*.weight": "nn.init.xavier_uniform_", "bias": {"type": "nn.init.constant_", "val": 0}}
//   "load": {"file": "encoder.safetensors", "prefix": "encoder.", "strict": true}
//   "dtype": "bfloat16"
//   "frozen": true
//
// They hold for the module and all below it, and are applied in this order; those of an inner module
// before those of the outer. An attribute of the same name takes precedence.
#pragma once

#include "core/nn/module.hpp"

struct tenon_json;

namespace tenon::core {

class Registry;

// Whether a key of a document of this type is a setting.
bool is_module_setting(const ModuleType& type, std::string_view key);

// The settings of a document, in the order in which they are applied.
std::vector<const tenon_json*> module_settings(const ModuleType& type, const tenon_json& document);

// Applies one, with the init ops of this table. Where shapes alone are computed, files are mapped
// instead of read. Throws what is wrong with it, without its place.
void apply_module_setting(tenon_module& module, const tenon_json& setting, const Registry& ops);

}  // namespace tenon::core
