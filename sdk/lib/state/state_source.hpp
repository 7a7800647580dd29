// A state that a module is loaded from, of a file or of memory, as objects.hpp stores them.
#pragma once

#include <string>

#include <tenon/state/module_state.hpp>

#include "file_header.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

struct StateSource {
  NamedTensors tensors;
  Metadata metadata;  // about tensors of other types
  std::string file;   // for messages; empty: memory
};

// load_state of module_state.hpp, of any source.
LoadReport load_source(const Module& module, StateSource source, bool strict, bool assign);

}  // namespace state

TENON_NAMESPACE_END
