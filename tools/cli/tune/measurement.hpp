// Times of each provider for recorded calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "recorder.hpp"

namespace cli {

struct MeasuredCall {
  const TunedCall* call = nullptr;
  std::string usual;  // the provider without preferences
  // Seconds of one call: medians, for providers that take it.
  std::map<std::string, double> seconds;
  std::map<std::string, std::string> declined;  // reasons of the others
};

struct MeasureOptions {
  int64_t rounds = 5;
  double least_seconds = 0.002;         // least time of a provider's turn for a call
  std::function<double()> now;          // the clock
  std::function<void(double)> advance;  // called with the part that is done
  std::function<bool()> stop;           // asked between calls
};

// Makes each call with every provider that takes it, in rounds in which the providers take turns. The
// process is not for other work afterwards: its preferences are those of the last turn.
std::vector<MeasuredCall> measure_calls(const CallRecorder& recorder,
                                        const MeasureOptions& options);

}  // namespace cli
