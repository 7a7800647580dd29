// The patches of an image that a kernel sees: their sizes and where they are.
#pragma once

#include <cstdint>

namespace nn {

// Patches of images of three spatial dimensions; fewer have those in front of size 1.
struct Patches {
  int64_t channels = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  int64_t further[3] = {0, 0,
                        0};  // padding behind the image beyond `padding`, which is on both sides

  int64_t padded(int d) const { return in[d] + 2 * padding[d] + further[d]; }

  // Input elements from the first to the last that a kernel sees.
  int64_t reach(int d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  // Sets `out`, how many patches fit, from the others.
  void measure() {
    for (int d = 0; d < 3; ++d) {
      const int64_t room = padded(d) - reach(d);
      out[d] = room < 0 ? 0 : room / stride[d] + 1;
    }
  }
  int64_t depth() const { return channels * kernel[0] * kernel[1] * kernel[2]; }  // rows
  int64_t positions() const { return out[0] * out[1] * out[2]; }                  // columns
  int64_t plane() const { return in[0] * in[1] * in[2]; }
};

}  // namespace nn
