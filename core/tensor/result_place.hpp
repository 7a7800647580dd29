// The place that a prepared call has for its result.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Tensor that the next make_empty of its dtype and shape returns: owned until then, or null.
extern constinit thread_local Tensor* result_place [[gnu::tls_model("initial-exec")]];

}  // namespace tenon::core
