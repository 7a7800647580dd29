// Words of refused changes in place, shared by the layer of checks and autograd.
#pragma once

namespace tenon::core {

inline constexpr const char* kInferenceChange =
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
    "to get a normal tensor before doing inplace update.";

}  // namespace tenon::core
