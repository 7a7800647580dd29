// Exit codes of the programs, and the error of wrong usage.
#pragma once

#include <stdexcept>

namespace cli {

inline constexpr int kFine = 0, kFault = 1, kUsage = 2, kOutOfStep = 75, kInterrupted = 130;

// Wrong usage, as opposed to a fault that was found: the program ends with kUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace cli
