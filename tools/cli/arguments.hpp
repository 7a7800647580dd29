// The arguments of the program. CLI11 has its one home in arguments.cpp.
#pragma once

#include <functional>

#include "program.hpp"

namespace cli {

struct Invocation {
  SessionOptions session;
  std::function<int()> command;
};

// Throws UsageError. Without a command the answer was printed already: help, or the version.
Invocation parse_arguments(int count, const char* const* arguments);

}  // namespace cli
