// A convolution's result from blocks of channels to planes, with its tail: one pass where a reorder and
// the tail were two.
#pragma once

#include <algorithm>
#include <utility>

#include <tenon/kernel/lanes.hpp>

#include "shared_ops/convolution_tail.hpp"

namespace onednn {

// Positions of `Block` channels each, as oneDNN's layouts aBcd8b and aBcd16b have them: one block of
// channels becomes that many planes, a square of positions and channels at a time.
template <int Block>
class Unpacking {
  using V = tenon::kernel::Vector<float, Block * 4>;

 public:
  // `planes` and the tail are those of the block's first channel. A channel without a factor or a term has
  // 1 or 0 in `factors` and `terms`.
  TENON_INLINE static void run(const float* block, const float* factors, const float* terms,
                               const nn::Tail<float>* tail, float* planes, int64_t positions) {
    V factor, term, rows[Block];
    tenon::kernel::detail::load_vector(factor, factors);
    tenon::kernel::detail::load_vector(term, terms);
    // The last square overlaps the one before.
    for (int64_t next = 0; next < positions && Block <= positions; next += Block) {
      const int64_t first = std::min(next, positions - Block);
      for (int i = 0; i < Block; ++i) {
        tenon::kernel::detail::load_vector(rows[i], block + (first + i) * Block);
        rows[i] = rows[i] * factor + term;
      }
      turn<1>(rows);
      for (int c = 0; c < Block; ++c) {
        const int64_t at = c * positions + first;
        if (tail->addend != nullptr) {
          V other;
          tenon::kernel::detail::load_vector(other, tail->addend + at);
          rows[c] += other;
        }
        if (tail->relu) rows[c] = rows[c] < 0 ? V{} : rows[c];
        __builtin_memcpy(planes + at, &rows[c], sizeof(V));
      }
    }
    for (int64_t first = 0; first < positions && positions < Block; ++first) {
      for (int c = 0; c < Block; ++c) {
        const int64_t at = c * positions + first;
        float value = block[first * Block + c] * factors[c] + terms[c];
        if (tail->addend != nullptr) value += tail->addend[at];
        planes[at] = tail->relu ? nn::positive_part(value) : value;
      }
    }
  }

 private:
  // Rows and columns change places, in steps that exchange squares of Step by Step elements.
  template <int Step>
  TENON_INLINE static void turn(V* rows) {
    if constexpr (Step < Block) {
      for (int i = 0; i < Block; ++i) {
        if ((i & Step) != 0) continue;
        const V a = rows[i], b = rows[i + Step];
        exchange<Step>(a, b, rows[i], rows[i + Step], std::make_integer_sequence<int, Block>());
      }
      turn<2 * Step>(rows);
    }
  }
  template <int Step, int... Lane>
  TENON_INLINE static void exchange(const V& a, const V& b, V& low, V& high,
                                    std::integer_sequence<int, Lane...>) {
    low = __builtin_shufflevector(a, b, ((Lane & Step) == 0 ? Lane : Lane - Step + Block)...);
    high = __builtin_shufflevector(a, b, ((Lane & Step) == 0 ? Lane + Step : Lane + Block)...);
  }
};

// Unpacks all channels of some samples, whose packed results follow each other.
template <int Block>
void unpack(const float* packed, const nn::Tail<float>& tail, float* results, int64_t samples,
            int64_t channels, int64_t positions) {
  for (int64_t n = 0; n < samples; ++n) {
    for (int64_t c = 0; c < channels; c += Block) {
      float factors[Block], terms[Block];
      for (int i = 0; i < Block; ++i) {
        factors[i] = tail.factor_of(c + i);
        terms[i] = tail.term_of(c + i);
      }
      const int64_t at = (n * channels + c) * positions;
      const nn::Tail<float> here = tail.from(c, at);
      tenon::kernel::run<Unpacking<Block>>(packed + at, static_cast<const float*>(factors),
                                           static_cast<const float*>(terms), &here, results + at,
                                           positions);
    }
  }
}

}  // namespace onednn
