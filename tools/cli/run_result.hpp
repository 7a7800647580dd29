// Results of a run: measured by command_run.cpp, printed as JSON or as text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/profile/profile.hpp>
#include <tenon/training/sample_norms.hpp>
#include <tenon/training/trainer.hpp>

#include "progress.hpp"
#include "run_log.hpp"

namespace cli {

struct RunResult {
  std::string config;
  bool trained = false;
  uint64_t seed = 0;
  int64_t parameters = 0;
  int64_t train_count = 0, validation_count = 0, test_count = 0;
  std::vector<Epoch> epochs;
  double train_loss = 0;
  // Score of the test part; of all samples when there is none.
  std::optional<tenon::training::Score> score;
  std::optional<tenon::training::Score> validation;
  double seconds = 0, computing_seconds = 0;
  int64_t computed = 0;  // samples in that time
  std::string weights, plot;
  std::optional<int64_t> best_epoch;  // with a monitor
  std::optional<tenon::training::SampleNorms> norms;
  std::string norms_part;  // "train", "validation" or "test"
  std::optional<tenon::profile::Profile> profile;
  bool first_rank = true;  // the one of several that prints and writes

  // The name of the config's file.
  std::string config_name() const { return std::filesystem::path(config).filename(); }
  double rate() const { return static_cast<double>(computed) / std::max(computing_seconds, 1e-9); }
};

// One line of the history: the epoch, its losses and metrics.
tenon::Json epoch_json(const Epoch& epoch);
// The document of `tenon run --json`.
tenon::Json result_json(const RunResult& result);
// Prints the result, and logs it.
void print_result(const RunResult& result, RunLog& log);

}  // namespace cli
