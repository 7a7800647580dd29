// Shared code of the pools of nn, beside their windows.
#pragma once

#include <algorithm>

#include "common.hpp"
#include "shared_ops/op_family.hpp"
#include "shared_ops/windows.hpp"

namespace nn {

using shared_ops::family_text;

// The positions of a kernel that are inside of the input for any of the windows that begin
// between `first` and `last`: a kernel may be much larger than its input.
struct Taps {
  int64_t begin, end;
  Taps(const Windows& w, int d, int64_t first, int64_t last) {
    const int64_t step = w.dilation[d];
    begin = last >= 0 ? 0 : (-last - 1) / step + 1;
    end = first >= w.in[d] ? 0 : std::min(w.kernel[d], (w.in[d] - first - 1) / step + 1);
  }
};

// The elements at the positions that a pool of maxima returned; 0 where a window had none.
inline Tensor pick(const Tensor& input, const Tensor& indices, int64_t dimensions) {
  const Tensor positions = indices.flatten(-dimensions, -1);
  const Tensor picked = input.flatten(-dimensions, -1).gather(-1, positions.clamp(0));
  return picked.masked_fill(positions < 0, 0).reshape(indices.shape());
}

}  // namespace nn
