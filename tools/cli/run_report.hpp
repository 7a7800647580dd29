// The report of a run: its document, which tenon-catalogue makes a page of.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tenon/training/training.hpp>

#include "run_result.hpp"

namespace cli {

// Writes the page when it is made, after epochs, and at the end: as a whole each time, so that a run that is killed
// leaves one that says how far it came.
class RunReport {
 public:
  // Empty: writes nothing. IOError where the page cannot be written, or the program that makes it is not there.
  RunReport(std::string path, const tenon::training::TrainingConfig& config, RunResult& result);

  bool any() const { return !path_.empty(); }
  // From shapes alone, by calls that are not of the run: before a trace or a profile begins.
  void add_summary();
  // Writes the first page.
  void begin(int64_t epochs);
  void batch_done() { ++steps_; }
  // A page that cannot be written now is a warning.
  void epoch_done(const Epoch& epoch);
  // Scores of single samples: the confusion matrix, and the samples with the largest loss: of the config, or
  // where that is null cross-entropy or squared error.
  void add_samples(tenon::Module& model, const tenon::training::Samples& samples,
                   const std::string& part, int64_t batch_size, const tenon::training::Loss* loss);
  // "finished" or "interrupted".
  void end(const std::string& state);
  // After an error, which is reported by the caller: a page that cannot be written is none.
  void fail(const std::string& error) noexcept;

 private:
  void write();
  tenon::Json document() const;

  const std::string path_;
  const tenon::training::TrainingConfig& config_;
  RunResult& result_;
  std::string program_, started_, state_ = "running", error_;
  int64_t epochs_ = 0, steps_ = 0;
  bool warned_ = false;
  std::chrono::steady_clock::time_point start_, written_;
  tenon::Json summary_, samples_;
};

}  // namespace cli
