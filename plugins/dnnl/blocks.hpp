// Images in blocks of channels, as oneDNN computes with them: [N, blocks, H, W, block], a block of as many
// channels as a register of the processor holds. Rewrites of prepared models keep images so from one op
// to the next.
#pragma once

#include <string>

#include <tenon/kernel/check.hpp>

#include "thresholds.hpp"

namespace onednn {

using nn::Shape, nn::Tensor;

constexpr uint32_t kF32 = 1u << static_cast<unsigned>(tenon::f32);

inline int64_t block() { return has_wide_registers() ? 16 : 8; }
inline int64_t blocks_of(int64_t channels) { return (channels + block() - 1) / block(); }
inline Shape blocked_shape(int64_t batch, int64_t channels, int64_t height, int64_t width) {
  Shape shape;
  for (const int64_t size : {batch, blocks_of(channels), height, width, block()}) shape.push(size);
  return shape;
}
inline void check_blocked(const char* op, const char* name, const Tensor& tensor) {
  tenon::kernel::check_dtype(op, name, tensor.dtype(), kF32);
  if (tensor.dim() == 5 && tensor.shape()[4] == block()) return;
  throw tenon::ValueError(std::string(op) + "(): '" + name +
                          "' must have shape [N, blocks, H, W, " + std::to_string(block()) +
                          "], as dnnl.to_blocked returns it, got " + nn::shape_text(tensor));
}

}  // namespace onednn
