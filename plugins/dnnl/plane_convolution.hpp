// Convolutions from images of one channel to blocks of channels: a register of features for each of several positions.
// oneDNN's kernels for so few channels take three to five times as long.
#pragma once

#include <algorithm>
#include <vector>

#include <tenon/kernel/lanes.hpp>

#include "blocks.hpp"
#include "shared_ops/convolution.hpp"

namespace onednn {

// The range to which results are cut; a NaN stays one.
struct CutRange {
  float low, high;
};

// A kernel in the image with its borders, for one block of features.
struct PlaneKernel {
  const int64_t* offsets;  // by tap: where an element is behind the position's first
  int64_t taps, step;      // elements between positions of the result
  const float* weights;    // [taps, block]
  const float* bias;       // [block]
  CutRange range;
  int64_t features;  // lanes that are in use; the others are 0
};

// One row of the result, by blocks of B features.
template <int B>
struct PlaneRow {
  using V = tenon::kernel::Vector<float, B * 4>;
  using Lanes = tenon::kernel::Vector<int32_t, B * 4>;

  TENON_INLINE static void run(const PlaneKernel* given, const float* image, int64_t line,
                               int64_t rows, int64_t width, float* to) {
    const PlaneKernel kernel = *given;
    for (int64_t y = 0; y < rows; ++y, image += line, to += width * B) {
      if (kernel.step == 1)
        by_width<true>(kernel, image, width, to);
      else
        by_width<false>(kernel, image, width, to);
    }
  }

 private:
  template <bool Dense>
  TENON_INLINE static void by_width(const PlaneKernel& kernel, const float* image, int64_t width,
                                    float* to) {
    // Tiles of about equal length; the last one overlaps the one before.
    const int64_t tiles = (width + 13) / 14, each = (width + tiles - 1) / tiles;
    if (each == 13)
      all<13, Dense>(kernel, image, width, to);
    else if (width >= 14 && each > 8)
      all<14, Dense>(kernel, image, width, to);
    else if (width >= 8)
      all<8, Dense>(kernel, image, width, to);
    else if (width >= 4)
      all<4, Dense>(kernel, image, width, to);
    else
      all<1, Dense>(kernel, image, width, to);
  }
  template <int Positions, bool Dense>
  TENON_INLINE static void all(const PlaneKernel& kernel, const float* image, int64_t width,
                               float* to) {
    for (int64_t next = 0; next < width; next += Positions) {
      const int64_t first = std::min(next, width - Positions);
      tile<Positions, Dense>(kernel, image + first * kernel.step, to + first * B);
    }
  }
  template <int Positions, bool Dense>
  TENON_INLINE static void tile(const PlaneKernel& kernel, const float* from, float* to) {
    const int64_t step = Dense ? 1 : kernel.step;
    V bias;
    tenon::kernel::detail::load_vector(bias, kernel.bias);
    V sums[Positions];
#pragma GCC unroll 14
    for (int i = 0; i < Positions; ++i) sums[i] = bias;
    for (int64_t t = 0; t < kernel.taps; ++t) {
      V weights;
      tenon::kernel::detail::load_vector(weights, kernel.weights + t * B);
      const float* const values = from + kernel.offsets[t];
#pragma GCC unroll 14
      for (int i = 0; i < Positions; ++i) sums[i] += weights * values[i * step];
    }
    const V low = V{} + kernel.range.low, high = V{} + kernel.range.high;
#pragma GCC unroll 14
    for (int i = 0; i < Positions; ++i) {
      const V cut = sums[i] < low ? low : sums[i];
      sums[i] = cut > high ? high : cut;
    }
    if (kernel.features < B) {
      Lanes number;
      for (int i = 0; i < B; ++i) number[i] = i;
      const Lanes used = number < static_cast<int32_t>(kernel.features);
#pragma GCC unroll 14
      for (int i = 0; i < Positions; ++i) sums[i] = used ? sums[i] : V{};
    }
#pragma GCC unroll 14
    for (int i = 0; i < Positions; ++i) __builtin_memcpy(to + int64_t{i} * B, &sums[i], sizeof(V));
  }
};

// The weights by blocks of features, and where they are in an image with its borders.
class PlaneConvolution {
 public:
  static bool takes(const nn::Convolution& k) { return k.channels == 1 && k.groups == 1; }

  // `weights` are those of the op, contiguous; `bias` may be null.
  PlaneConvolution(const nn::Convolution& k, const float* weights, const float* bias,
                   CutRange range)
      : k_(k), range_(range), block_(block()), blocks_(blocks_of(k.features)) {
    const nn::Patches& p = k.patches;
    for (int64_t y = 0; y < p.kernel[1]; ++y) {
      for (int64_t x = 0; x < p.kernel[2]; ++x)
        offsets_.push_back(y * p.dilation[1] * p.padded(2) + x * p.dilation[2]);
    }
    const int64_t taps = this->taps();
    weights_.resize(static_cast<size_t>(blocks_ * taps * block_));
    bias_.resize(static_cast<size_t>(blocks_ * block_));
    for (int64_t f = 0; f < k.features; ++f) {
      float* const to = weights_.data() + f / block_ * taps * block_ + f % block_;
      for (int64_t t = 0; t < taps; ++t) to[t * block_] = weights[f * taps + t];
      if (bias != nullptr) bias_[static_cast<size_t>(f)] = bias[f];
    }
  }

  // Elements of an image with its borders, which are zero before the first image and stay; 0: it has none.
  int64_t scratch() const {
    const nn::Patches& p = k_.patches;
    const bool same = p.padded(1) == p.in[1] && p.padded(2) == p.in[2];
    return same ? 0 : p.padded(1) * p.padded(2);
  }
  // The image with its borders: itself where it has none.
  const float* arranged(const float* image, float* scratch) const {
    if (this->scratch() == 0) return image;
    const nn::Patches& p = k_.patches;
    for (int64_t y = 0; y < p.in[1]; ++y) {
      std::copy_n(image + y * p.in[2], p.in[2],
                  scratch + (y + p.padding[1]) * p.padded(2) + p.padding[2]);
    }
    return scratch;
  }
  // `rows` rows of block `number` of the features of one image, which is arranged().
  void run(int64_t number, const float* image, int64_t first, int64_t rows, float* result) const {
    const nn::Patches& p = k_.patches;
    const int64_t line = p.stride[1] * p.padded(2);
    const PlaneKernel kernel{offsets_.data(),
                             taps(),
                             p.stride[2],
                             weights_.data() + number * taps() * block_,
                             bias_.data() + number * block_,
                             range_,
                             std::min(block_, k_.features - number * block_)};
    if (block_ == 16)
      tenon::kernel::run<PlaneRow<16>>(&kernel, image + first * line, line, rows, p.out[2], result);
    else
      tenon::kernel::run<PlaneRow<8>>(&kernel, image + first * line, line, rows, p.out[2], result);
  }

 private:
  int64_t taps() const { return static_cast<int64_t>(offsets_.size()); }

  const nn::Convolution& k_;
  const CutRange range_;
  const int64_t block_, blocks_;
  std::vector<int64_t> offsets_;
  std::vector<float> weights_, bias_;
};

}  // namespace onednn
