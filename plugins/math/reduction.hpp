// The skeleton of reductions: walks strided data without copying, in blocks that threads share.
//
// A kernel says how elements become totals:
//   using In, Total             element type (bool is read as uint8_t); the state of one output,
//                               whose default value is the empty reduction
//   ordered                     true: it reads positions along the one reduced dimension
//   wide                        true: worth compiling for wide vectors too
//   merge(Total&, const Total&) appends what another block found; blocks come in order
//   rows<Bytes>(...)            adds `count` elements of each of `rows` runs to that run's total
//   columns<Bytes>(...)         adds `rows` lines of `columns` adjacent elements to the columns'
//                               totals
// with vectors of `Bytes` bytes. LaneKernel makes one from a policy of a few lines.
//
// How the data is cut depends on its shape alone, so results do not depend on the number of
// threads.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "dimensions.hpp"

namespace math {

// What a call reduces: a bit for each reduced dimension, the result's shape, elements for each
// output.
struct Reduction {
  uint32_t mask = 0;
  Sizes shape;
  int64_t extent = 1;
};
// No dims, or none at all in the list: all of them.
Reduction plan_reduction(const char* op, const Tensor& input, std::optional<IntList> dims,
                         bool keepdim);
// As above, refusing empty reductions, which have no value.
Reduction plan_nonempty_reduction(const char* op, const Tensor& input, std::optional<IntList> dims,
                                  bool keepdim);
// Where an op writes: `out` when it is given and fits, else a new tensor.
Tensor reduction_result(const char* op, const Reduction& plan, DType dtype, const Tensor& out);
// Copies the result to where the caller wants it, when that could not be written directly.
Tensor deliver(const Tensor& result, const Tensor& out);

// The result `gradient` of a reduction of `input` along argument `dim`, laid over the input's
// shape; ops only.
Tensor restore_dimensions(const char* op, const Tensor& gradient, const Tensor& input,
                          std::optional<IntList> dims, bool keepdim);
// The same with size 1 in place of the reduced dimensions.
Tensor keep_dimensions(const char* op, const Tensor& result, const Tensor& input,
                       std::optional<IntList> dims, bool keepdim);

// ---- the walk ----

// A kernel as the walk calls it; totals are `total_bytes` each, and nothing more is known of them
// here.
struct KernelTable {
  int64_t element_bytes, total_bytes;
  bool ordered;
  void (*rows)(const char* in, int64_t position, int64_t rows, int64_t row_step, int64_t count,
               int64_t stride, char* totals);
  void (*columns)(const char* in, int64_t position, int64_t rows, int64_t row_stride,
                  int64_t columns, char* totals);
  void (*clear)(char* totals, int64_t count);
  void (*merge)(char* totals, const char* others, int64_t count);
};
// Where finished totals go: output `at`, at + stride, ... of the row-major result.
struct Sink {
  const void* state;
  void (*write)(const void* state, int64_t at, int64_t stride, const char* totals, int64_t count);
};
void walk_reduction(const KernelTable& kernel, const Tensor& input, const Reduction& plan,
                    const Sink& sink);

// Columns whose totals are held at once, and elements below which one thread does all.
inline constexpr int64_t kPanel = 2048, kParallelWork = 1 << 15;
// The largest total, in bytes.
inline constexpr int64_t kTotalBytes = 24;

inline bool has_wide_vectors() {
#if TENON_HAS_ISA_LOOPS
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

// The compiled forms of a kernel; wide vectors where it asks for them.
template <class Kernel>
struct Compiled {
  using In = typename Kernel::In;
  using Total = typename Kernel::Total;
  static_assert(sizeof(Total) <= kTotalBytes && alignof(Total) <= 8,
                "totals lie in buffers of the walk");

#define MATH_FORMS(prefix, attribute, bytes)                                                       \
  attribute static void prefix##_rows(const char* in, int64_t position, int64_t rows,              \
                                      int64_t row_step, int64_t count, int64_t stride,             \
                                      char* totals) {                                              \
    Kernel::template rows<bytes>(reinterpret_cast<const In*>(in), position, rows, row_step, count, \
                                 stride, reinterpret_cast<Total*>(totals));                        \
  }                                                                                                \
  attribute static void prefix##_columns(const char* in, int64_t position, int64_t rows,           \
                                         int64_t row_stride, int64_t columns, char* totals) {      \
    Kernel::template columns<bytes>(reinterpret_cast<const In*>(in), position, rows, row_stride,   \
                                    columns, reinterpret_cast<Total*>(totals));                    \
  }
  MATH_FORMS(narrow, TENON_VECTORIZE, 16)
#if TENON_HAS_ISA_LOOPS
  MATH_FORMS(wide, TENON_TARGET_V3, 32)
#endif
#undef MATH_FORMS
  static void clear(char* totals, int64_t count) {
    std::fill_n(reinterpret_cast<Total*>(totals), count, Total{});
  }
  static void merge(char* totals, const char* others, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      Kernel::merge(reinterpret_cast<Total*>(totals)[i], reinterpret_cast<const Total*>(others)[i]);
    }
  }
  static constexpr KernelTable narrow{
      sizeof(In), sizeof(Total), Kernel::ordered, narrow_rows, narrow_columns, clear, merge};

  static const KernelTable& table() {
#if TENON_HAS_ISA_LOOPS
    if constexpr (Kernel::wide) {
      static constexpr KernelTable wide{
          sizeof(In), sizeof(Total), Kernel::ordered, wide_rows, wide_columns, clear, merge};
      if (has_wide_vectors()) return wide;
    }
#endif
    return narrow;
  }
};

// Calls finish(offset in the row-major result, total) for every output.
template <class Kernel, class Finish>
void reduce(const Tensor& input, const Reduction& plan, const Finish& finish) {
  using Total = typename Kernel::Total;
  const auto write = [](const void* state, int64_t at, int64_t stride, const char* totals,
                        int64_t count) {
    const auto& store = *static_cast<const Finish*>(state);
    for (int64_t i = 0; i < count; ++i)
      store(at + i * stride, reinterpret_cast<const Total*>(totals)[i]);
  };
  walk_reduction(Compiled<Kernel>::table(), input, plan, {&finish, write});
}

// ---- kernels made of lanes ----

#define MATH_INLINE __attribute__((always_inline)) static inline

template <class T, int Bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(Bytes)));
};

// A kernel from a policy over single lanes:
//   using In, Lane, Total     Lane: what a block of elements is gathered in
//   kBlock                    elements that a few lanes may gather before they go to the total
//   identity()                the empty lane
//   step(V&, const X&)        adds elements to lanes: V, X are Lane and In, or vectors of them
//   join(V&, const V&)        adds lanes to lanes
//   add(Total&, Lane), merge(Total&, const Total&)
//   separates_nan, wide       see below
template <class T>
struct PolicyDefaults {
  // True: `step_numbers` may lose NaN, and the kernel watches for it: the lane becomes NaN then.
  static constexpr bool separates_nan = false;
  // Bytes and shorts are rare enough for narrow vectors.
  static constexpr bool wide = sizeof(T) >= 4;
};
template <class Policy>
struct LaneKernel {
  using In = typename Policy::In;
  using Lane = typename Policy::Lane;
  using Total = typename Policy::Total;
  static constexpr bool ordered = false, wide = Policy::wide;
  static constexpr int64_t kRowBlock = Policy::kBlock, kColumnBlock = Policy::kBlock / 16;

  static constexpr bool kWidens = std::is_integral_v<Lane> && sizeof(In) < sizeof(Lane);

  static void merge(Total& total, const Total& other) { Policy::merge(total, other); }

  template <int Bytes>
  MATH_INLINE void rows(const In* in, int64_t, int64_t rows, int64_t row_step, int64_t count,
                        int64_t stride, Total* totals) {
    for (int64_t r = 0; r < rows; ++r, in += row_step) {
      for (int64_t from = 0; from < count; from += kRowBlock) {
        const int64_t block = count - from < kRowBlock ? count - from : kRowBlock;
        if (stride == 1)
          add_run<Bytes>(in + from, block, totals[r]);
        else
          add_strided(in + from * stride, block, stride, totals[r]);
      }
    }
  }
  // Asks for what comes `bytes` later: the processor's own guesses end with the page.
  static constexpr int64_t kAhead = 4096;
  template <int64_t Count>
  MATH_INLINE void fetch_ahead(const In* in, int64_t bytes) {
    const char* const later = reinterpret_cast<const char*>(in) + bytes;
    for (int64_t at = 0; at < Count * static_cast<int64_t>(sizeof(In)); at += 64)
      __builtin_prefetch(later + at);
  }

  template <int Bytes>
  MATH_INLINE void add_run(const In* in, int64_t count, Total& total) {
    constexpr auto N = static_cast<int64_t>(Bytes / sizeof(Lane));
    using LaneVector = typename VectorOf<Lane, Bytes>::type;
    using InVector =
        typename VectorOf<In, static_cast<int>(N * static_cast<int64_t>(sizeof(In)))>::type;
    Lane lane = Policy::identity();
    int64_t i = 0;
    // Compilers widen small integers better than vector conversions do.
    if (!kWidens && count >= N) {
      const LaneVector empty = LaneVector{} + Policy::identity();
      LaneVector a = empty, b = empty, c = empty, d = empty;
      InVector w, x, y, z;
      [[maybe_unused]] decltype(w != w) unordered{};
      for (; i + 4 * N <= count; i += 4 * N) {
        fetch_ahead<4 * N>(in + i, kAhead);
        std::memcpy(&w, in + i, sizeof(w));
        std::memcpy(&x, in + i + N, sizeof(x));
        std::memcpy(&y, in + i + 2 * N, sizeof(y));
        std::memcpy(&z, in + i + 3 * N, sizeof(z));
        if constexpr (Policy::separates_nan) {
          Policy::step_numbers(a, w);
          Policy::step_numbers(b, x);
          Policy::step_numbers(c, y);
          Policy::step_numbers(d, z);
          unordered |= ((w != w) | (x != x)) | ((y != y) | (z != z));
        } else {
          Policy::step(a, w);
          Policy::step(b, x);
          Policy::step(c, y);
          Policy::step(d, z);
        }
      }
      for (; i + N <= count; i += N) {
        std::memcpy(&w, in + i, sizeof(w));
        Policy::step(a, w);
      }
      Policy::join(a, b);
      Policy::join(c, d);
      Policy::join(a, c);
      for (int64_t k = 0; k < N; ++k) {
        const Lane one = a[k];
        Policy::join(lane, one);
        if constexpr (Policy::separates_nan) {
          if (unordered[k] != 0) lane = std::numeric_limits<Lane>::quiet_NaN();
        }
      }
    }
    for (; i < count; ++i) Policy::step(lane, in[i]);
    Policy::add(total, lane);
  }
  MATH_INLINE void add_strided(const In* in, int64_t count, int64_t stride, Total& total) {
    Lane a = Policy::identity(), b = a, c = a, d = a;
    int64_t i = 0;
    for (; i + 4 <= count; i += 4, in += 4 * stride) {
      Policy::step(a, in[0]);
      Policy::step(b, in[stride]);
      Policy::step(c, in[2 * stride]);
      Policy::step(d, in[3 * stride]);
    }
    for (; i < count; ++i, in += stride) Policy::step(a, in[0]);
    Policy::join(a, b);
    Policy::join(c, d);
    Policy::join(a, c);
    Policy::add(total, a);
  }

  template <int Bytes>
  MATH_INLINE void columns(const In* in, int64_t, int64_t rows, int64_t row_stride, int64_t columns,
                           Total* totals) {
    alignas(64) Lane lanes[kPanel];
    for (int64_t from = 0; from < rows; from += kColumnBlock) {
      const int64_t block = rows - from < kColumnBlock ? rows - from : kColumnBlock;
      for (int64_t c = 0; c < columns; ++c) lanes[c] = Policy::identity();
      int64_t r = 0;
      for (; r + 4 <= block; r += 4, in += 4 * row_stride)
        add_lines<Bytes, 4>(in, row_stride, columns, lanes);
      for (; r < block; ++r, in += row_stride) add_lines<Bytes, 1>(in, row_stride, columns, lanes);
      for (int64_t c = 0; c < columns; ++c) Policy::add(totals[c], lanes[c]);
    }
  }
  // Four lines at a time: the lanes are loaded and stored a quarter as often.
  template <int Bytes, int Lines>
  MATH_INLINE void add_lines(const In* in, int64_t row_stride, int64_t columns, Lane* lanes) {
    constexpr auto N = static_cast<int64_t>(Bytes / sizeof(Lane));
    using LaneVector = typename VectorOf<Lane, Bytes>::type;
    using InVector =
        typename VectorOf<In, static_cast<int>(N * static_cast<int64_t>(sizeof(In)))>::type;
    int64_t c = 0;
    for (; !kWidens && c + N <= columns; c += N) {
      LaneVector lane;
      std::memcpy(&lane, lanes + c, sizeof(lane));
      for (int k = 0; k < Lines; ++k) {
        fetch_ahead<N>(in + k * row_stride + c,
                       Lines * row_stride * static_cast<int64_t>(sizeof(In)));
        InVector x;
        std::memcpy(&x, in + k * row_stride + c, sizeof(x));
        Policy::step(lane, x);
      }
      std::memcpy(lanes + c, &lane, sizeof(lane));
    }
    for (; c < columns; ++c) {
      for (int k = 0; k < Lines; ++k) Policy::step(lanes[c], in[k * row_stride + c]);
    }
  }
};

// Elementwise conversion between vectors of one length, or numbers.
template <class To, class From>
__attribute__((always_inline)) inline void convert(To& to, const From& from) {
  if constexpr (std::is_arithmetic_v<To>)
    to = static_cast<To>(from);
  else
    to = __builtin_convertvector(from, To);
}

// Calls body with a value of the element type as kernels read it: bool as uint8_t.
template <class Body>
void visit_elements(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::i8:
      return body(int8_t{});
    case DType::i16:
      return body(int16_t{});
    case DType::i32:
      return body(int32_t{});
    case DType::i64:
      return body(int64_t{});
    case DType::f32:
      return body(float{});
    case DType::f64:
      return body(double{});
    default:
      return body(uint8_t{});
  }
}

}  // namespace math
