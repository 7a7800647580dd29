// Calls of the model of a file, and their results by name.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <tenon/state/tensor_file.hpp>

#include "profile_view.hpp"

namespace cli {

struct ModelCallOptions {
  std::string path;
  std::vector<std::string> inputs, files;  // see GivenInputs
  uint64_t seed = 0;                       // of the elements of other inputs
  std::string device;                      // where it is called; "": the CPU
  ProfileOptions profile{};
};

struct ModelCallResult {
  std::string path;
  std::vector<std::vector<int64_t>> inputs;
  tenon::state::NamedTensors outputs;
  double seconds = 0;  // time that the call took
  std::optional<tenon::profile::Profile> profile;
  std::exception_ptr fault;  // fault of a trace beside the outputs; thrown when these are out
};

// Makes the model and calls it once, without recording.
ModelCallResult call_model_file(const ModelCallOptions& options);
// A line for each output: its shape and the range of its elements.
void print_outputs(const ModelCallResult& result, bool json);
// UsageError for an ending that says no format, ValueError where the format does not hold the outputs.
void write_outputs(const ModelCallResult& result, const std::string& path);

}  // namespace cli
