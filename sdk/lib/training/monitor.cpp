// Watching one number over the epochs.
#include <cmath>

#include <tenon/training/monitor.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

Monitor::Monitor(const std::optional<MonitorConfig>& config) {
  if (!config) return;
  metric_ = config->metric.text();
  maximize_ = config->maximize;
  keep_best_ = config->keep_best;
  patience_ = config->patience;
  minimum_change_ = config->minimum_change;
}

bool Monitor::improves(int64_t epoch, double value) {
  if (std::isnan(value)) return false;
  const double change = !best_ ? 0 : maximize_ ? value - *best_ : *best_ - value;
  if (best_ && change <= minimum_change_) return false;
  best_ = value;
  best_epoch_ = epoch;
  return true;
}

void Monitor::restore(int64_t epoch, std::optional<double> best) {
  best_epoch_ = epoch;
  best_ = best;
}

}  // namespace training

TENON_NAMESPACE_END
