// Convolutions by tiles in registers: some features times a run of positions. Patches are read where they are in the
// padded image, as positions of its full width, of which those beyond the result's are left out; strides other than
// 1 read the unfolded image.
#pragma once

#include <algorithm>
#include <vector>

#include "register_tile.hpp"
#include "shared_ops/convolution_tail.hpp"
#include "unfolding.hpp"

namespace nn {

template <class T>
class TiledConvolution {
 public:
  static bool takes(const Convolution& k) {
    return k.group_features() >= 8 && k.depth() >= 16 && k.positions() >= 16;
  }

  explicit TiledConvolution(const Convolution& k) : k_(k), unfolds_(unfolds(k)) {
    const Patches& p = k.patches;
    for (int d = 0; d < 3; ++d) padded_[d] = unfolds_ ? p.out[d] : p.padded(d);
    count_ = unfolds_ ? p.positions() : place(p.out[0] - 1, p.out[1] - 1, p.out[2]);
    const int64_t volume = padded_[0] * padded_[1] * padded_[2];
    for (int64_t c = 0; c < p.channels; ++c) {
      for (int64_t z = 0; z < p.kernel[0]; ++z) {
        for (int64_t y = 0; y < p.kernel[1]; ++y) {
          for (int64_t x = 0; x < p.kernel[2]; ++x) {
            offsets_.push_back(unfolds_ ? static_cast<int64_t>(offsets_.size()) * count_
                                        : c * volume + place(z * p.dilation[0], y * p.dilation[1],
                                                             x * p.dilation[2]));
          }
        }
      }
    }
    bool inside = true;
    for (int d = 0; d < 3; ++d) inside = inside && p.padded(d) == p.in[d];
    copies_ = unfolds_ || !inside || count_ < longest;
  }

  // Elements of an image as it is read, and of what the last vectors read behind it.
  int64_t scratch() const {
    const Patches& p = k_.patches;
    if (!copies_) return 0;
    return longest +
           (unfolds_ ? k_.depth() * count_ : p.channels * padded_[0] * padded_[1] * padded_[2]);
  }
  // Whether `scratch` has borders, which are zero before the first image and stay.
  bool has_borders() const { return copies_ && !unfolds_; }
  // The group's channels of an image, as run() reads them: the image itself, or in `scratch`.
  const T* arrange(const T* image, T* scratch) const {
    if (!copies_) return image;
    if (unfolds_) {
      unfold(k_.patches, image, scratch);
      return scratch;
    }
    const Patches& p = k_.patches;
    const int64_t volume = padded_[0] * padded_[1] * padded_[2];
    for (int64_t c = 0; c < p.channels; ++c) {
      for (int64_t z = 0; z < p.in[0]; ++z) {
        for (int64_t y = 0; y < p.in[1]; ++y, image += p.in[2]) {
          std::copy_n(
              image, p.in[2],
              scratch + c * volume + place(z + p.padding[0], y + p.padding[1], p.padding[2]));
        }
      }
    }
    return scratch;
  }
  // The group's features of one image. Tiles are cut by shape alone, so that threads change no bit. `tail` and
  // `result` begin with the first feature.
  void run(const T* arranged, const T* weights, const Tail<T>& tail, T* result) const {
    const int64_t blocks = (k_.group_features() + rows_at_once - 1) / rows_at_once;
    const int64_t work = std::max<int64_t>(1, rows_at_once * k_.depth() * count_);
    tenon::parallel_for(0, blocks, 1 + (int64_t{1} << 21) / work, [&](int64_t begin, int64_t end) {
      kernel::run_by_registers<Tiles>(this, arranged, weights, &tail, result, begin, end);
    });
  }

 private:
  static constexpr int64_t longest = 32;  // columns of a tile at most
  static constexpr int64_t rows_at_once = 12;

  static bool unfolds(const Convolution& k) {
    const Patches& p = k.patches;
    double padded = 1, positions = 1;
    for (int d = 0; d < 3; ++d) {
      if (p.stride[d] != 1) return true;
      padded *= static_cast<double>(p.padded(d));
      positions *= static_cast<double>(p.out[d]);
    }
    return padded > 2 * positions;
  }
  int64_t place(int64_t z, int64_t y, int64_t x) const {
    return (z * padded_[1] + y) * padded_[2] + x;
  }

  struct Lines {
    const T* first;
    const int64_t* offsets;
    TENON_INLINE const T* at(int64_t i) const { return first + offsets[i]; }
  };
  // Positions of a tile that are beside each other in the result.
  struct Run {
    int64_t in_tile, in_result, length;
  };

  template <int Bytes>
  struct Tiles {
    using Tile = RegisterTile<T, Bytes>;
    using V = typename Tile::V;
    static constexpr int64_t lanes = Tile::lanes, columns = Tile::columns;

    // Blocks of rows [begin, end).
    TENON_INLINE static void run(const TiledConvolution* given, const T* arranged, const T* weights,
                                 const Tail<T>* tail, T* result, int64_t begin, int64_t end) {
      const TiledConvolution& c = *given;
      const int64_t features = c.k_.group_features();
      for (int64_t block = begin; block < end; ++block) {
        const int64_t until = std::min(features, (block + 1) * rows_at_once);
        for (int64_t row = block * rows_at_once; row < until; row += Tile::most_rows) {
          const int64_t rows = std::min<int64_t>(Tile::most_rows, until - row);
          for (int64_t next = 0; next < c.count_; next += columns) {
            // The last tile overlaps the one before.
            const int64_t first = std::max<int64_t>(0, std::min(next, c.count_ - columns));
            Run runs[columns];
            const int64_t count = c.runs_of(first, std::min(columns, c.count_ - first), runs);
            by_rows<Tile::most_rows>(c, arranged + first, weights, *tail, result, row, rows, runs,
                                     count);
          }
        }
      }
    }

   private:
    template <int Rows>
    TENON_INLINE static void by_rows(const TiledConvolution& c, const T* from, const T* weights,
                                     const Tail<T>& tail, T* result, int64_t row, int64_t rows,
                                     const Run* runs, int64_t count) {
      if (rows == Rows) return tile<Rows>(c, from, weights, tail, result, row, runs, count);
      if constexpr (Rows > 1)
        by_rows<Rows - 1>(c, from, weights, tail, result, row, rows, runs, count);
    }
    template <int Rows>
    TENON_INLINE static void tile(const TiledConvolution& c, const T* from, const T* weights,
                                  const Tail<T>& tail, T* result, int64_t row, const Run* runs,
                                  int64_t count) {
      const auto depth = static_cast<int64_t>(c.offsets_.size());
      const int64_t plane = c.k_.positions();
      V sums[Rows][2];
      Tile::template sum<Rows>(Lines{from, c.offsets_.data()}, weights + row * depth, depth, depth,
                               sums);
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        const T factor = tail.factor_of(row + r), term = tail.term_of(row + r);
        sums[r][0] = sums[r][0] * factor + term;
        sums[r][1] = sums[r][1] * factor + term;
      }
      alignas(64) T values[Rows][columns];
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) __builtin_memcpy(values[r], &sums[r][0], sizeof(values[r]));
      for (int64_t i = 0; i < count; ++i) {
        const Run& run = runs[i];
        for (int r = 0; r < Rows; ++r) {
          const int64_t at = (row + r) * plane + run.in_result;
          const T *const value = values[r] + run.in_tile, *const addend = tail.addend == nullptr
                                                                              ? nullptr
                                                                              : tail.addend + at;
          store(value, addend, tail.relu, result + at, run.length);
        }
      }
    }
    TENON_INLINE static void store(const T* value, const T* addend, bool relu, T* to,
                                   int64_t length) {
      for (int64_t x = 0; x < length; ++x) {
        const T sum = addend == nullptr ? value[x] : value[x] + addend[x];
        to[x] = relu ? positive_part(sum) : sum;
      }
    }
  };

  // Positions [first, first + count) of the arranged image that the result has.
  int64_t runs_of(int64_t first, int64_t count, Run* runs) const {
    const Patches& p = k_.patches;
    if (unfolds_ || (padded_[1] == p.out[1] && padded_[2] == p.out[2])) {
      runs[0] = {0, first, count};
      return 1;
    }
    int64_t found = 0;
    for (int64_t at = first; at < first + count;) {
      const int64_t x = at % padded_[2], line = at / padded_[2], y = line % padded_[1],
                    z = line / padded_[1];
      if (x < p.out[2] && y < p.out[1]) {
        const int64_t length = std::min(p.out[2] - x, first + count - at);
        runs[found++] = {at - first, (z * p.out[1] + y) * p.out[2] + x, length};
      }
      at += padded_[2] - x;
    }
    return found;
  }

  const Convolution& k_;
  bool unfolds_, copies_ = false;
  int64_t padded_[3], count_ = 0;
  std::vector<int64_t> offsets_;
};

}  // namespace nn
