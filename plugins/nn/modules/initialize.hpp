// Initial values of parameters, drawn from the process's generator.
#pragma once

#include <cmath>

#include <tenon/module_definition.hpp>

#include "common.hpp"

namespace nn {

using tenon::Module, tenon::ModuleOf;

// Uniform within 1 / sqrt(fan_in) of zero: He's initialization as PyTorch's layers use it.
inline Tensor uniform_parameter(const Tensor& values, int64_t fan_in) {
  const tenon::NoGrad no_grad;
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  return values.uniform_(-bound, bound);
}

inline Tensor filled(IntList shape, double value) {
  const Tensor result = tenon::empty_tensor(shape);
  tenon::fill_elements(result, value);
  return result;
}

// Limits for sizes that a constructor multiplies by a small number, or makes as many modules of.
inline constexpr int64_t most_features = INT64_MAX / 8, most_layers = 1 << 16;

inline void check_size(const char* module, const char* name, int64_t size, int64_t least,
                       int64_t most = INT64_MAX) {
  if (size >= least && size <= most) return;
  const std::string range = most == INT64_MAX
                                ? "at least " + std::to_string(least)
                                : "from " + std::to_string(least) + " to " + std::to_string(most);
  throw tenon::ValueError(std::string(module) + ": " + name + " must be " + range + ", got " +
                          std::to_string(size));
}

inline IntList list_of(const std::vector<int64_t>& sizes) {
  return IntList(sizes.data(), static_cast<int64_t>(sizes.size()));
}
}  // namespace nn
