// Moving elements: the plan of a strided copy, and the loops that carry it out.
#include "core/tensor/copy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
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

// ---- rows: n elements at fixed distances (in bytes) ----

// The unsigned integer of an element's width: moving elements, and transposing them, moves bits.
template <size_t Bytes>
using Bits =
    std::tuple_element_t<std::countr_zero(Bytes), std::tuple<uint8_t, uint16_t, uint32_t, uint64_t,
                                                             std::array<uint64_t, 2>>>;

// An element of any dtype in memory, complex numbers at multiples of their parts.
template <size_t Bytes>
struct [[gnu::may_alias, gnu::packed]] MovedElement {
  Bits<Bytes> value;
};

template <size_t Bytes>
void move_row(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  using T = MovedElement<Bytes>;
  constexpr int64_t kBytes = Bytes;
  if (to_step == kBytes && from_step == kBytes) {
    std::memcpy(to, from, static_cast<size_t>(count * kBytes));
  } else if (from_step == 0) {
    const T value = *reinterpret_cast<const T*>(from);
    if (to_step == kBytes) {
      std::fill_n(reinterpret_cast<T*>(to), count, value);
    } else {
      for (int64_t i = 0; i < count; ++i) *reinterpret_cast<T*>(to + i * to_step) = value;
    }
  } else {
    for (int64_t i = 0; i < count; ++i)
      *reinterpret_cast<T*>(to + i * to_step) = *reinterpret_cast<const T*>(from + i * from_step);
  }
}

// Converts elements that are beside each other, on both sides. Only restricted parameters let the compiler
// vectorize it.
using Line = void (*)(void* __restrict to, const void* __restrict from, int64_t count);

template <class To, class From>
void convert_line(void* __restrict to, const void* __restrict from, int64_t count) {
  auto* __restrict results = static_cast<Stored<To>*>(to);
  const auto* __restrict elements = static_cast<const Stored<From>*>(from);
  for (int64_t i = 0; i < count; ++i) results[i] = convert<To, From>(elements[i]);
}

// ---- tiles: both sides contiguous, but along different axes ----

constexpr int64_t kLine = 64;

template <class T>
constexpr int64_t kTile = kLine / static_cast<int64_t>(sizeof(T));  // elements of one cache line

template <class T>
using Vector [[gnu::vector_size(16)]] = Bits<sizeof(T)>;

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
// contiguous, through `line` where it is given. Each tile is read by lines into a buffer and written by lines,
// so no line is touched twice even where all rows fall into the same cache set.
using Block = void (*)(Line line, int64_t from_bytes, char* to, int64_t to_step, const char* from,
                       int64_t from_step, int64_t rows, int64_t columns, bool streaming);

template <size_t Bytes>
void transpose_block(Line line, int64_t from_bytes, char* to, int64_t to_step, const char* from,
                     int64_t from_step, int64_t rows, int64_t columns, bool streaming) {
  using T = Bits<Bytes>;
  constexpr int64_t kSide = kTile<T>;
  alignas(kLine) T tile[kSide][kSide];
  alignas(kLine) T lines[kSide][kSide];
  for (int64_t j = 0; j < columns; j += kSide) {
    const int64_t width = std::min(kSide, columns - j);
    for (int64_t i = 0; i < rows; i += kSide) {
      const int64_t height = std::min(kSide, rows - i);
      const char* corner = from + i * from_step + j * from_bytes;
      char* target = to + j * to_step + i * static_cast<int64_t>(Bytes);
      const bool whole = width == kSide && height == kSide;
      for (int64_t row = 0; row < height; ++row) {
        const char* in = corner + row * from_step;
        if (line != nullptr)
          line(tile[row], in, width);
        else if (whole)
          std::memcpy(tile[row], in, kLine);
        else
          std::memcpy(tile[row], in, static_cast<size_t>(width) * Bytes);
      }
      if (!whole) {
        for (int64_t column = 0; column < width; ++column) {
          auto* out = reinterpret_cast<MovedElement<Bytes>*>(target + column * to_step);
          for (int64_t k = 0; k < height; ++k)
            out[k] = reinterpret_cast<const MovedElement<Bytes>*>(tile[k])[column];
        }
        continue;
      }
      transpose_tile(tile, lines);
      if (streaming) {
        for (int64_t k = 0; k < kSide; ++k) write_line<true>(target + k * to_step, lines[k]);
      } else {
        for (int64_t k = 0; k < kSide; ++k) write_line<false>(target + k * to_step, lines[k]);
      }
    }
  }
}

// ---- the loops for a pair of dtypes ----

struct Loops {
  Line line;    // null: elements are moved as they are, or `row` converts them
  Row row;      // where `line` is null
  Block block;  // null: there is none for the width, or `row` converts
};

// Copies without conversion only depend on the width.
constexpr Loops kMoves[] = {{nullptr, &move_row<1>, &transpose_block<1>},
                            {nullptr, &move_row<2>, &transpose_block<2>},
                            {nullptr, &move_row<4>, &transpose_block<4>},
                            {nullptr, &move_row<8>, &transpose_block<8>},
                            {nullptr, &move_row<16>, nullptr}};
const Loops& loops_that_move(int64_t bytes) {
  return kMoves[std::countr_zero(static_cast<uint64_t>(bytes))];
}

template <class To, class From>
constexpr Line line_for() {
  // Complex elements do not become real ones.
  if constexpr (converts<To, From> && !std::is_same_v<To, From>)
    return &convert_line<To, From>;
  else
    return nullptr;
}

Loops loops_for(tenon_dtype to, tenon_dtype from) {
  if (to == from) return loops_that_move(dtype_bytes(to));
  if (dtype_narrow(to) || dtype_narrow(from)) return {nullptr, narrow_row(to, from), nullptr};
  const Line line = visit_dtype(to, [from](auto to_type) {
    return visit_dtype(from, [](auto from_type) {
      return line_for<typename decltype(to_type)::type, typename decltype(from_type)::type>();
    });
  });
  return {line, nullptr, line == nullptr ? nullptr : loops_that_move(dtype_bytes(to)).block};
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

// Elements that are converted at once where they are not beside each other.
constexpr int64_t kGathered = 256;
constexpr int64_t kWidest = 16;

// Converts a row of the plan by `line`, which needs elements beside each other.
void convert_row(const Plan& plan, Line line, char* to, int64_t to_step, const char* from,
                 int64_t from_step, int64_t count) {
  const bool gathered = from_step != plan.from_bytes;
  const bool scattered = to_step != plan.to_bytes;
  if (!gathered && !scattered) return line(to, from, count);
  alignas(kWidest) char elements[kGathered * kWidest];
  alignas(kWidest) char results[kGathered * kWidest];
  if (from_step == 0) {
    line(results, from, 1);
    return loops_that_move(plan.to_bytes).row(to, to_step, results, 0, count);
  }
  for (int64_t begin = 0; begin < count; begin += kGathered) {
    const int64_t size = std::min(kGathered, count - begin);
    const char* in = from + begin * from_step;
    char* out = to + begin * to_step;
    if (gathered)
      loops_that_move(plan.from_bytes).row(elements, plan.from_bytes, in, from_step, size);
    line(scattered ? results : out, gathered ? elements : in, size);
    if (scattered) loops_that_move(plan.to_bytes).row(out, to_step, results, plan.to_bytes, size);
  }
}

void run_rows(const Plan& plan, const Loops& loops) {
  const auto row = [&](char* to, int64_t to_step, const char* from, int64_t from_step,
                       int64_t count) {
    if (loops.line != nullptr)
      convert_row(plan, loops.line, to, to_step, from, from_step, count);
    else
      loops.row(to, to_step, from, from_step, count);
  };
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
void run_blocks(const Plan& plan, int64_t across, const Loops& loops) {
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
  parallel_for(
      0, outer, std::max<int64_t>(kGrainBytes / bytes, 1), [&](int64_t begin, int64_t end) {
        int64_t row_block = begin % row_blocks;
        int64_t column_block = begin / row_blocks % column_blocks;
        Walk walk(outer_axes, outer_rank, begin / row_blocks / column_blocks);
        for (int64_t k = begin; k < end; ++k) {
          const int64_t i = row_block * block_rows;
          const int64_t j = column_block * kBlockColumns;
          loops.block(loops.line, plan.from_bytes, plan.to + walk.to + j * columns.to + i * rows.to,
                      columns.to, plan.from + walk.from + j * columns.from + i * rows.from,
                      rows.from, std::min(block_rows, rows.size - i),
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

void run(Plan plan, const Loops& loops) {
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
      run_blocks(plan, across, loops);
      return;
    }
    if (inner.size < 8)
      std::rotate(plan.axes + longest, plan.axes + longest + 1, plan.axes + plan.rank);
  }
  run_rows(plan, loops);
}

// ---- checks ----

void check_writable(const Tensor& destination, const char* verb) {
  if (destination.has_flag(TENON_TENSOR_READ_ONLY)) {
    throw_value_error(format_text("cannot {} a read-only tensor of shape {}: copy it first", verb,
                                  shape_text(destination.shape())));
  }
  if (destination.storage == nullptr) {
    throw_value_error(format_text("cannot {} a tensor that has a shape but no data: {}", verb,
                                  shape_text(destination.shape())));
  }
}
void check_distinct(const Tensor& destination) {
  for (size_t i = 0; i < destination.view.rank; ++i) {
    if (destination.view.strides[i] == 0 && destination.view.shape[i] > 1 &&
        destination.view.count != 0) {
      throw_value_error(
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
  run(plan, loops_for(destination.view.dtype, source.view.dtype));
}

}  // namespace

void copy(Tensor& destination, const Tensor& source) {
  check_writable(destination, "copy into");
  check_distinct(destination);
  if (source.storage == nullptr) {
    throw_value_error(format_text("cannot copy from a tensor that has a shape but no data: {}",
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
      throw_value_error(misfit_text(number, destination.view.dtype));
    const Sizes strides = expanded_strides({}, {}, destination.shape());
    alignas(kWidest) char element[kWidest];
    tenon_value given = number;
    if (dtype_narrow(destination.view.dtype) && dtype == TENON_I64) {
      given.as.number = static_cast<double>(number.as.integer);
      dtype = TENON_F64;
    }
    const int64_t bytes = dtype_bytes(destination.view.dtype);
    const Loops loops = loops_for(destination.view.dtype, dtype);
    if (loops.line != nullptr)
      loops.line(element, &given.as, 1);
    else
      loops.row(element, bytes, reinterpret_cast<const char*>(&given.as), 8, 1);
    run(make_plan(destination, element, bytes, strides), loops_that_move(bytes));
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
    throw_value_error(format_text("item() needs a tensor of one element, this one has shape {}",
                                  shape_text(tensor.shape())));
  }
  if (tensor.view.data == nullptr)
    throw_value_error("item() needs data, this tensor has only a shape");
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
        throw_value_error(
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
    throw_value_error(format_text("cannot copy from a tensor that has a shape but no data: {}",
                                  shape_text(source.shape())));
  }
  copy_elements(*result, source);
  return result;
}

}  // namespace tenon::core
