// An image with its borders, whose rows are cut by strides: columns that one kernel element sees under neighbouring patches
// are beside each other.
#pragma once

#include <algorithm>

#include "common.hpp"
#include "shared_ops/patches.hpp"

namespace nn {

class PaddedImage {
 public:
  // Whether its size is one with what a convolution reads and writes: a large stride passes over most of a wide border.
  // The size may be beyond int64_t.
  static bool fits(const Patches& p) {
    auto padded = static_cast<double>(p.channels);
    for (int d = 0; d < 3; ++d) padded *= static_cast<double>(p.padded(d));
    return padded <= 4 * (static_cast<double>(p.channels) * static_cast<double>(p.plane()) +
                          static_cast<double>(p.depth()) * static_cast<double>(p.positions()));
  }

  explicit PaddedImage(const Patches& p)
      : p_(p),
        cuts_(std::min(p.stride[2], p.padded(2))),
        width_((p.padded(2) + p.stride[2] - 1) / p.stride[2]) {}

  // The image itself, of which each kernel element sees all elements in their order.
  bool is_plain() const {
    bool plain = true;
    for (int d = 0; d < 3; ++d)
      plain = plain && p_.padded(d) == p_.in[d] && p_.stride[d] == 1 && p_.out[d] == p_.in[d];
    return plain;
  }
  int64_t elements() const { return place(p_.channels, 0, 0, 0); }
  // The place of an element, whose indices count from the border. Places of patches, whose columns are multiples of
  // the stride, and of kernel elements add up.
  int64_t place(int64_t channel, int64_t slice, int64_t line, int64_t column) const {
    const int64_t row = (channel * p_.padded(0) + slice) * p_.padded(1) + line;
    return (row * cuts_ + column % p_.stride[2]) * width_ + column / p_.stride[2];
  }
  // Borders are not written.
  template <class T>
  void fill(const T* image, T* to) const {
    const int64_t step = p_.stride[2], width = p_.in[2];
    for (int64_t c = 0; c < p_.channels; ++c) {
      for (int64_t z = 0; z < p_.in[0]; ++z) {
        for (int64_t y = 0; y < p_.in[1]; ++y, image += width) {
          for (int64_t first = 0; first < std::min(step, width); ++first) {
            T* const row =
                to + place(c, z + p_.padding[0], y + p_.padding[1], first + p_.padding[2]);
            if (step == 1)
              std::copy_n(image, width, row);
            else
              for (int64_t x = first, i = 0; x < width; x += step, ++i) row[i] = image[x];
          }
        }
      }
    }
  }

 private:
  const Patches& p_;
  const int64_t cuts_, width_;  // pieces of a row, and their elements
};

}  // namespace nn
