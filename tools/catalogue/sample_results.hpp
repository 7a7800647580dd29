// Samples that authors of ops declare, run for their results: in a child process for each plugin, since an op
// may crash, hang or exit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "options.hpp"

namespace cli {

struct SampleResult {
  std::string sample;   // JSON, as the author wrote it
  std::vector<std::string> operands;  // texts of the tensors among the arguments, each with its name
  std::vector<std::string> results;  // texts
  std::string fault;    // in place of results
};

// By op. Of a plugin whose child ended early, the ops that are left have that as their fault.
std::map<std::string, std::vector<SampleResult>> results_of_samples(
    const std::vector<std::string>& plugins, const SessionOptions& session);

// The child: a line of JSON for each op, {"op", "samples": [{"sample", "operands", "results", "fault"}]}, and
// before each {"begins": op}.
int run_samples(const SampleRunOptions& options);

}  // namespace cli
