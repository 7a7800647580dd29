// Watching one number over the epochs.
#include <cmath>

#include <tenon/training/monitor.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

Monitor::Monitor(const Json& section)
    : metric_(section["metric"].text()),
      maximize_(section["goal"].text() == "maximize"),
      keep_best_(section["keep_best"].as_bool(true)),
      patience_(section["patience"].integer(0)),
      minimum_change_(section["minimum_change"].number(0)) {}

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
