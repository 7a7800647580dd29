// Memory of the tensors that a model keeps for its backward, with and without "recompute".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

struct BackwardMemory {                 // bytes that a backward needs
  int64_t peak_bytes = 0;               // bytes that are kept at the same time, at most
  int64_t kept_bytes = 0;               // the same, if every activation was kept
  std::vector<std::string> recomputed;  // layers whose activations are computed again: "recompute"
};

// Measured by one forward with these inputs, which runs the model in the mode that it is in and draws no numbers
// of the process's generator. Parameters, buffers and inputs are there anyhow and do not count. The peak is that of
// the layer that is computed again and keeps the most, beside all that is kept outside of it and the inputs
// of the others. Calling thread. Throws what the model throws.
BackwardMemory backward_memory(const Module& model, const std::vector<Tensor>& inputs);

}  // namespace training

TENON_NAMESPACE_END
