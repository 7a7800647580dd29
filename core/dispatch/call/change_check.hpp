// What a call may not change in place: read-only tensors, and those of inference mode.
#pragma once

#include "core/dispatch/call/layer.hpp"

namespace tenon::core {

inline constexpr const char* kInferenceChange =
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
    "to get a normal tensor before doing inplace update.";

// Throws RuntimeError or InplaceError when the call changes such an operand.
void check_changes(const Call& call);

}  // namespace tenon::core
