// Samples of ops, which their authors declare or schemas suggest, run for their results: in child processes for each plugin, since an op
// may crash, hang or exit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "options.hpp"

namespace cli {

inline constexpr int kSampleStatus = 3;  // a descriptor of the child

struct SampleResult {
  std::string sample;  // JSON
  std::vector<std::string>
      operands;                      // texts of the tensors among the arguments, each with its name
  std::vector<std::string> results;  // texts
  std::string fault;                 // in place of results
};

struct SampleResults {
  // Each sample once, though several providers of the op declare it. An op that ends its process, or takes too long,
  // has that as its fault, and the next process begins behind it.
  std::map<std::string, std::vector<SampleResult>> by_op;
  std::map<std::string, std::string> refused;  // plugins that do not load, with the reason
  std::map<std::string, std::string>
      stopped;  // plugins with samples that have not run, with the reason
};

// With `only_load` children load the plugins and run no sample.
SampleResults results_of_samples(const std::vector<std::string>& plugins,
                                 const SessionOptions& session, bool only_load);

// The child, in a sandbox (check/sandbox.hpp), whose status it writes to kSampleStatus: {"loads": plugin, "refusal": text where it does not}; then {"begins": op} and {"op", "samples": [{"sample", "operands",
// "results", "fault"}]} for each op.
int run_samples(const SampleRunOptions& options);

}  // namespace cli
