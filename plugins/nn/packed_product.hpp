// Products by packed weights: tiles of the result in registers.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tenon/kernel/lanes.hpp>
#include <tenon/kernel/registers.hpp>
#include <tenon/parallel.hpp>

#include "packed_row.hpp"
#include "panels.hpp"
#include "register_tile.hpp"

namespace nn {

template <class T>
struct PanelLines {
  const T* panel;
  TENON_INLINE const T* at(int64_t i) const { return panel + i * panel_features; }
};

template <class T>
struct PackedProduct {
  static constexpr int64_t width = panel_features;

  // Rows of `depth` elements, `row_stride` apart, which may overlap.
  const T* rows;
  int64_t row_stride, count;
  const T* panels;
  int64_t depth, features;
  const T* bias;  // one for each feature; may be null
  bool relu;
  T* to;
  // Elements of the result to the next row, and to the next feature.
  int64_t row_step, feature_step;
  // Panels are read from the last one to the first. Products by the same panels that are read to and fro find those read
  // last in the cache, where all are more than it holds.
  bool backwards = false;

  // Computes all rows. The threads' number changes no bit: tiles are cut by shape alone.
  void run() const {
    if (count == 0 || features == 0) return;
    if (count == 1 && feature_step == 1)
      return PackedRow<T>{rows, panels, depth, features, bias, relu, to, backwards}.run();
    const int64_t chunks = (count + chunk() - 1) / chunk(), panel_count = panels_of(features);
    // Some 50 microseconds for one thread, which looks for interrupts between pieces.
    const int64_t work = width * depth * std::min(count, chunk());
    const int64_t grain = 1 + (int64_t{1} << 22) / std::max<int64_t>(1, work);
    tenon::parallel_for(0, chunks * panel_count, grain, [&](int64_t begin, int64_t end) {
      if (rows_share_sets())
        run_copies(begin, end);
      else
        kernel::run_by_registers<Tiles>(this, begin, end);
    });
  }

 private:
  // Rows at such a distance are in the same sets of the first-level cache, which have room for fewer than a tile reads.
  bool rows_share_sets() const {
    constexpr auto apart = static_cast<int64_t>(4096 / sizeof(T));
    return row_stride >= depth && row_stride % apart == 0 && count >= 8;
  }
  // Pairs of a chunk of rows and a panel, as Tiles::run takes them, by copies of the rows that are further apart.
  void run_copies(int64_t begin, int64_t end) const {
    const int64_t stride = depth + static_cast<int64_t>(64 / sizeof(T)),
                  panel_count = panels_of(features);
    const Tensor memory =
        tenon::empty_tensor({std::min(count, chunk()) * stride}, tenon::dtype_of<T>());
    T* const copies = kernel::elements<T>(memory);
    for (int64_t next = begin; next < end;) {
      const int64_t number = next / panel_count, before = number * panel_count,
                    first = number * chunk();
      PackedProduct part = *this;
      part.rows = copies;
      part.row_stride = stride;
      part.count = std::min(chunk(), count - first);
      part.to = to + first * row_step;
      for (int64_t row = 0; row < part.count; ++row)
        std::copy_n(rows + (first + row) * row_stride, depth, copies + row * stride);
      const int64_t until = std::min(end, before + panel_count);
      kernel::run_by_registers<Tiles>(static_cast<const PackedProduct*>(&part), next - before,
                                      until - before);
      next = until;
    }
  }

  // Rows that stay in the second-level cache while all panels pass.
  int64_t chunk() const {
    constexpr int64_t elements = int64_t{1} << 17, least = 48, tile = 12;
    return std::max(least, elements / std::max<int64_t>(1, depth) / tile * tile);
  }

  // Parts of the sums, so that a panel's part and the rows' parts stay in the second-level cache.
  int64_t depth_cuts() const {
    constexpr int64_t most = 1024;
    return feature_step == 1 ? std::max<int64_t>(1, (depth + most - 1) / most) : 1;
  }

  // Terms [begin, end) of each sum.
  struct Terms {
    int64_t begin, end;
    bool are_first, are_last;
  };

  template <int Bytes>
  struct Tiles {
    using V = kernel::Vector<T, Bytes>;
    static constexpr auto lanes = static_cast<int64_t>(sizeof(V) / sizeof(T));
    static constexpr int most_rows = RegisterTile<T, Bytes>::most_rows;

    // Pairs of a chunk of rows and a panel, [begin, end).
    TENON_INLINE static void run(const PackedProduct* product, int64_t begin, int64_t end) {
      const PackedProduct& p = *product;
      const int64_t panel_count = panels_of(p.features), size = p.chunk();
      for (int64_t next = begin; next < end; ++next) {
        const int64_t i = p.backwards ? begin + end - 1 - next : next;
        const int64_t first = i / panel_count * size, rows = std::min(size, p.count - first);
        const int64_t blocks = (rows + most_rows - 1) / most_rows;
        const int64_t feature = i % panel_count * width;
        for (int64_t column = 0; column < width && feature + column < p.features;
             column += 2 * lanes) {
          const T* const panel = p.panels + feature * p.depth + column;
          const int64_t cuts = blocks > 1 ? p.depth_cuts() : 1;
          for (int64_t cut = 0; cut < cuts; ++cut) {
            const Terms terms{p.depth * cut / cuts, p.depth * (cut + 1) / cuts, cut == 0,
                              cut == cuts - 1};
            for (int64_t b = 0; b < blocks; ++b) {
              const int64_t from = rows * b / blocks, to = rows * (b + 1) / blocks;
              by_rows<most_rows>(p, panel, first + from, to - from, feature + column, terms);
            }
          }
        }
      }
    }

   private:
    template <int Rows>
    TENON_INLINE static void by_rows(const PackedProduct& p, const T* panel, int64_t row,
                                     int64_t count, int64_t feature, const Terms& terms) {
      if (count == Rows) return tile<Rows>(p, panel, row, feature, terms);
      if constexpr (Rows > 1) by_rows<Rows - 1>(p, panel, row, count, feature, terms);
    }
    template <int Rows>
    TENON_INLINE static void tile(const PackedProduct& p, const T* panel, int64_t row,
                                  int64_t feature, const Terms& terms) {
      V sums[Rows][2];
      RegisterTile<T, Bytes>::template sum<Rows>(PanelLines<T>{panel + terms.begin * width},
                                                 p.rows + row * p.row_stride + terms.begin,
                                                 p.row_stride, terms.end - terms.begin, sums);
      T* const to = p.to + row * p.row_step + feature * p.feature_step;
      const int64_t count = std::min(2 * lanes, p.features - feature);
      if (!terms.are_first) add_result<Rows>(p, to, count, sums);
      if (terms.are_last) finish<Rows>(p, feature, count, sums);
      store<Rows>(p, to, count, sums);
    }
    // Sums of the terms before, which the result has; its features are beside each other.
    template <int Rows>
    TENON_INLINE static void add_result(const PackedProduct& p, const T* to, int64_t count,
                                        V (&sums)[Rows][2]) {
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        T given[2 * lanes] = {};
        const T* from = to + r * p.row_step;
        if (count < 2 * lanes) {
          std::copy_n(from, count, given);
          from = given;
        }
        V low, high;
        kernel::detail::load_vector(low, from);
        kernel::detail::load_vector(high, from + lanes);
        sums[r][0] += low;
        sums[r][1] += high;
      }
    }
    template <int Rows>
    TENON_INLINE static void finish(const PackedProduct& p, int64_t feature, int64_t count,
                                    V (&sums)[Rows][2]) {
      if (p.bias != nullptr) {
        V bias[2] = {};
        if (count == 2 * lanes) {
          kernel::detail::load_vector(bias[0], p.bias + feature);
          kernel::detail::load_vector(bias[1], p.bias + feature + lanes);
        } else {
          T given[2 * lanes] = {};
          for (int64_t k = 0; k < count; ++k) given[k] = p.bias[feature + k];
          kernel::detail::load_vector(bias[0], given);
          kernel::detail::load_vector(bias[1], given + lanes);
        }
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
          sums[r][0] += bias[0];
          sums[r][1] += bias[1];
        }
      }
      if (p.relu) {  // a NaN stays one, as in relu
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
          sums[r][0] = sums[r][0] < 0 ? V{} : sums[r][0];
          sums[r][1] = sums[r][1] < 0 ? V{} : sums[r][1];
        }
      }
    }
    template <int Rows>
    TENON_INLINE static void store(const PackedProduct& p, T* to, int64_t count,
                                   const V (&sums)[Rows][2]) {
      if (p.feature_step == 1 && count == 2 * lanes) {
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r)
          __builtin_memcpy(to + r * p.row_step, &sums[r][0], 2 * sizeof(V));
        return;
      }
      alignas(64) T tile[Rows][2 * lanes];
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) __builtin_memcpy(tile[r], &sums[r][0], 2 * sizeof(V));
      for (int64_t k = 0; k < count; ++k) {
        for (int r = 0; r < Rows; ++r) to[r * p.row_step + k * p.feature_step] = tile[r][k];
      }
    }
  };
};

}  // namespace nn
