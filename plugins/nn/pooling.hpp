// What the pools share: planes of an input, and the rules of window sizes.
#pragma once

#include <algorithm>

#include "common.hpp"

namespace nn {

// The last `dimensions` sizes of a tensor, in front of which are `planes` of them.
struct Planes {
  int64_t planes = 1, size = 1;
  Planes(IntList shape, int64_t dimensions) {
    for (int64_t i = 0; i < shape.size(); ++i)
      (i < shape.size() - dimensions ? planes : size) *= shape[i];
  }
};

// The first dimensions of `shape`, with the last ones replaced.
inline Shape with_last(IntList shape, IntList last) {
  Shape result(shape);
  for (int64_t i = 0; i < last.size(); ++i) result[shape.size() - last.size() + i] = last[i];
  return result;
}

// Checks that a pool's input has its spatial dimensions, a channel dimension and perhaps a batch
// dimension.
inline void check_pool_input(const char* op, const Tensor& input, int64_t dimensions) {
  check_floating(op, "input", input);
  if (input.dim() != dimensions + 1 && input.dim() != dimensions + 2) {
    throw tenon::ValueError(
        std::string(op) + "(): 'input' must have " + std::to_string(dimensions + 1) + " or " +
        std::to_string(dimensions + 2) + " dimensions, got shape " + shape_text(input));
  }
}

// The windows of a 2-D pool over an input of shape [..., height, width].
struct Windows {
  int64_t kernel[2], stride[2], padding[2], dilation[2], in[2], out[2];

  Windows(const char* op, IntList input, IntList kernels, std::optional<IntList> strides,
          IntList paddings, std::optional<IntList> dilations, bool ceil_mode) {
    const std::string name = std::string(op) + "(): ";
    for (int i = 0; i < 2; ++i) {
      kernel[i] = kernels[i];
      stride[i] = strides ? (*strides)[i] : kernels[i];
      padding[i] = paddings[i];
      dilation[i] = dilations ? (*dilations)[i] : 1;
      in[i] = input[input.size() - 2 + i];
      check_setting(op, "kernel_size", kernel[i], 1);
      check_setting(op, "stride", stride[i], 1);
      check_setting(op, "dilation", dilation[i], 1);
      if (padding[i] < 0 || padding[i] > kernel[i] / 2) {
        throw tenon::ValueError(name + "padding must be from 0 to half of kernel_size " +
                                std::to_string(kernel[i]) + ", got " + std::to_string(padding[i]));
      }
      // With ceil_mode a window may reach beyond the padding, so that an input smaller than it has
      // one.
      const int64_t room = in[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1 +
                           (ceil_mode ? stride[i] - 1 : 0);
      out[i] = room < 0 ? 0 : room / stride[i] + 1;
      // A window that would begin in the padding behind the input is left out.
      if (ceil_mode && out[i] > 0 && (out[i] - 1) * stride[i] >= in[i] + padding[i]) --out[i];
      if (out[i] < 1) {
        throw tenon::ValueError(name + "a window of " + std::to_string(kernel[i]) +
                                " does not fit into the " + std::to_string(in[i]) +
                                (i == 0 ? " rows" : " columns") + " of an input of shape " +
                                shape_text(input));
      }
    }
  }
};

}  // namespace nn
