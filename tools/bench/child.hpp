// Starts processes and times them.
#pragma once

#include <string>
#include <vector>

namespace bench {

struct ChildResult {
  double seconds = 0;  // from the start to the end of the process
  std::string output;
};
// Runs a program with `environment` ("NAME=value") beside the inherited one; PATH is not searched.
// Throws std::runtime_error when it fails.
ChildResult run_child(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment = {});

// The time that a program measures and prints in nanoseconds, in seconds.
double timed_child(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment = {});

}  // namespace bench
