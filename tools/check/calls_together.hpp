// Several threads that call with different inputs at once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sample.hpp"

namespace cli {

inline constexpr size_t kCallers = 4;

// Runs `once` many times on each of several threads, which begin together, and gives it the number of
// the thread. The first breach that it returns, or the error that it throws; empty: none.
std::string breach_together(size_t threads, int rounds,
                            const std::function<std::string(size_t)>& once);

// One thread: what it calls, and with what.
struct Caller {
  SampleCall call;
  std::vector<tenon::Tensor> tensors;
};

// The difference between calls alone and calls at once, `rounds` on each thread, by results and,
// with `differentiate`, gradients of the operands; empty: nothing, or some of the inputs are
// refused.
std::string difference_together(const std::vector<Caller>& callers, int rounds, bool differentiate);

}  // namespace cli
