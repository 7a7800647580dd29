// Samples of ops, which their authors declare or schemas suggest, run for their results: in a child process for each plugin, since an op
// may crash, hang or exit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "options.hpp"

namespace cli {

struct SampleResult {
  std::string sample;  // JSON
  std::vector<std::string>
      operands;                      // texts of the tensors among the arguments, each with its name
  std::vector<std::string> results;  // texts
  std::string fault;                 // in place of results
};

// By op. Where a child ended, the op that ran has that as its fault; where none did, key_of_plugin() has it.
std::map<std::string, std::vector<SampleResult>> results_of_samples(
    const std::vector<std::string>& plugins, const SessionOptions& session);

// A key that is not the name of an op.
std::string key_of_plugin(const std::string& id);

// The child: a line of JSON for each op, {"op", "samples": [{"sample", "operands", "results", "fault"}]}, and
// before each {"begins": op}.
int run_samples(const SampleRunOptions& options);

}  // namespace cli
