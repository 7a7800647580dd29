// Convolutions by tiles in registers: some features times some positions of the result. The patches of these positions are
// copied side by side into a panel, which stays in the cache while all features read it.
#pragma once

#include <algorithm>
#include <vector>

#include "padded_image.hpp"
#include "register_tile.hpp"
#include "shared_ops/convolution_tail.hpp"

namespace nn {

template <class T>
class TiledConvolution {
 public:
  static bool takes(const Convolution& k) {
    return k.group_features() >= 8 && k.depth() >= 16 && k.positions() >= 16 &&
           PaddedImage::fits(k.patches);
  }

  explicit TiledConvolution(const Convolution& k) : k_(k), image_(k.patches) {
    const Patches& p = k.patches;
    for (int64_t c = 0; c < p.channels; ++c) {
      for (int64_t z = 0; z < p.kernel[0]; ++z) {
        for (int64_t y = 0; y < p.kernel[1]; ++y) {
          for (int64_t x = 0; x < p.kernel[2]; ++x)
            offsets_.push_back(
                image_.place(c, z * p.dilation[0], y * p.dilation[1], x * p.dilation[2]));
        }
      }
    }
  }

  // Elements of an image as it is read, which are zero before the first image, and of what vectors read behind it.
  int64_t scratch() const { return copies() ? image_.elements() + longest : 0; }
  // The group's channels of an image, as run() reads them: the image itself, or in `scratch`.
  const T* arrange(const T* image, T* scratch) const {
    if (!copies()) return image;
    image_.fill(image, scratch);
    return scratch;
  }
  // The group's features of one image. Pieces are cut by shape alone, so that threads change no bit. `tail` and
  // `result` begin with the first feature.
  void run(const T* arranged, const T* weights, const Tail<T>& tail, T* result) const {
    const int64_t features = k_.group_features();
    // Panels of that many tiles stay in the second-level cache beside the weights that read them.
    const int64_t tile = k_.depth() * longest * static_cast<int64_t>(sizeof(T));
    const int64_t tiles = std::max<int64_t>(1, kPanelBytes / tile);
    const int64_t groups = (k_.positions() + tiles * longest - 1) / (tiles * longest);
    // Few positions: a part of the features for each piece, which makes the panels again.
    const int64_t parts =
        groups >= kFewGroups ? 1 : std::max<int64_t>(1, features / kLeastFeatures);
    const int64_t work =
        std::max<int64_t>(1, k_.depth() * k_.positions() * features / (groups * parts));
    tenon::parallel_for(
        0, groups * parts, 1 + (int64_t{1} << 21) / work, [&](int64_t begin, int64_t end) {
          const Tensor memory =
              tenon::empty_tensor({(k_.depth() * tiles + 1) * longest}, tenon::dtype_of<T>());
          for (int64_t i = begin; i < end; ++i) {
            const int64_t part = i / groups, group = i % groups;
            const Piece piece{features * part / parts, features * (part + 1) / parts,
                              group * tiles * longest,
                              std::min(k_.positions(), (group + 1) * tiles * longest)};
            kernel::run_by_registers<Tiles>(this, arranged, weights, &tail, result,
                                            kernel::elements<T>(memory), &piece);
          }
        });
  }

 private:
  static constexpr int64_t longest = 32;  // columns of a tile at most
  static constexpr int64_t kPanelBytes = int64_t{1} << 18;
  static constexpr int64_t kFewGroups = 4, kLeastFeatures = 128;
  // Blocks of features for which a panel is not worth its copy.
  static constexpr int64_t kFewBlocks = 3;

  // Features and positions from one to another.
  struct Piece {
    int64_t feature, last_feature, position, last_position;
  };
  // Positions of a tile from `first` on, of which columns [begin, end) are the piece's.
  struct Range {
    int64_t first, begin, end;
  };

  // A run of positions is read where it is only where all of them are one.
  bool copies() const { return !image_.is_plain() || k_.positions() < longest; }

  struct Panel {
    const T* first;
    int64_t line;  // elements from one term to the next
    TENON_INLINE const T* at(int64_t i) const { return first + i * line; }
  };
  // A vector of the image, and the column of the panel where it begins.
  struct Move {
    int64_t from, to;
  };

  template <int Bytes>
  struct Tiles {
    using Tile = RegisterTile<T, Bytes>;
    using V = typename Tile::V;
    static constexpr int64_t lanes = Tile::lanes, columns = Tile::columns;

    TENON_INLINE static void run(const TiledConvolution* given, const T* arranged, const T* weights,
                                 const Tail<T>* tail, T* result, T* panels, const Piece* piece) {
      const TiledConvolution& c = *given;
      const auto depth = static_cast<int64_t>(c.offsets_.size());
      const int64_t tiles = (piece->last_position - piece->position + columns - 1) / columns;
      const int64_t features = piece->last_feature - piece->feature;
      const int64_t blocks = (features + Tile::most_rows - 1) / Tile::most_rows;
      const bool in_place = !c.copies() && blocks <= kFewBlocks;
      for (int64_t t = 0; t < tiles && !in_place; ++t)
        fill(c, arranged, range_of(*piece, t), panels + t * depth * columns);
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t row = piece->feature + features * b / blocks,
                      rows = piece->feature + features * (b + 1) / blocks - row;
        for (int64_t t = 0; t < tiles; ++t) {
          const Range range = range_of(*piece, t);
          const Panel panel = in_place ? Panel{arranged + range.first, c.k_.positions()}
                                       : Panel{panels + t * depth * columns, columns};
          by_rows<Tile::most_rows>(c, panel, weights, *tail, result, row, rows, range);
        }
      }
    }

   private:
    // Tile `t`. The last one overlaps the one before.
    TENON_INLINE static Range range_of(const Piece& piece, int64_t t) {
      const int64_t next = piece.position + t * columns,
                    first = std::max<int64_t>(0, std::min(next, piece.last_position - columns));
      return {first, std::max<int64_t>(0, piece.position - first),
              std::min(columns, piece.last_position - first)};
    }
    // The patches of these positions.
    TENON_INLINE static void fill(const TiledConvolution& c, const T* from, Range range, T* panel) {
      if (range.end < columns) std::fill_n(panel, c.k_.depth() * columns, T{0});
      Move moves[columns];
      const int64_t moved = c.moves_of(range, lanes, moves);
      // A vector reaches into the next run's columns, which are written after it.
      for (const int64_t offset : c.offsets_) {
        for (int64_t m = 0; m < moved; ++m) {
          V values;
          kernel::detail::load_vector(values, from + offset + moves[m].from);
          __builtin_memcpy(panel + moves[m].to, &values, sizeof(V));
        }
        panel += columns;
      }
    }
    template <int Rows>
    TENON_INLINE static void by_rows(const TiledConvolution& c, const Panel& panel,
                                     const T* weights, const Tail<T>& tail, T* result, int64_t row,
                                     int64_t rows, Range range) {
      if (rows == Rows) return tile<Rows>(c, panel, weights, tail, result, row, range);
      if constexpr (Rows > 1) by_rows<Rows - 1>(c, panel, weights, tail, result, row, rows, range);
    }
    template <int Rows>
    TENON_INLINE static void tile(const TiledConvolution& c, const Panel& panel, const T* weights,
                                  const Tail<T>& tail, T* result, int64_t row, Range range) {
      const auto depth = static_cast<int64_t>(c.offsets_.size());
      const int64_t plane = c.k_.positions();
      V sums[Rows][2];
      Tile::template sum<Rows>(panel, weights + row * depth, depth, depth, sums);
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        const T factor = tail.factor_of(row + r), term = tail.term_of(row + r);
        sums[r][0] = sums[r][0] * factor + term;
        sums[r][1] = sums[r][1] * factor + term;
      }
      const int64_t at = row * plane + range.first;
      const T* const addend = tail.addend == nullptr ? nullptr : tail.addend + at;
      if (range.end - range.begin == columns)
        store_vectors<Rows>(sums, addend, tail.relu, result + at, plane);
      else
        store_elements<Rows>(sums, addend, tail.relu, result + at, plane, range);
    }
    template <int Rows>
    TENON_INLINE static void store_vectors(V (&sums)[Rows][2], const T* addend, bool relu, T* to,
                                           int64_t plane) {
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          const int64_t at = r * plane + i * lanes;
          V& sum = sums[r][i];
          if (addend != nullptr) {
            V other;
            kernel::detail::load_vector(other, addend + at);
            sum += other;
          }
          if (relu) sum = sum < 0 ? V{} : sum;  // a NaN stays one, as in relu
          __builtin_memcpy(to + at, &sum, sizeof(V));
        }
      }
    }
    template <int Rows>
    TENON_INLINE static void store_elements(const V (&sums)[Rows][2], const T* addend, bool relu,
                                            T* to, int64_t plane, Range range) {
      alignas(64) T values[Rows][columns];
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) __builtin_memcpy(values[r], &sums[r][0], sizeof(values[r]));
      for (int64_t r = 0; r < Rows; ++r) {
        for (int64_t x = range.begin; x < range.end; ++x) {
          const int64_t at = r * plane + x;
          const T sum = addend == nullptr ? values[r][x] : values[r][x] + addend[at];
          to[at] = relu ? positive_part(sum) : sum;
        }
      }
    }
  };

  // Vectors that have these positions, in the order of their columns.
  int64_t moves_of(Range range, int64_t lanes, Move* moves) const {
    const Patches& p = k_.patches;
    const bool one_run = image_.is_plain();
    int64_t found = 0;
    for (int64_t done = 0; done < range.end;) {
      const int64_t at = range.first + done, x = at % p.out[2], line = at / p.out[2];
      const int64_t run = one_run ? range.end : std::min(range.end - done, p.out[2] - x);
      const int64_t from = one_run ? at
                                   : image_.place(0, line / p.out[1] * p.stride[0],
                                                  line % p.out[1] * p.stride[1], x * p.stride[2]);
      for (int64_t i = 0; i < run; i += lanes) moves[found++] = {from + i, done + i};
      done += run;
    }
    return found;
  }

  const Convolution& k_;
  const PaddedImage image_;
  std::vector<int64_t> offsets_;
};

}  // namespace nn
