// Watching one number over the epochs: the best one, and when to stop.
//
//   "monitor": {"metric": "f1", "goal": "maximize", "patience": 5}
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "tenon/training/training_config.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

class Monitor {  // stops a training that no longer improves
 public:
  // None: it watches nothing.
  explicit Monitor(const std::optional<MonitorConfig>& config) {
    if (!config) return;
    metric_ = config->metric.text();
    maximize_ = config->maximize;
    keep_best_ = config->keep_best;
    patience_ = config->patience;
    minimum_change_ = config->minimum_change;
  }
  bool active() const { return !metric_.empty(); }  // it watches a metric
  // "loss" or the name of a metric, measured on the test samples.
  const std::string& metric() const { return metric_; }
  // Whether the value of an epoch is the best so far. NaN never is.
  bool improves(int64_t epoch, double value) {
    if (std::isnan(value)) return false;
    const double change = !best_ ? 0 : maximize_ ? value - *best_ : *best_ - value;
    if (best_ && change <= minimum_change_) return false;
    best_ = value;
    best_epoch_ = epoch;
    return true;
  }
  // Whether the last improvement is more than `patience` epochs ago.
  bool exhausted(int64_t epoch) const { return patience_ > 0 && epoch - best_epoch_ >= patience_; }
  bool keeps_best() const { return active() && keep_best_; }  // weights are restored

  int64_t best_epoch() const { return best_epoch_; }         // from 1; 0: none yet
  std::optional<double> best() const { return best_; }       // value of the metric
  void restore(int64_t epoch, std::optional<double> best) {  // continues from a checkpoint
    best_epoch_ = epoch;
    best_ = best;
  }

 private:
  std::string metric_;
  bool maximize_ = false, keep_best_ = false;
  int64_t patience_ = 0;  // 0: never stops
  double minimum_change_ = 0;
  int64_t best_epoch_ = 0;
  std::optional<double> best_;
};

}  // namespace training

TENON_NAMESPACE_END
