// Moving elements: the plan of a strided copy, and the loops that carry it out.
#include "core/tensor/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/machine.hpp"
#include "core/base/parallel.hpp"
#include "core/base/text.hpp"
#include "core/tensor/convert.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/narrow.hpp"

namespace tenon::core {

namespace {

// Least bytes of a thread's chunk: fewer are not worth the hand-over.
constexpr int64_t kGrainBytes = int64_t{256} << 10;

[[noreturn]] void fail(std::string message) { throw Error(TENON_ERROR_VALUE, std::move(message)); }

// ---- rows: n elements at fixed distances (in bytes) ----

// On its own, because only restricted parameters let the compiler vectorize it.
template <class To, class From>
[[gnu::noinline]] void convert_line(Stored<To>* __restrict to, const Stored<From>* __restrict from,
                                    int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = convert<To, From>(from[i]);
}

template <class To, class From>
void convert_row(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  using StoredTo = Stored<To>;
  using StoredFrom = Stored<From>;
  constexpr int64_t kTo = sizeof(StoredTo);
  constexpr int64_t kFrom = sizeof(StoredFrom);
  if (to_step == kTo && from_step == kFrom) {
    if constexpr (std::is_same_v<To, From>) {
      std::memcpy(to, from, static_cast<size_t>(count * kTo));
    } else {
      convert_line<To, From>(reinterpret_cast<StoredTo*>(to),
                             reinterpret_cast<const StoredFrom*>(from), count);
    }
  } else if (from_step == 0) {
    const StoredTo value = convert<To, From>(*reinterpret_cast<const StoredFrom*>(from));
    if (to_step == kTo) {
      std::fill_n(reinterpret_cast<StoredTo*>(to), count, value);
    } else {
      for (int64_t i = 0; i < count; ++i) *reinterpret_cast<StoredTo*>(to + i * to_step) = value;
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      *reinterpret_cast<StoredTo*>(to + i * to_step) =
          convert<To, From>(*reinterpret_cast<const StoredFrom*>(from + i * from_step));
    }
  }
}

// ---- tiles: both sides contiguous, but along different axes ----

constexpr int64_t kLine = 64;

template <class T>
constexpr int64_t kTile = kLine / static_cast<int64_t>(sizeof(T));  // elements of one cache line

// The unsigned integer of an element's width: transposing moves bits.
template <size_t Bytes>
struct Bits;
template <>
struct Bits<1> {
  using Type = uint8_t;
};
template <>
struct Bits<2> {
  using Type = uint16_t;
};
template <>
struct Bits<4> {
  using Type = uint32_t;
};
template <>
struct Bits<8> {
  using Type = uint64_t;
};

template <class T>
using Vector [[gnu::vector_size(16)]] = typename Bits<sizeof(T)>::Type;

template <class V, size_t... I>
V interleave_low(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (I / 2 + (I % 2) * sizeof...(I))...);
}
template <class V, size_t... I>
V interleave_high(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (I / 2 + sizeof...(I) / 2 + (I % 2) * sizeof...(I))...);
}

// Transposes squares of as many elements as a vector holds by interleaving: log2 rounds of pairing
// each vector with the one half a square below.
template <class T>
void transpose_tile(const T (&from)[kTile<T>][kTile<T>], T (&to)[kTile<T>][kTile<T>]) {
  using V = Vector<T>;
  constexpr int64_t kWidth = 16 / static_cast<int64_t>(sizeof(T));
  constexpr auto kLanes = std::make_index_sequence<static_cast<size_t>(kWidth)>();
  for (int64_t j = 0; j < kTile<T>; j += kWidth) {
    for (int64_t i = 0; i < kTile<T>; i += kWidth) {
      V rows[kWidth];
      for (int64_t k = 0; k < kWidth; ++k) std::memcpy(&rows[k], &from[i + k][j], sizeof(V));
#pragma GCC unroll 4
      for (int64_t round = 1; round < kWidth; round *= 2) {
        V next[kWidth];
#pragma GCC unroll 8
        for (int64_t k = 0; k < kWidth / 2; ++k) {
          next[2 * k] = interleave_low(rows[k], rows[k + kWidth / 2], kLanes);
          next[2 * k + 1] = interleave_high(rows[k], rows[k + kWidth / 2], kLanes);
        }
#pragma GCC unroll 16
        for (int64_t k = 0; k < kWidth; ++k) rows[k] = next[k];
      }
      for (int64_t k = 0; k < kWidth; ++k) std::memcpy(&to[j + k][i], &rows[k], sizeof(V));
    }
  }
}

template <bool streaming>
void write_line(char* to, const void* line) {
  if constexpr (streaming)
    stream(to, line, kLine);
  else
    std::memcpy(to, line, kLine);
}

// A block of rows x columns: from[i * from_step + j], j contiguous, goes to to[j * to_step + i], i
// contiguous. Each tile is read by lines into a buffer and written by lines, so no line is touched
// twice even where all rows fall into the same cache set.
using Block = void (*)(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
                       int64_t columns, bool streaming);

template <class To, class From>
void convert_block(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
                   int64_t columns, bool streaming) {
  using StoredTo = Stored<To>;
  using StoredFrom = Stored<From>;
  constexpr int64_t kSide = kTile<StoredTo>;
  alignas(kLine) StoredTo tile[kSide][kSide];
  alignas(kLine) StoredTo lines[kSide][kSide];
  for (int64_t j = 0; j < columns; j += kSide) {
    const int64_t width = std::min(kSide, columns - j);
    for (int64_t i = 0; i < rows; i += kSide) {
      const int64_t height = std::min(kSide, rows - i);
      const char* corner = from + i * from_step + j * static_cast<int64_t>(sizeof(StoredFrom));
      char* target = to + j * to_step + i * static_cast<int64_t>(sizeof(StoredTo));
      if (width == kSide && height == kSide) {
        for (int64_t row = 0; row < kSide; ++row) {
          const auto* in = reinterpret_cast<const StoredFrom*>(corner + row * from_step);
          for (int64_t k = 0; k < kSide; ++k) tile[row][k] = convert<To, From>(in[k]);
        }
        transpose_tile(tile, lines);
        if (streaming) {
          for (int64_t k = 0; k < kSide; ++k) write_line<true>(target + k * to_step, lines[k]);
        } else {
          for (int64_t k = 0; k < kSide; ++k) write_line<false>(target + k * to_step, lines[k]);
        }
      } else {
        for (int64_t column = 0; column < width; ++column) {
          const auto* in = reinterpret_cast<const StoredFrom*>(corner) + column;
          auto* out = reinterpret_cast<StoredTo*>(target + column * to_step);
          for (int64_t k = 0; k < height; ++k) {
            out[k] = convert<To, From>(*reinterpret_cast<const StoredFrom*>(
                reinterpret_cast<const char*>(in) + k * from_step));
          }
        }
      }
    }
  }
}

// ---- the loops for a pair of dtypes ----

struct Loops {
  Row row;      // null: complex elements do not become real ones
  Block block;  // null: none is worth its size
};

template <class To, class From>
constexpr Row row_for() {
  if constexpr (converts<To, From>)
    return &convert_row<To, From>;
  else
    return nullptr;
}
// The tile loops of a pair of dtypes, where kernels compute in both.
template <class To, class From>
constexpr Block block_for() {
  if constexpr (dtype_computed(dtype_of<To>()) && dtype_computed(dtype_of<From>()))
    return &convert_block<To, From>;
  else
    return nullptr;
}

Loops loops_for(tenon_dtype to, tenon_dtype from) {
  if (dtype_narrow(to) || dtype_narrow(from)) return {narrow_row(to, from), nullptr};
  return visit_dtype(to, [from](auto to_type) {
    return visit_dtype(from, [](auto from_type) {
      using To = typename decltype(to_type)::type;
      using From = typename decltype(from_type)::type;
      return Loops{row_for<To, From>(), block_for<To, From>()};
    });
  });
}

// Copies without conversion only depend on the width.
tenon_dtype same_width(tenon_dtype dtype) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return TENON_U8;
    case 2:
      return TENON_I16;
    case 4:
      return TENON_I32;
    case 8:
      return TENON_I64;
    default:
      return TENON_C128;
  }
}

// ---- the plan: axes in the order of the destination's memory, merged where they can be ----

struct Axis {
  int64_t size;
  int64_t to;  // distances in bytes
  int64_t from;
};

struct Plan {
  char* to = nullptr;
  const char* from = nullptr;
  int64_t to_bytes = 0;  // bytes of one element
  int64_t from_bytes = 0;
  int64_t rank = 0;
  Axis axes[TENON_MAX_RANK];
};

Plan make_plan(const Tensor& destination, const void* from, int64_t from_bytes,
               Shape from_strides) {
  Plan plan;
  plan.to = static_cast<char*>(destination.view.data);
  plan.from = static_cast<const char*>(from);
  plan.to_bytes = dtype_bytes(destination.view.dtype);
  plan.from_bytes = from_bytes;
  for (size_t i = 0; i < destination.view.rank; ++i) {
    Axis axis{destination.view.shape[i], destination.view.strides[i] * plan.to_bytes,
              from_strides[i] * from_bytes};
    // Copies refuse a destination that repeats elements; fills write each of them once.
    if (axis.size == 1 || axis.to == 0) continue;
    if (axis.to < 0) {
      plan.to += (axis.size - 1) * axis.to;
      plan.from += (axis.size - 1) * axis.from;
      axis.to = -axis.to;
      axis.from = -axis.from;
    }
    int64_t place = plan.rank++;
    for (; place > 0 && plan.axes[place - 1].to < axis.to; --place)
      plan.axes[place] = plan.axes[place - 1];
    plan.axes[place] = axis;
  }
  int64_t kept = 0;
  for (int64_t i = 1; i < plan.rank; ++i) {
    Axis& outer = plan.axes[kept];
    const Axis& inner = plan.axes[i];
    if (outer.to == inner.size * inner.to && outer.from == inner.size * inner.from) {
      outer = Axis{outer.size * inner.size, inner.to, inner.from};
    } else {
      plan.axes[++kept] = inner;
    }
  }
  if (plan.rank == 0) plan.axes[0] = Axis{1, plan.to_bytes, from_bytes};
  plan.rank = kept + 1;
  return plan;
}

// Runs over the index space of some axes in row-major order, keeping both offsets.
class Walk {
 public:
  Walk(const Axis* axes, int64_t rank, int64_t start) : axes_(axes), rank_(rank) {
    for (int64_t i = rank; i-- > 0;) {
      index_[i] = start % axes[i].size;
      start /= axes[i].size;
      to += index_[i] * axes[i].to;
      from += index_[i] * axes[i].from;
    }
  }
  void next() {
    for (int64_t i = rank_; i-- > 0;) {
      to += axes_[i].to;
      from += axes_[i].from;
      if (++index_[i] < axes_[i].size) return;
      to -= axes_[i].size * axes_[i].to;
      from -= axes_[i].size * axes_[i].from;
      index_[i] = 0;
    }
  }

  int64_t to = 0;
  int64_t from = 0;

 private:
  const Axis* axes_;
  int64_t rank_;
  int64_t index_[TENON_MAX_RANK];
};

int64_t index_count(const Axis* axes, int64_t rank) {
  int64_t count = 1;
  for (int64_t i = 0; i < rank; ++i) count *= axes[i].size;
  return count;
}

void run_rows(const Plan& plan, Row row) {
  const int64_t outer_rank = plan.rank - 1;
  const Axis inner = plan.axes[outer_rank];
  const int64_t outer = index_count(plan.axes, outer_rank);
  const int64_t grain =
      std::max<int64_t>(kGrainBytes / std::max(plan.to_bytes, plan.from_bytes), 1);
  if (outer == 1) {
    parallel_for(0, inner.size, grain, [&](int64_t begin, int64_t end) {
      row(plan.to + begin * inner.to, inner.to, plan.from + begin * inner.from, inner.from,
          end - begin);
    });
    return;
  }
  // Few long rows: split each of them, else share them out.
  if (outer < 64 && inner.size >= 4 * grain) {
    Walk walk(plan.axes, outer_rank, 0);
    for (int64_t i = 0; i < outer; ++i, walk.next()) {
      parallel_for(0, inner.size, grain, [&](int64_t begin, int64_t end) {
        row(plan.to + walk.to + begin * inner.to, inner.to,
            plan.from + walk.from + begin * inner.from, inner.from, end - begin);
      });
    }
    return;
  }
  parallel_for(0, outer, std::max<int64_t>(grain / inner.size, 1), [&](int64_t begin, int64_t end) {
    Walk walk(plan.axes, outer_rank, begin);
    for (int64_t i = begin; i < end; ++i, walk.next()) {
      row(plan.to + walk.to, inner.to, plan.from + walk.from, inner.from, inner.size);
    }
  });
}

// Wide blocks let the processor's prefetcher follow the source's rows; two lines of each of the
// destination's rows are written together.
constexpr int64_t kBlockColumns = 512;
constexpr int64_t kBlockRowBytes = 2 * kLine;
constexpr int64_t kStreamingBytes = int64_t{4} << 20;

// `across`: the axis along which the source is contiguous; the destination is along the last.
void run_blocks(const Plan& plan, int64_t across, Block block) {
  Axis outer_axes[TENON_MAX_RANK];
  int64_t outer_rank = 0;
  bool aligned = reinterpret_cast<uintptr_t>(plan.to) % kLine == 0;
  for (int64_t i = 0; i < plan.rank - 1; ++i) {
    aligned = aligned && plan.axes[i].to % kLine == 0;
    if (i != across) outer_axes[outer_rank++] = plan.axes[i];
  }
  const Axis columns = plan.axes[across];
  const Axis rows = plan.axes[plan.rank - 1];
  const int64_t block_rows = kBlockRowBytes / plan.to_bytes;
  const int64_t row_blocks = (rows.size - 1) / block_rows + 1;
  const int64_t column_blocks = (columns.size - 1) / kBlockColumns + 1;
  const int64_t outer = index_count(outer_axes, outer_rank) * column_blocks * row_blocks;
  const bool streaming =
      aligned && index_count(plan.axes, plan.rank) * plan.to_bytes >= kStreamingBytes;
  const int64_t bytes = block_rows * std::min(columns.size, kBlockColumns) * plan.to_bytes;
  parallel_for(0, outer, std::max<int64_t>(kGrainBytes / bytes, 1),
               [&](int64_t begin, int64_t end) {
                 int64_t row_block = begin % row_blocks;
                 int64_t column_block = begin / row_blocks % column_blocks;
                 Walk walk(outer_axes, outer_rank, begin / row_blocks / column_blocks);
                 for (int64_t k = begin; k < end; ++k) {
                   const int64_t i = row_block * block_rows;
                   const int64_t j = column_block * kBlockColumns;
                   block(plan.to + walk.to + j * columns.to + i * rows.to, columns.to,
                         plan.from + walk.from + j * columns.from + i * rows.from, rows.from,
                         std::min(block_rows, rows.size - i),
                         std::min(kBlockColumns, columns.size - j), streaming);
                   if (++row_block < row_blocks) continue;
                   row_block = 0;
                   if (++column_block < column_blocks) continue;
                   column_block = 0;
                   walk.next();
                 }
                 if (streaming) finish_streams();
               });
}

void run(Plan plan, Loops loops) {
  const Axis inner = plan.axes[plan.rank - 1];
  if (plan.rank > 1 && inner.to == plan.to_bytes && inner.from != plan.from_bytes &&
      inner.from != 0 && loops.block != nullptr) {
    int64_t across = -1;
    int64_t longest = 0;
    for (int64_t i = 0; i < plan.rank - 1; ++i) {
      if (plan.axes[i].from == plan.from_bytes) across = i;
      if (plan.axes[i].size > plan.axes[longest].size) longest = i;
    }
    if (across >= 0 && inner.size >= 8 && plan.axes[across].size >= 8) {
      run_blocks(plan, across, loops.block);
      return;
    }
    if (inner.size < 8)
      std::rotate(plan.axes + longest, plan.axes + longest + 1, plan.axes + plan.rank);
  }
  run_rows(plan, loops.row);
}

// ---- checks ----

void check_writable(const Tensor& destination, const char* verb) {
  if (destination.has_flag(TENON_TENSOR_READ_ONLY)) {
    fail(format_text("cannot {} a read-only tensor of shape {}: copy it first", verb,
                     shape_text(destination.shape())));
  }
  if (destination.storage == nullptr) {
    fail(format_text("cannot {} a tensor that has a shape but no data: {}", verb,
                     shape_text(destination.shape())));
  }
}
void check_distinct(const Tensor& destination) {
  for (size_t i = 0; i < destination.view.rank; ++i) {
    if (destination.view.strides[i] == 0 && destination.view.shape[i] > 1 &&
        destination.view.count != 0) {
      fail(
          format_text("cannot copy into an expanded tensor of shape {}: dimension {} holds one "
                      "element in several places; copy it first",
                      shape_text(destination.shape()), i));
    }
  }
}

struct Range {
  const char* begin;
  const char* end;
};

Range memory_of(const Tensor& tensor) {
  const int64_t width = dtype_bytes(tensor.view.dtype);
  const char* data = static_cast<const char*>(tensor.view.data);
  Range range{data, data + width};
  for (size_t i = 0; i < tensor.view.rank; ++i) {
    const int64_t reach = (tensor.view.shape[i] - 1) * tensor.view.strides[i] * width;
    (reach < 0 ? range.begin : range.end) += reach;
  }
  return range;
}

bool overlap(const Tensor& a, const Tensor& b) {
  const Range range_a = memory_of(a);
  const Range range_b = memory_of(b);
  return range_a.begin < range_b.end && range_b.begin < range_a.end;
}

Sizes source_strides(const Tensor& destination, const Tensor& source) {
  try {
    return expanded_strides(source.shape(), source.strides(), destination.shape());
  } catch (const Error& error) {
    throw Error(error.kind, "cannot copy: the source's {}", error.message);
  }
}

void check_convertible(tenon_dtype to, tenon_dtype from) {
  if (!dtype_complex(from) || dtype_complex(to) || to == TENON_BOOL) return;
  throw Error(TENON_ERROR_TYPE,
              "{} elements cannot be converted to {}, which would drop their imaginary parts: take "
              "real(), imag() or abs() of the tensor first",
              dtype_text(from), dtype_text(to));
}

void copy_elements(Tensor& destination, const Tensor& source) {
  check_convertible(destination.view.dtype, source.view.dtype);
  const Sizes strides = source_strides(destination, source);
  if (destination.view.count == 0) return;
  const bool same = destination.view.dtype == source.view.dtype;
  if (overlap(destination, source)) {
    const bool identical =
        same && destination.view.data == source.view.data &&
        std::equal(strides.values, strides.values + strides.rank, destination.view.strides);
    if (!identical) copy_elements(destination, *contiguous_copy(source));
    return;
  }
  const tenon_dtype step = narrow_step(destination.view.dtype, source.view.dtype);
  if (step != TENON_DTYPE_NONE) return copy_elements(destination, *contiguous_copy(source, step));
  const Plan plan =
      make_plan(destination, source.view.data, dtype_bytes(source.view.dtype), strides);
  run(plan, same ? loops_for(same_width(source.view.dtype), same_width(source.view.dtype))
                 : loops_for(destination.view.dtype, source.view.dtype));
}

}  // namespace

void copy(Tensor& destination, const Tensor& source) {
  check_writable(destination, "copy into");
  check_distinct(destination);
  if (source.storage == nullptr) {
    fail(format_text("cannot copy from a tensor that has a shape but no data: {}",
                     shape_text(source.shape())));
  }
  copy_elements(destination, source);
  destination.storage->version.fetch_add(1, std::memory_order_relaxed);
}

bool number_fits(const tenon_value& number, tenon_dtype dtype) {
  if (dtype_narrow(dtype)) return true;
  return visit_dtype(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return number.tag == TENON_VALUE_FLOAT ? fits<T>(number.as.number) : fits<T>(number.as.integer);
  });
}

std::string misfit_text(const tenon_value& number, tenon_dtype dtype) {
  const std::string text = number.tag == TENON_VALUE_FLOAT ? float_text(number.as.number)
                                                           : std::to_string(number.as.integer);
  return visit_dtype(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return format_text("the number {} does not fit {}, which holds {} to {}", text,
                         dtype_text(dtype), std::numeric_limits<T>::min(),
                         std::numeric_limits<T>::max());
    } else {
      return format_text("the number {} does not fit {}", text, dtype_text(dtype));
    }
  });
}

void fill(Tensor& destination, const tenon_value& number) {
  check_writable(destination, "fill");
  tenon_dtype dtype = TENON_DTYPE_NONE;
  switch (number.tag) {
    case TENON_VALUE_BOOL:
    case TENON_VALUE_INT:
      dtype = TENON_I64;
      break;
    case TENON_VALUE_FLOAT:
      dtype = TENON_F64;
      break;
    default:
      throw Error(TENON_ERROR_TYPE, "a tensor is filled with a number, not with a value of tag {}",
                  number.tag);
  }
  if (destination.view.count != 0) {
    if (!number_fits(number, destination.view.dtype))
      fail(misfit_text(number, destination.view.dtype));
    const Sizes strides = expanded_strides({}, {}, destination.shape());
    alignas(16) char element[16];
    tenon_value given = number;
    if (dtype_narrow(destination.view.dtype) && dtype == TENON_I64) {
      given.as.number = static_cast<double>(number.as.integer);
      dtype = TENON_F64;
    }
    loops_for(destination.view.dtype, dtype)
        .row(element, 16, reinterpret_cast<const char*>(&given.as), 8, 1);
    const int64_t bytes = dtype_bytes(destination.view.dtype);
    const tenon_dtype width = same_width(destination.view.dtype);
    run(make_plan(destination, element, bytes, strides), loops_for(width, width));
  }
  destination.storage->version.fetch_add(1, std::memory_order_relaxed);
}

TensorRef make_zeros(tenon_dtype dtype, Shape shape) {
  TensorRef zeros = make_empty(dtype, shape);
  // Such a block holds zeros already, in pages that writing them would take.
  if (large_storage_is_lazy && zeros->storage->bytes >= Storage::kLargeBytes) return zeros;
  tenon_value zero{};
  zero.tag = TENON_VALUE_INT;
  fill(*zeros, zero);
  return zeros;
}

tenon_value item(const Tensor& tensor) {
  if (tensor.view.count != 1) {
    fail(format_text("item() needs a tensor of one element, this one has shape {}",
                     shape_text(tensor.shape())));
  }
  if (tensor.view.data == nullptr) fail("item() needs data, this tensor has only a shape");
  if (dtype_narrow(tensor.view.dtype)) return item(*contiguous_copy(tensor, TENON_F32));
  tenon_value value{};
  visit_dtype(tensor.view.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const auto element = *static_cast<const Stored<T>*>(tensor.view.data);
    if constexpr (is_complex<T>) {
      throw Error(TENON_ERROR_TYPE,
                  "item(): a {} element is two numbers: take real() and imag() of the tensor",
                  dtype_text(tensor.view.dtype));
    } else if constexpr (!std::is_integral_v<T>) {
      value.tag = TENON_VALUE_FLOAT;
      value.as.number = convert<double, T>(element);
    } else {
      if (!fits<int64_t>(element)) {
        fail(
            format_text("item(): the number {} does not fit i64; convert the tensor with to(), to "
                        "f64 for example",
                        element));
      }
      value.tag = std::is_same_v<T, bool> ? TENON_VALUE_BOOL : TENON_VALUE_INT;
      value.as.integer = convert<int64_t, T>(element);
    }
  });
  return value;
}

TensorRef contiguous_copy(const Tensor& source, tenon_dtype dtype) {
  TensorRef result =
      make_empty(dtype == TENON_DTYPE_NONE ? source.view.dtype : dtype, source.shape());
  if (source.storage == nullptr) {
    fail(format_text("cannot copy from a tensor that has a shape but no data: {}",
                     shape_text(source.shape())));
  }
  copy_elements(*result, source);
  return result;
}

}  // namespace tenon::core
