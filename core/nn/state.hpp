// Module state: the tensors that a module is saved as and loaded from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/nn/module.hpp"
#include "core/tensor/named_tensor.hpp"

struct tenon_json;

namespace tenon::core {

// Differences that a load without `strict` accepted: names that the state lacks, and names that the
// module lacks.
struct LoadReport {
  std::vector<std::string> missing, unexpected;
};

// Parameters and persistent buffers under each of their names, shared ones too. The module's own
// tensors, not copies.
std::vector<NamedTensor> module_state(tenon_module& module);
// Source of the tensors of a load. `metadata` says what StoredTensors has made of objects; null:
// the tensors themselves do.
struct StateSource {
  std::span<const NamedTensor> tensors;
  const tenon_json* metadata = nullptr;
  std::string file;  // for messages; empty: memory
};

// `flags`: TENON_LOAD_ bits. Copies values into the module's tensors, or with ASSIGN makes their
// memory that of the module's tensors where dtype and type are the same. STRICT: a missing or
// unexpected key is an error; a size or type that differs always is. Nothing is loaded then.
LoadReport load_state(tenon_module& module, const StateSource& source, uint32_t flags);

}  // namespace tenon::core
