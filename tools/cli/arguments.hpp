// The arguments of the program. CLI11 has its one home in arguments.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cli {

struct Invocation {
  std::vector<std::string> plugin_paths;
  std::vector<std::string> trusted;  // paths that others may be able to change
  bool no_autoload = false;
  int threads = 0;  // 0: not asked for
  std::function<int()> command;
};

// Throws UsageError. Without a command the answer was printed already: help, or the version.
Invocation parse_arguments(int count, const char* const* arguments);

}  // namespace cli
