// Processes that are run and timed.
#include "child.hpp"

#include <stdexcept>

#include <tenon/trust/child_process.hpp>

#include "bench.hpp"

namespace bench {

ChildResult run_child(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment) {
  tenon::trust::ChildCommand started;
  started.program = command[0];
  started.arguments = command;
  started.environment = environment;
  ChildResult result;
  const Stopwatch watch;
  tenon::trust::ChildProcess child(started);
  child.wait();
  result.seconds = watch.seconds();
  result.output = child.output();
  if (child.status() != 0) throw std::runtime_error("'" + command[0] + "' failed");
  return result;
}

double timed_child(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment) {
  return std::stod(run_child(command, environment).output) * 1e-9;
}

}  // namespace bench
