// Module state: the tensors that a module is saved as and loaded from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/nn/module.hpp"
#include "core/tensor/file.hpp"

namespace tenon::core {

// Differences that a load without `strict` accepted: names that the state lacks, and names that the
// module lacks.
struct LoadReport {
  std::vector<std::string> missing, unexpected;
};

// Parameters and persistent buffers under each of their names, shared ones too. The module's own
// tensors, not copies.
std::vector<NamedTensor> module_state(tenon_module& module);
// `flags`: TENON_LOAD_ bits. Copies values into the module's tensors, or with ASSIGN makes their
// memory that of the module's tensors where dtype and type are the same. STRICT: a missing or
// unexpected key is an error; a size that differs always is. Nothing is loaded then.
LoadReport load_state(tenon_module& module, std::span<const NamedTensor> state, uint32_t flags);

void save_module(tenon_module& module, const std::string& path, FileMetadata metadata = {});
// With ASSIGN the file is mapped, not read. Of the file what begins with `prefix`, without it; throws
// ValueError where nothing does.
LoadReport load_module(tenon_module& module, const std::string& path, uint32_t flags,
                       const std::string& prefix = "");

}  // namespace tenon::core
