// Panels: the weights of 32 features, side by side for each term of their sums; the last one is filled with zeros. The
// layout is the same on all processors.
#pragma once

#include <cstdint>
#include <string>

#include "common.hpp"

namespace nn {

inline constexpr int64_t panel_features = 32;
inline int64_t panels_of(int64_t features) {
  return features / panel_features + (features % panel_features != 0 ? 1 : 0);
}

// Panels for so many features of `depth` terms.
inline void check_panels(const char* op, const Tensor& input, const Tensor& panels,
                         int64_t features, int64_t depth, const Tensor& bias,
                         const char* name = "panels") {
  check_floating(op, "input", input);
  check_same_dtype(op, "input", input, name, panels);
  if (features < 0 || panels.dim() != 3 || panels.shape()[0] != panels_of(features) ||
      panels.shape()[1] != depth || panels.shape()[2] != panel_features) {
    throw tenon::ValueError(std::string(op) + "(): '" + name + "' of shape " + shape_text(panels) +
                            " is not what pack_features returns for " + std::to_string(features) +
                            " features of " + std::to_string(depth) + " terms");
  }
  if (!bias.defined()) return;
  check_same_dtype(op, "input", input, "bias", bias);
  if (bias.dim() != 1 || bias.shape()[0] != features) {
    throw tenon::ValueError(std::string(op) + "(): 'bias' must have shape [" +
                            std::to_string(features) + "], got " + shape_text(bias));
  }
}

template <class T>
const T* elements_or_null(const Tensor& tensor) {
  return tensor.defined() ? kernel::elements<const T>(tensor) : nullptr;
}

}  // namespace nn
