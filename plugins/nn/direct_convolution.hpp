// Convolutions of few products for each element, one channel's foremost: rows of the result in registers, where
// a product of matrices would be with a matrix of few columns.
#pragma once

#include <algorithm>
#include <vector>

#include <tenon/kernel/lanes.hpp>
#include <tenon/kernel/registers.hpp>
#include <tenon/ops.hpp>

#include "shared_ops/convolution_tail.hpp"

namespace nn {

// The values that all samples share: weights by blocks of features, and where each is in the padded
// image.
template <class T>
class DirectConvolution {
 public:
  static constexpr int kBlock = 8;  // features at a time

  // Beyond that many products for each element a product of matrices is as fast.
  static constexpr int64_t kMostDepth = 32;
  // Products of a sample, which one thread computes without a look at an interrupt: some
  // milliseconds.
  static constexpr int64_t kMostProducts = int64_t{1} << 24;
  static bool takes(const Convolution& k) {
    return k.groups == 1 && k.patches.stride[2] == 1 && k.depth() <= kMostDepth &&
           k.depth() * k.features * k.positions() <= kMostProducts && !k.is_pointwise() && fits(k);
  }

  // `weights` are those of the op, contiguous.
  DirectConvolution(const Convolution& k, const T* weights) : k_(k), depth_(k.depth()) {
    const Patches& p = k.patches;
    for (int d = 0; d < 3; ++d) padded_[d] = p.padded(d);
    for (int64_t c = 0; c < k.channels; ++c) {
      for (int64_t z = 0; z < p.kernel[0]; ++z) {
        for (int64_t y = 0; y < p.kernel[1]; ++y) {
          for (int64_t x = 0; x < p.kernel[2]; ++x) {
            offsets_.push_back(row(c, z * p.dilation[0], y * p.dilation[1]) + x * p.dilation[2]);
          }
        }
      }
    }
    const int64_t blocks = (k.features + kBlock - 1) / kBlock;
    weights_.resize(static_cast<size_t>(blocks * depth_ * kBlock));
    for (int64_t f = 0; f < k.features; ++f) {
      for (int64_t t = 0; t < depth_; ++t) {
        const int64_t at = (f / kBlock * depth_ + t) * kBlock + f % kBlock;
        weights_[static_cast<size_t>(at)] = weights[f * depth_ + t];
      }
    }
  }
  // Elements of an image with its borders, and of what the widest vectors read behind it.
  int64_t scratch() const {
    return k_.channels * padded_[0] * padded_[1] * padded_[2] + 64 / int64_t{sizeof(T)};
  }

  // One sample; its tail begins with the first feature and with the sample's first element. `scratch` is
  // zero before the first sample, since its borders are not written.
  void run(const T* image, const Tail<T>& tail, T* result, T* scratch) const {
    pad(image, scratch);
    kernel::run_by_registers<Rows>(this, static_cast<const T*>(scratch), &tail, result);
  }

 private:
  // Whether the padded image is of a size with what the other way needs: a large stride passes over
  // most of a wide border. Its size may be beyond int64_t.
  static bool fits(const Convolution& k) {
    auto padded = static_cast<double>(k.channels);
    for (int d = 0; d < 3; ++d) padded *= static_cast<double>(k.patches.padded(d));
    return padded <= 4 * (static_cast<double>(k.channels) * static_cast<double>(k.input_plane()) +
                          static_cast<double>(k.depth()) * static_cast<double>(k.positions()));
  }
  // In the padded image.
  int64_t row(int64_t channel, int64_t slice, int64_t line) const {
    return ((channel * padded_[0] + slice) * padded_[1] + line) * padded_[2];
  }
  void pad(const T* image, T* to) const {
    const Patches& p = k_.patches;
    for (int64_t c = 0; c < k_.channels; ++c) {
      for (int64_t z = 0; z < p.in[0]; ++z) {
        for (int64_t y = 0; y < p.in[1]; ++y, image += p.in[2]) {
          std::copy_n(image, p.in[2],
                      to + row(c, z + p.padding[0], y + p.padding[1]) + p.padding[2]);
        }
      }
    }
  }
  // All rows of a sample, by vectors of so many bytes.
  template <int Bytes>
  struct Rows {
    using V = kernel::Vector<T, Bytes>;
    static constexpr int64_t kLanes = Bytes / static_cast<int64_t>(sizeof(T));

    // The tail of a block of features.
    struct Block {
      T factors[kBlock], terms[kBlock];
      const T *result, *addend;  // the addend has an element for each of the result
      bool relu;
      int64_t features, plane;

      TENON_INLINE Block(const Tail<T>& tail, const T* to, int64_t first, int64_t count,
                         int64_t elements)
          : result(to), addend(tail.addend), relu(tail.relu), features(count), plane(elements) {
        for (int64_t i = 0; i < kBlock; ++i) {
          factors[i] = i < count ? tail.factor_of(first + i) : T{1};
          terms[i] = i < count ? tail.term_of(first + i) : T{0};
        }
      }
      // The first `count` elements; `to` is in the first feature's plane.
      TENON_INLINE void finish(const V (&sums)[kBlock], T* to, int64_t count) const {
        if (count == kLanes && features == kBlock)
          finish_vectors(sums, to);
        else
          finish_elements(sums, to, count);
      }

     private:
      // Loops without branches inside, which compilers unroll: sums stay in registers.
      TENON_INLINE void finish_vectors(const V (&sums)[kBlock], T* to) const {
        V values[kBlock];
#pragma GCC unroll 8
        for (int i = 0; i < kBlock; ++i) values[i] = sums[i] * factors[i] + terms[i];
        if (addend != nullptr) {
          const T* const added = addend + (to - result);
#pragma GCC unroll 8
          for (int i = 0; i < kBlock; ++i) {
            V other;
            kernel::detail::load_vector(other, added + i * plane);
            values[i] += other;
          }
        }
        if (relu) {
#pragma GCC unroll 8  // NOLINTNEXTLINE(modernize-loop-convert): by index they stay in registers
          for (int i = 0; i < kBlock; ++i) values[i] = values[i] < 0 ? V{} : values[i];
        }
#pragma GCC unroll 8
        for (int i = 0; i < kBlock; ++i) __builtin_memcpy(to + i * plane, &values[i], sizeof(V));
      }
      // Writes fewer features than a block has, or rows that are shorter than a vector.
      TENON_INLINE void finish_elements(const V (&sums)[kBlock], T* to, int64_t count) const {
        alignas(64) T values[kBlock * kLanes];
#pragma GCC unroll 8
        for (int i = 0; i < kBlock; ++i) {
          const V value = sums[i] * factors[i] + terms[i];
          __builtin_memcpy(values + i * kLanes, &value, sizeof(V));
        }
        for (int64_t i = 0; i < features; ++i) {
          for (int64_t x = 0; x < count; ++x) {
            T value = values[i * kLanes + x];
            if (addend != nullptr) value += addend[to - result + i * plane + x];
            to[i * plane + x] = relu ? positive_part(value) : value;
          }
        }
      }
    };

    TENON_INLINE static void run(const DirectConvolution* given, const T* padded,
                                 const Tail<T>* tail, T* result) {
      const DirectConvolution& d = *given;
      const Patches& p = d.k_.patches;
      const int64_t width = p.out[2], plane = d.k_.positions();
      for (int64_t first = 0; first < d.k_.features; first += kBlock) {
        const T* const weights = d.weights_.data() + first * d.depth_;
        const Block block(*tail, result, first, std::min<int64_t>(kBlock, d.k_.features - first),
                          plane);
        T* row = result + first * plane;
        for (int64_t z = 0; z < p.out[0]; ++z) {
          for (int64_t y = 0; y < p.out[1]; ++y, row += width) {
            const T* from = padded + d.row(0, z * p.stride[0], y * p.stride[1]);
            // The last vector overlaps the one before.
            for (int64_t x = 0; x < width; x += kLanes) {
              const int64_t at = std::max<int64_t>(0, std::min(x, width - kLanes));
              V sums[kBlock] = {};
              compute(d, from + at, weights, sums);
              block.finish(sums, row + at, std::min(kLanes, width));
            }
          }
        }
      }
    }

   private:
    TENON_INLINE static void compute(const DirectConvolution& d, const T* from, const T* weights,
                                     V (&sums)[kBlock]) {
      const int64_t* const offsets = d.offsets_.data();
      for (int64_t t = 0; t < d.depth_; ++t, weights += kBlock) {
        V values;
        kernel::detail::load_vector(values, from + offsets[t]);
        for (int i = 0; i < kBlock; ++i) sums[i] += values * weights[i];
      }
    }
  };

  const Convolution& k_;
  int64_t depth_, padded_[3];
  std::vector<int64_t> offsets_;
  std::vector<T> weights_;
};

}  // namespace nn
