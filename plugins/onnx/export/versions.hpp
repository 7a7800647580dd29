// Versions that are written.
#pragma once

#include <cstdint>

namespace onnx {

inline constexpr int64_t kFirstOpset = 13, kLastOpset = 25, kDefaultOpset = 17;

// The oldest version of the format that has an opset, 8 at least.
constexpr int64_t ir_version_of(int64_t opset) {
  if (opset >= 23) return opset - 12;
  if (opset >= 21) return 10;
  return opset >= 19 ? 9 : 8;
}

}  // namespace onnx
