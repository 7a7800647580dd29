// A job of which one rank has a fault.
#pragma once

#include <string>

#include "tests/support/shell_job.hpp"

// Three ranks, of which rank 1 has the fault; what they print to stderr as well.
inline ShellJob job_with(const std::string& fault, const std::string& options = "") {
  return run_shell_job("(" + std::string(TENON_MPIEXEC) + " --oversubscribe " + options +
                       " -n 3 '" TENON_FAULT "' '" + fault + "' 2>&1)");
}
