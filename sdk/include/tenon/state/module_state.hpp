// States of modules in memory: the tensors that a module is saved as, and loading them.
#pragma once

#include <string>
#include <vector>

#include <tenon/module.hpp>
#include <tenon/state/tensor_file.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// Differences that a load without `strict` accepted: names that the state lacks, and names that the
// module does not know.
struct LoadReport {
  std::vector<std::string> missing, unexpected;  // names of tensors
};

// Parameters and persistent buffers under each of their names; the module's own, not copies. Runs the
// hooks around saving, which may change the list.
NamedTensors state_of(const Module& module);

// Copies values in. Strict: RuntimeError that lists missing and unexpected names, with the prefix or the
// names that may be meant, and sizes that differ; else the sizes alone. All or nothing. `assign`: tensors
// of the module's dtypes are not copied, the module's tensors share their memory. Runs the hooks around
// loading. Files: module_file.hpp.
LoadReport load_state(const Module& module, const NamedTensors& state, bool strict = true,
                      bool assign = false);

}  // namespace state

TENON_NAMESPACE_END
