// The kernel kit for elementwise ops: one lambda becomes loops for every dtype and instruction set.
//
// The loops are written so that compilers vectorize them, calls of std::exp and its like included
// (tenon/kernel/math.hpp); broadcasting, strides, promotion, threads and output allocation are the
// host's.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/kernel/isa.hpp"
#include "tenon/kernel/math.hpp"
#include "tenon/kernel/visit.hpp"
#include "tenon/schema.hpp"
#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN

inline constexpr uint32_t promote_common = TENON_PROMOTE_COMMON,
                          promote_float = TENON_PROMOTE_FLOAT,
                          promote_compare = TENON_PROMOTE_COMPARE,
                          promote_condition = TENON_PROMOTE_CONDITION,
                          promote_magnitude = TENON_PROMOTE_MAGNITUDE;

namespace detail {

using kernel::Stored;

template <class T>
TENON_INLINE T parameter_as(const tenon_value& value) {
  return value.tag == TENON_VALUE_FLOAT ? static_cast<T>(value.as.number)
                                        : static_cast<T>(value.as.integer);
}

template <class T>
TENON_INLINE T load(Stored<T> element) {
  if constexpr (std::is_same_v<T, bool>)
    return element != 0;
  else
    return element;
}

// Elements that fill the widest register.
template <class T>
inline constexpr int64_t register_elements = 64 / static_cast<int64_t>(sizeof(T));

template <size_t Size>
inline void copy_row(char* to, int64_t to_stride, const char* from, int64_t from_stride,
                     int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    __builtin_memcpy(to + i * to_stride, from + i * from_stride, Size);
}
inline void copy_row(int64_t size, char* to, int64_t to_stride, const char* from,
                     int64_t from_stride, int64_t count) {
  if (size == 4)
    copy_row<4>(to, to_stride, from, from_stride, count);
  else if (size == 8)
    copy_row<8>(to, to_stride, from, from_stride, count);
  else if (size == 1)
    copy_row<1>(to, to_stride, from, from_stride, count);
  else
    copy_row<2>(to, to_stride, from, from_stride, count);
}

// Serves strides that `loop` has no code for: block by block through dense buffers, so that the
// arithmetic is vectorized all the same. From element `start` on; `loop` is called with multiples
// of `multiple` elements.
__attribute__((noinline)) inline void run_blocks(tenon_loop loop, const int64_t* sizes,
                                                 int64_t rows, int64_t multiple, char* const* data,
                                                 const int64_t* strides, int64_t start,
                                                 int64_t count, const tenon_value* parameters) {
  constexpr int64_t block = 512;
  alignas(64) char buffers[4][block * 8];
  bool filled = false;
  while (start < count) {
    const int64_t n = count - start < block ? count - start : block;
    const int64_t padded = (n + multiple - 1) / multiple * multiple;
    char* dense[4];
    for (int64_t i = 0; i < rows; ++i) {
      char* const row = data[i] + start * strides[i];
      const bool direct = strides[i] == sizes[i] && padded == n;
      dense[i] = direct ? row : buffers[i];
      // A repeated element fills its buffer once. What pads the last block must be valid: its last
      // element.
      if (i == 0 || direct || (strides[i] == 0 && filled)) continue;
      copy_row(sizes[i], buffers[i], sizes[i], row, strides[i], n);
      copy_row(sizes[i], buffers[i] + n * sizes[i], sizes[i], row + (n - 1) * strides[i], 0,
               padded - n);
    }
    filled = true;
    loop(dense, sizes, padded, parameters);
    if (dense[0] == buffers[0]) {
      copy_row(sizes[0], data[0] + start * strides[0], strides[0], buffers[0], sizes[0], n);
    }
    start += n;
  }
}

// One inner loop, `self` by name. `First` is the type of the first input: bool for conditions, else
// T. Whole: an element is costly, so it runs on full registers only; and no result depends on its
// place in the row.
template <class Kernel, class Out, class T, class First, bool Whole, size_t... I, size_t... P>
TENON_INLINE void run_loop(tenon_loop self, char* const* data, const int64_t* strides,
                           int64_t count, const tenon_value* parameters, std::index_sequence<I...>,
                           std::index_sequence<P...>) {
  static constexpr int64_t sizes[] = {sizeof(Out), (I == 0 ? sizeof(First) : sizeof(T))...};
  constexpr int64_t multiple = Whole ? register_elements<T> : 1;
  const T p[sizeof...(P) + 1] = {parameter_as<T>(parameters[P])..., T{}};
  (void)p;
  const auto apply = [&](auto... in) __attribute__((always_inline)) {
    return static_cast<Out>(Kernel::element(in..., p[P]...));
  };
  auto* out = reinterpret_cast<Stored<Out>*>(data[0]);
  const auto* first = reinterpret_cast<const Stored<First>*>(data[1]);
  struct {
    char* const* data;
    const int64_t* strides;
    int64_t start, count;
    const tenon_value* parameters;
  } left{data, strides, 0, count, parameters};
  if (count == 1 || (strides[0] == sizes[0] && ((strides[I + 1] == sizes[I + 1]) && ...))) {
    const int64_t done = count & -multiple;
    left.start = done;
    // Vector functions keep few registers: these are for the loop, and what comes after it waits in
    // memory.
    if constexpr (Whole) __asm__ volatile("" : "+m"(left));
    const auto* const* rest = reinterpret_cast<const Stored<T>* const*>(data + 2);
    const auto run = [&](const auto*... more) __attribute__((always_inline)) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < done; ++i) out[i] = apply(load<First>(first[i]), load<T>(more[i])...);
    };
    if constexpr (sizeof...(I) == 1)
      run();
    else if constexpr (sizeof...(I) == 2)
      run(rest[0]);
    else
      run(rest[0], rest[1]);
  } else if constexpr (sizeof...(I) == 2 && !Whole && std::is_same_v<First, T> &&
                       std::is_floating_point_v<T>) {
    const auto* second = reinterpret_cast<const T*>(data[2]);
    if (strides[0] == sizes[0] && strides[1] == sizes[1] && strides[2] == 0) {
      const T number = *second;
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) out[i] = apply(first[i], number);
      left.start = count;
    } else if (strides[0] == sizes[0] && strides[1] == 0 && strides[2] == sizes[2]) {
      const T number = *first;
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) out[i] = apply(number, second[i]);
      left.start = count;
    }
  }
  if (left.start < left.count) {
    run_blocks(self, sizes, sizeof...(I) + 1, multiple, left.data, left.strides, left.start,
               left.count, left.parameters);
  }
}

template <class Kernel, class = void>
struct PromotionOf : std::integral_constant<uint32_t, TENON_PROMOTE_COMMON> {};
template <class Kernel>
struct PromotionOf<Kernel, std::void_t<decltype(Kernel::promotion)>>
    : std::integral_constant<uint32_t, Kernel::promotion> {};
template <class Kernel, class = void>
struct DTypesOf : std::integral_constant<uint32_t, PromotionOf<Kernel>::value == TENON_PROMOTE_FLOAT
                                                       ? floating_dtypes
                                                       : computed_dtypes> {};
template <class Kernel>
struct DTypesOf<Kernel, std::void_t<decltype(Kernel::dtypes)>>
    : std::integral_constant<uint32_t, Kernel::dtypes> {};

template <class Kernel, class = void>
struct CostlyOf : std::bool_constant<PromotionOf<Kernel>::value == TENON_PROMOTE_FLOAT> {};
template <class Kernel>
struct CostlyOf<Kernel, std::void_t<decltype(Kernel::costly)>>
    : std::bool_constant<Kernel::costly> {};

template <class Kernel, class T>
struct Loops {
  static constexpr SchemaCounts counts = count_schema(Kernel::schema);
  static constexpr uint32_t promotion = PromotionOf<Kernel>::value;
  using First = std::conditional_t<promotion == TENON_PROMOTE_CONDITION, bool, T>;
  static constexpr bool whole =
      TENON_HAS_VECTOR_CALLS && CostlyOf<Kernel>::value && std::is_floating_point_v<T>;
  using Out = std::conditional_t<promotion == TENON_PROMOTE_COMPARE, bool, T>;
  using Inputs = std::make_index_sequence<static_cast<size_t>(counts.operands)>;
  using Parameters = std::make_index_sequence<static_cast<size_t>(
      counts.parameters - counts.operands - counts.has_out)>;
  TENON_VECTORIZE static void baseline(char* const* data, const int64_t* strides, int64_t count,
                                       const tenon_value* parameters) {
    run_loop<Kernel, Out, T, First, whole>(baseline, data, strides, count, parameters, Inputs{},
                                           Parameters{});
  }
#if TENON_HAS_ISA_LOOPS
  TENON_TARGET_V3 static void v3(char* const* data, const int64_t* strides, int64_t count,
                                 const tenon_value* parameters) {
    run_loop<Kernel, Out, T, First, whole>(v3, data, strides, count, parameters, Inputs{},
                                           Parameters{});
  }
  TENON_TARGET_V4 static void v4(char* const* data, const int64_t* strides, int64_t count,
                                 const tenon_value* parameters) {
    run_loop<Kernel, Out, T, First, whole>(v4, data, strides, count, parameters, Inputs{},
                                           Parameters{});
  }
#endif
};

constexpr size_t loop_index(size_t isa, size_t dtype) {
  return isa * TENON_COMPUTED_DTYPE_COUNT + dtype;
}
struct LoopTable {
  tenon_loop loops[loop_index(TENON_ISA_COUNT, 0)];
};

template <class Kernel, class T>
constexpr void add_loops(LoopTable& table) {
  constexpr auto dtype = static_cast<size_t>(dtype_of<T>());
  if constexpr ((DTypesOf<Kernel>::value >> dtype & 1u) != 0) {
    table.loops[dtype] = Loops<Kernel, T>::baseline;
    // Wider loops where they pay for their size.
#if TENON_HAS_ISA_LOOPS
    if constexpr (sizeof(T) >= 4)
      table.loops[loop_index(TENON_ISA_V3, dtype)] = Loops<Kernel, T>::v3;
    if constexpr (std::is_floating_point_v<T>) {
      table.loops[loop_index(TENON_ISA_V4, dtype)] = Loops<Kernel, T>::v4;
    }
#endif
  }
}
template <class Kernel>
constexpr LoopTable make_loops() {
  LoopTable table{};
#define TENON_ADD(name, code, bytes, type, text, kind, identifier) \
  add_loops<Kernel, ElementType<identifier>>(table);
  TENON_COMPUTED_DTYPES(TENON_ADD)
#undef TENON_ADD
  return table;
}

template <class Kernel>
struct LoopsOf {
  static constexpr LoopTable table = make_loops<Kernel>();
};
// The loops of ops whose `dtypes` have complex_dtypes. Defined by tenon/kernel/complex.hpp, which
// such an op includes.
template <class Kernel>
struct ComplexLoopsOf;
template <class Kernel>
constexpr const tenon_loop* complex_loops() {
  if constexpr ((DTypesOf<Kernel>::value & complex_dtypes) != 0)
    return ComplexLoopsOf<Kernel>::loops;
  else
    return nullptr;
}
template <class Definition, class = void>
struct KernelOf {
  using Type = Definition;
};
template <class Definition>
struct KernelOf<Definition, std::void_t<typename Definition::Kernel>> {
  using Type = typename Definition::Kernel;
};
template <class Definition>
struct ElementwiseOf {
  static constexpr tenon_elementwise value{
      sizeof(tenon_elementwise), PromotionOf<Definition>::value,
      LoopsOf<typename KernelOf<Definition>::Type>::table.loops,
      complex_loops<typename KernelOf<Definition>::Type>()};
};

}  // namespace detail

TENON_NAMESPACE_END
