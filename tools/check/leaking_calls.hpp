// Memory that grows with every call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sample.hpp"

namespace cli {

// One way to make a call. `parameters` are leaves beside the operands, those of a module.
struct Usage {
  const char* name;  // "without gradients"
  void (*call)(const SampleCall& call, const std::vector<tenon::Tensor>& parameters);
};
extern const Usage kWithoutGradients, kDroppedGraph, kWithBackward, kForwardMode, kEmptyTensors,
    kRefusedDtypes, kStridedSingles;

// "12 calls with its backward leave 64 bytes behind each", of the first usage that leaves some;
// empty: none does.
std::string leak_of(const SampleCall& call, const std::vector<tenon::Tensor>& parameters,
                    const std::vector<Usage>& usages);

// The leak of any function that can be called again and again; `name`: "conversions".
std::string leak_of(const std::function<void()>& once, const char* name);

}  // namespace cli
