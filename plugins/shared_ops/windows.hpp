// Shared code of the pools: planes of an input, and the rules of window sizes.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>

#include "shared_ops/settings.hpp"

namespace nn {

using tenon::IntList, tenon::Tensor;
namespace kernel = tenon::kernel;
using kernel::check_floating, kernel::Shape, kernel::shape_text;

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

// The windows of a pool over an input whose last one, two or three dimensions are spatial; always
// three here, those in front being of size 1.
struct Windows {
  int64_t dimensions;
  int64_t kernel[3], stride[3], padding[3], dilation[3], in[3], out[3];

  Windows(const char* op, IntList input, IntList kernels, std::optional<IntList> strides,
          IntList paddings, std::optional<IntList> dilations, bool ceil_mode)
      : dimensions(kernels.size()) {
    for (int d = 0; d < 3; ++d) {
      kernel[d] = stride[d] = dilation[d] = in[d] = out[d] = 1;
      padding[d] = 0;
    }
    for (int64_t i = 0; i < dimensions; ++i) {
      const int d = static_cast<int>(3 - dimensions + i);
      kernel[d] = kernels[i];
      stride[d] = strides ? (*strides)[i] : kernels[i];
      padding[d] = paddings[i];
      dilation[d] = dilations ? (*dilations)[i] : 1;
      in[d] = input[input.size() - dimensions + i];
      check_setting(op, "kernel_size", kernel[d], 1);
      check_setting(op, "stride", stride[d], 1);
      check_setting(op, "dilation", dilation[d], 1);
      if (padding[d] < 0 || padding[d] > kernel[d] / 2) {
        throw tenon::ValueError(std::string(op) +
                                "(): padding must be from 0 to half of kernel_size " +
                                std::to_string(kernel[d]) + ", got " + std::to_string(padding[d]));
      }
      // With ceil_mode a window may reach beyond the padding, so that an input smaller than it has
      // one.
      const int64_t room = in[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1 +
                           (ceil_mode ? stride[d] - 1 : 0);
      out[d] = room < 0 ? 0 : room / stride[d] + 1;
      // A window that would begin in the padding behind the input is left out.
      if (ceil_mode && out[d] > 0 && (out[d] - 1) * stride[d] >= in[d] + padding[d]) --out[d];
      if (out[d] < 1) {
        throw tenon::ValueError(std::string(op) + "(): a window of " + std::to_string(kernel[d]) +
                                " does not fit into the " + std::to_string(in[d]) + unit_of(d) +
                                " of an input of shape " + shape_text(input));
      }
    }
  }
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  // Elements that the windows of a plane take, at most; kernels may be larger than any tensor.
  int64_t work() const {
    auto elements = static_cast<double>(out_size());
    for (const int64_t size : kernel) elements *= static_cast<double>(size);
    return static_cast<int64_t>(std::min(elements, 1e15));
  }
  Shape output_shape(IntList input) const {
    return with_last(input, {out + 3 - dimensions, dimensions});
  }
};

}  // namespace nn
