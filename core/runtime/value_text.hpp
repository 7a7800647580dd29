// Values as they are printed: Python's words for what crosses the boundary.
#pragma once

#include <string>

#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// None, True, 2, 0.4, 'text', float32, tensor(1.), [1, 2].
std::string value_text(const tenon_value& value);

// A tensor by the text form of its type; else as the host prints it. Never re-enters dispatch: what
// a type's text calls sees plain tensors, unrecorded.
std::string typed_text(const Tensor* tensor);

}  // namespace tenon::core
