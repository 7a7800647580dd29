// A product of one row by packed weights. Panels are side by side in registers: the row is read once for all of them, and
// they are read in order.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tenon/kernel/lanes.hpp>
#include <tenon/kernel/registers.hpp>
#include <tenon/parallel.hpp>

#include "panels.hpp"

namespace nn {

template <class T>
struct PackedRow {
  const T *row, *panels;
  int64_t depth, features;
  const T* bias;  // one for each feature; may be null
  bool relu;
  T* to;
  bool backwards = false;  // groups from the last one to the first

  // The threads' number changes no bit: a piece is a group of panels, whose sums depend on nothing else.
  void run() const {
    const int64_t groups = (panels_of(features) + together - 1) / together;
    // Some 50 microseconds for one thread, which looks for interrupts between pieces.
    const int64_t work = together * panel_features * depth;
    const int64_t grain = 1 + (int64_t{1} << 22) / std::max<int64_t>(1, work);
    tenon::parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
      kernel::run_by_registers<Sums>(this, begin, end);
    });
  }

 private:
  static constexpr int64_t together = 4;  // panels of a group

  template <int Bytes>
  struct Sums {
    using V = kernel::Vector<T, Bytes>;
    static constexpr auto lanes = static_cast<int>(sizeof(V) / sizeof(T));
    // Sums that keep the units busy: each waits for its last addition.
    static constexpr int registers = 8;
    static constexpr int of_panel = std::min(registers, static_cast<int>(panel_features) / lanes);

    TENON_INLINE static void run(const PackedRow* row, int64_t begin, int64_t end) {
      const int64_t count = panels_of(row->features);
      for (int64_t next = begin; next < end; ++next) {
        const int64_t group = row->backwards ? begin + end - 1 - next : next;
        by_panels<registers / of_panel>(*row, group * together,
                                        std::min(count, (group + 1) * together));
      }
    }

   private:
    template <int Panels>
    TENON_INLINE static void by_panels(const PackedRow& p, int64_t panel, int64_t end) {
      for (; panel + Panels <= end; panel += Panels) {
        for (int64_t column = 0; column < panel_features; column += int64_t{of_panel} * lanes) {
          if constexpr (Panels == 1)
            as_needed<of_panel>(p, panel * panel_features + column);
          else
            add<Panels, of_panel>(p, panel * panel_features + column);
        }
      }
      if constexpr (Panels > 1) by_panels<Panels / 2>(p, panel, end);
    }
    // Registers of the last panel that are all filling stay out.
    template <int Count>
    TENON_INLINE static void as_needed(const PackedRow& p, int64_t feature) {
      if constexpr (Count > 1) {
        if (p.features - feature <= Count / 2 * lanes) return as_needed<Count / 2>(p, feature);
      }
      if (feature < p.features) add<1, Count>(p, feature);
    }
    // Sums of `Count` registers in each of `Panels` panels, in several parts where these are few.
    template <int Panels, int Count>
    TENON_INLINE static void add(const PackedRow& p, int64_t feature) {
      constexpr int parts = registers / (Panels * Count);
      const int64_t apart = panel_features * p.depth, column = feature % panel_features;
      const T* line = p.panels + (feature - column) * p.depth + column;
      V sums[parts][Panels][Count] = {};
      int64_t i = 0;
      for (; i + parts <= p.depth; i += parts, line += parts * panel_features) {
#pragma GCC unroll 8
        for (int part = 0; part < parts; ++part)
          add_term(sums[part], line + part * panel_features, apart, p.row[i + part]);
      }
      for (; i < p.depth; ++i, line += panel_features) add_term(sums[0], line, apart, p.row[i]);
#pragma GCC unroll 3
      for (int half = parts / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
        for (int part = 0; part < half; ++part) {
#pragma GCC unroll 4
          for (int k = 0; k < Panels; ++k) {
#pragma GCC unroll 8
            for (int r = 0; r < Count; ++r) sums[part][k][r] += sums[part + half][k][r];
          }
        }
      }
#pragma GCC unroll 4
      for (int k = 0; k < Panels; ++k) {
#pragma GCC unroll 8
        for (int r = 0; r < Count; ++r)
          finish(p, feature + k * panel_features + int64_t{r} * lanes, sums[0][k][r]);
      }
    }
    template <int Panels, int Count>
    TENON_INLINE static void add_term(V (&sums)[Panels][Count], const T* line, int64_t apart, T x) {
#pragma GCC unroll 4
      for (int k = 0; k < Panels; ++k) {
#pragma GCC unroll 8
        for (int r = 0; r < Count; ++r) {
          V weights;
          kernel::detail::load_vector(weights, line + k * apart + r * lanes);
          sums[k][r] += weights * x;
        }
      }
    }
    TENON_INLINE static void finish(const PackedRow& p, int64_t feature, V& sum) {
      const int64_t count = p.features - feature;
      if (count >= lanes) {
        if (p.bias != nullptr) {
          V bias;
          kernel::detail::load_vector(bias, p.bias + feature);
          sum += bias;
        }
        if (p.relu) sum = sum < 0 ? V{} : sum;  // a NaN stays one, as in relu
        __builtin_memcpy(p.to + feature, &sum, sizeof(sum));
        return;
      }
      for (int64_t k = 0; k < count; ++k) {
        const T one = p.bias == nullptr ? sum[k] : sum[k] + p.bias[feature + k];
        p.to[feature + k] = p.relu && one < 0 ? T{0} : one;
      }
    }
  };
};

}  // namespace nn
