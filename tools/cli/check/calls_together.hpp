// Several threads that call with different inputs at once.
#pragma once

#include <string>
#include <vector>

#include "sample.hpp"

namespace cli {

inline constexpr size_t kCallers = 4;

// One thread: what it calls, and with what.
struct Caller {
  SampleCall call;
  std::vector<tenon::Tensor> tensors;
};

// What differs between calls alone and calls at once, `rounds` on each thread, by results and, with
// `differentiate`, gradients of the operands; empty: nothing, or some of the inputs are refused.
std::string difference_together(const std::vector<Caller>& callers, int rounds, bool differentiate);

}  // namespace cli
