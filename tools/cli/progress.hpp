// Progress of a training: one line that is redrawn on a terminal, plain lines elsewhere.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include <tenon/training/trainer.hpp>

namespace cli {

using tenon::training::Epoch;

// Drawn by a separate thread from a few counters: a slow terminal never holds up the training.
class Progress {
 public:
  Progress(int64_t epochs, int64_t steps, int64_t samples, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void batch_done(double loss) {
    loss_.store(loss, std::memory_order_relaxed);
    steps_done_.fetch_add(1, std::memory_order_relaxed);
  }
  void epoch_done(const Epoch& epoch);
  // Takes the line away; nothing is drawn after it.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void draw_until_finished();
  std::string line() const;

  const int64_t epochs_, steps_, samples_;
  const bool live_;   // a terminal
  const bool plain_;  // lines
  const bool utf8_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<int64_t> steps_done_{0};
  std::atomic<int64_t> epochs_done_{0};
  std::atomic<double> loss_{0};
  std::string score_;  // score of the last epoch; with the mutex
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool finished_ = false;
  std::thread thread_;
};

// "96.38 %" of an accuracy, "0.9612" of others; behind the name: "accuracy 96.38 %".
std::string metric_value(const std::string& name, double value);
std::string metric_text(const std::string& name, double value);
// One epoch in words: "epoch  3/30  train loss 0.1234  test loss 0.1321  accuracy 96.38 %".
std::string epoch_line(const Epoch& epoch, int64_t epochs);

}  // namespace cli
