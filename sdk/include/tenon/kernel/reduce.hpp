// Reductions: a kernel says how elements become totals; this walks strided data without copying, in
// blocks that threads share.
//
//   const kernel::Reduction plan = kernel::plan_reduction("my.norm1", input, dims, keepdim);
//   const Tensor result = empty_tensor(plan.shape, input.dtype());
//   kernel::visit<floating_dtypes>(input.dtype(), [&](auto zero) {
//     using T = decltype(zero);
//     T* to = kernel::elements<T>(result);
//     kernel::reduce<kernel::LaneKernel<kernel::SumPolicy<T>>>(
//         input, plan, [=](int64_t at, double total) { to[at] = static_cast<T>(total); });
//   });
//
// A kernel is a struct:
//   using In, Total             stored element type; the state of one output, whose default value
//   is
//                               the empty reduction
//   ordered                     true: it reads positions along the one reduced dimension
//   wide                        true: worth compiling for wide vectors too
//   widest_columns              optional; true: columns<64> is worth compiling for v4
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
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tenon/kernel/isa.hpp"
#include "tenon/kernel/lanes.hpp"
#include "tenon/kernel/rows.hpp"
#include "tenon/kernel/shape.hpp"
#include "tenon/parallel.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// The reduction of a call: a bit for each reduced dimension, the result's shape, elements for each
// output.
struct Reduction {
  uint32_t mask = 0;   // bit i: dimension i is reduced
  Shape shape;         // shape of the result
  int64_t extent = 1;  // elements of each result
};
// No dims, or an empty list: all of them. IndexError for a dimension that is out of range,
// ValueError for one that is named twice.
inline Reduction plan_reduction(const char* op, const Tensor& input, std::optional<IntList> dims,
                                bool keepdim) {
  Reduction plan;
  const IntList shape = input.shape();
  const bool all = !dims || dims->empty();
  plan.mask = all ? ~0u : dimension_mask(op, *dims, shape.size());
  for (int64_t i = 0; i < shape.size(); ++i) {
    if ((plan.mask >> i & 1) != 0) {
      plan.extent *= shape[i];
      if (keepdim) plan.shape.push(1);
    } else {
      plan.shape.push(shape[i]);
    }
  }
  return plan;
}

// As above; ValueError for an empty reduction, which has no value.
inline Reduction plan_nonempty_reduction(const char* op, const Tensor& input,
                                         std::optional<IntList> dims, bool keepdim) {
  const Reduction plan = plan_reduction(op, input, dims, keepdim);
  if (plan.extent == 0) {
    for (int64_t i = 0; i < input.dim(); ++i) {
      if ((plan.mask >> i & 1) != 0 && input.shape()[i] == 0) {
        tenon::detail::throw_message(
            TENON_ERROR_VALUE,
            {op, "(): dimension ", i, " of shape ", shape_text(input.shape()),
             " has size 0 and the reduction has no identity: reduce dimensions with elements"});
      }
    }
  }
  return plan;
}

// Columns whose totals are held at once: kernels of columns need room for so many.
inline constexpr int64_t most_columns = 2048;
// The largest total, in bytes.
inline constexpr int64_t most_total_bytes = 24;

namespace detail {

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
// Destination of finished totals: output `at`, at + stride, ... of the row-major result.
struct Sink {
  const void* state;
  void (*write)(const void* state, int64_t at, int64_t stride, const char* totals, int64_t count);
};

struct Loop {
  int64_t size;
  int64_t in;  // strides in elements
  int64_t out;
};
// A reduction as loops: the kept ones in the order of the result, the reduced ones with the
// smallest stride last; at least one of the latter.
struct Nest {
  Loop kept[TENON_MAX_RANK];
  Loop reduced[TENON_MAX_RANK + 1];
  int64_t kept_count = 0;
  int64_t reduced_count = 0;
  int64_t offset = 0;  // offset of the first element, where negative strides were turned around
};

// Merges neighbours that step through memory as one.
inline void append(Loop* loops, int64_t& count, Loop loop) {
  if (count != 0 && loops[count - 1].in == loop.in * loop.size &&
      loops[count - 1].out == loop.out * loop.size) {
    loops[count - 1] = {loops[count - 1].size * loop.size, loop.in, loop.out};
  } else {
    loops[count++] = loop;
  }
}

// Repeated elements go outermost.
inline int64_t reach(const Loop& loop) { return loop.in == 0 ? INT64_MAX : loop.in; }

inline void make_nest(IntList shape, IntList strides, uint32_t mask, bool ordered, Nest& nest) {
  Shape out_strides(shape);
  int64_t out_stride = 1;
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    if ((mask >> i & 1) != 0) continue;
    out_strides[i] = out_stride;
    out_stride *= shape[i];
  }
  Loop reduced[TENON_MAX_RANK];
  int64_t count = 0;
  for (int64_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if ((mask >> i & 1) == 0) {
      append(nest.kept, nest.kept_count, {shape[i], strides[i], out_strides[i]});
      continue;
    }
    Loop loop{shape[i], strides[i], 0};
    if (!ordered && loop.in < 0) {
      nest.offset += loop.in * (loop.size - 1);
      loop.in = -loop.in;
    }
    int64_t at = count++;
    for (; !ordered && at > 0 && reach(reduced[at - 1]) < reach(loop); --at)
      reduced[at] = reduced[at - 1];
    reduced[at] = loop;
  }
  for (int64_t i = 0; i < count; ++i) append(nest.reduced, nest.reduced_count, reduced[i]);
  if (nest.reduced_count == 0) nest.reduced[nest.reduced_count++] = {1, 1, 0};
}

// Elements of one piece when a long reduction is cut, and the most pieces.
inline constexpr int64_t piece_elements = 1 << 16, most_pieces = 64;
// Outputs that runs of elements are reduced for at once.
inline constexpr int64_t row_batch = 32;
// The width that narrow lines are folded to, the widest lines that gain by it, and how many it
// takes.
inline constexpr int64_t fold_width = 256, narrow_width = 48, many_lines = 1024;

class Walk {
 public:
  Walk(const KernelTable& kernel, const Tensor& input, uint32_t mask, const Sink& sink)
      : kernel_(kernel), sink_(sink) {
    make_nest(input.shape(), input.strides(), mask, kernel.ordered, nest_);
    data_ =
        static_cast<const char*>(input.view_record().data) + nest_.offset * kernel.element_bytes;
    for (int64_t i = 0; i < nest_.reduced_count; ++i) {
      extent_ *= nest_.reduced[i].size;
      if (nest_.reduced[i].size > nest_.reduced[split_].size) split_ = i;
    }
    for (int64_t i = 0; i < nest_.kept_count; ++i) outputs_ *= nest_.kept[i].size;
  }

  void run() {
    if (outputs_ == 0) return;
    if (extent_ == 0) {
      Totals<1> empty;
      kernel_.clear(empty.bytes, 1);
      each_output(outputs_, [&](const char*, int64_t out) {
        sink_.write(sink_.state, out, 0, empty.bytes, 1);
      });
      return;
    }
    const Loop& inner = nest_.reduced[nest_.reduced_count - 1];
    if (inner.in != 1) {
      for (int64_t i = nest_.kept_count - 1; i >= 0; --i) {
        if (nest_.kept[i].in == 1 && (nest_.kept[i].size >= 8 || folds(nest_.kept[i])))
          return run_columns(i);
      }
    }
    run_rows();
  }

 private:
  template <int64_t Count>
  struct Totals {
    alignas(8) char bytes[Count * most_total_bytes];
  };

  // How often the reduction of one output is cut; by the shape alone, as the result depends on it.
  int64_t pieces() const {
    return std::min({extent_ * outputs_ / piece_elements, most_pieces, nest_.reduced[split_].size});
  }
  int64_t piece_begin(int64_t piece, int64_t count) const {
    const int64_t size = nest_.reduced[split_].size;
    return size / count * piece + std::min(piece, size % count);
  }

  // ---- runs of elements that are reduced ----
  void run_rows() {
    if (outputs_ < 16 && pieces() >= 2) return cut_rows();
    const Loop last = nest_.kept_count == 0 ? Loop{1, 0, 0} : nest_.kept[nest_.kept_count - 1];
    const int64_t split_size = nest_.reduced[split_].size;
    parallel_for(
        0, outputs_, std::max<int64_t>(1, thread_elements / extent_),
        [&](int64_t from, int64_t to) {
          Totals<row_batch> totals;
          for (int64_t at = from; at < to;) {
            int64_t in = 0, out = 0;
            locate(at, in, out);
            const int64_t batch = std::min({to - at, last.size - at % last.size, row_batch});
            kernel_.clear(totals.bytes, batch);
            add_rows(element(data_, in), batch, last.in, 0, split_size, totals.bytes);
            sink_.write(sink_.state, out, last.out, totals.bytes, batch);
            at += batch;
          }
        });
  }
  void cut_rows() {
    const int64_t count = pieces(), bytes = kernel_.total_bytes;
    each_output(outputs_, [&](const char* in, int64_t out) {
      Totals<most_pieces> partial;
      kernel_.clear(partial.bytes, count);
      parallel_for(0, count, 1, [&](int64_t from, int64_t to) {
        for (int64_t piece = from; piece < to; ++piece) {
          add_rows(in, 1, 0, piece_begin(piece, count), piece_begin(piece + 1, count),
                   partial.bytes + piece * bytes);
        }
      });
      for (int64_t i = 1; i < count; ++i)
        kernel_.merge(partial.bytes, partial.bytes + i * bytes, 1);
      sink_.write(sink_.state, out, 0, partial.bytes, 1);
    });
  }
  void add_rows(const char* in, int64_t rows, int64_t row_step, int64_t begin, int64_t end,
                char* totals) const {
    const int64_t stride = nest_.reduced[nest_.reduced_count - 1].in;
    walk(in, begin, end, [&](const char* at, int64_t position, int64_t count) {
      kernel_.rows(at, position, rows, row_step, count, stride, totals);
    });
  }

  // ---- lines of adjacent outputs ----
  void run_columns(int64_t column) {
    const Loop line = nest_.kept[column];
    for (int64_t i = column; i + 1 < nest_.kept_count; ++i) nest_.kept[i] = nest_.kept[i + 1];
    --nest_.kept_count;
    const int64_t outer = outputs_ / line.size;
    if (outputs_ <= most_columns && pieces() >= 2) return cut_columns(line, outer);
    // Columns do not meet, so cutting between them may follow the threads.
    int64_t panel = std::min(line.size, most_columns);
    const int64_t threads = thread_count();
    if (extent_ * outputs_ > thread_elements &&
        outer * ((line.size + panel - 1) / panel) < threads) {
      panel = std::max<int64_t>(64, ((line.size + threads - 1) / threads + 63) / 64 * 64);
      panel = std::min({panel, line.size, most_columns});
    }
    const int64_t panels = (line.size + panel - 1) / panel;
    const int64_t split_size = nest_.reduced[split_].size;
    const int64_t grain = std::max<int64_t>(1, thread_elements / (extent_ * panel));
    parallel_for(0, outer * panels, grain, [&](int64_t from, int64_t to) {
      Totals<most_columns> totals;
      for (int64_t task = from; task < to; ++task) {
        int64_t in = 0, out = 0;
        locate(task / panels, in, out);
        const int64_t begin = task % panels * panel;
        const int64_t width = std::min(panel, line.size - begin);
        kernel_.clear(totals.bytes, width);
        add_columns(element(data_, in + begin), width, line.size, 0, split_size, totals.bytes);
        sink_.write(sink_.state, out + begin * line.out, line.out, totals.bytes, width);
      }
    });
  }
  void cut_columns(const Loop& line, int64_t outer) {
    const int64_t count = pieces(), bytes = kernel_.total_bytes;
    std::vector<uint64_t> buffer(static_cast<size_t>(count * line.size * bytes / 8 + 1));
    char* const partial = reinterpret_cast<char*>(buffer.data());
    each_output(outer, [&](const char* in, int64_t out) {
      kernel_.clear(partial, count * line.size);
      parallel_for(0, count, 1, [&](int64_t from, int64_t to) {
        for (int64_t piece = from; piece < to; ++piece) {
          add_columns(in, line.size, line.size, piece_begin(piece, count),
                      piece_begin(piece + 1, count), partial + piece * line.size * bytes);
        }
      });
      for (int64_t i = 1; i < count; ++i)
        kernel_.merge(partial, partial + i * line.size * bytes, line.size);
      sink_.write(sink_.state, out, line.out, partial, line.size);
    });
  }
  // Narrow lines without gaps between them: several are taken as one wide line, whose parts are
  // merged after.
  bool folds(const Loop& line) const {
    const Loop& inner = nest_.reduced[nest_.reduced_count - 1];
    return !kernel_.ordered && inner.in == line.size && line.size <= narrow_width &&
           inner.size >= many_lines;
  }
  void add_columns(const char* in, int64_t width, int64_t line, int64_t begin, int64_t end,
                   char* totals) const {
    const int64_t row_stride = nest_.reduced[nest_.reduced_count - 1].in;
    const bool dense =
        !kernel_.ordered && width == line && row_stride == width && width <= narrow_width;
    walk(in, begin, end, [&](const char* at, int64_t position, int64_t count) {
      if (dense && count >= many_lines) {
        const int64_t fold = fold_width / width, folded = count / fold;
        Totals<fold_width> wide;
        kernel_.clear(wide.bytes, width * fold);
        kernel_.columns(at, position, folded, row_stride * fold, width * fold, wide.bytes);
        for (int64_t i = 0; i < fold; ++i) {
          kernel_.merge(totals, wide.bytes + i * width * kernel_.total_bytes, width);
        }
        at = element(at, folded * fold * row_stride);
        count -= folded * fold;
      }
      if (count > 0) kernel_.columns(at, position, count, row_stride, width, totals);
    });
  }

  // ---- shared ----
  const char* element(const char* in, int64_t offset) const {
    if (in == nullptr) return in;  // an empty tensor
    return in + offset * kernel_.element_bytes;
  }
  // Calls body(element, position, count) for each run of the innermost reduced loop, where the
  // split loop goes from `begin` to `end`.
  template <class Body>
  void walk(const char* in, int64_t begin, int64_t end, const Body& body) const {
    const int64_t last = nest_.reduced_count - 1;
    const Loop& inner = nest_.reduced[last];
    const int64_t position = split_ == last ? begin : 0;
    const int64_t count = split_ == last ? end - begin : inner.size;
    int64_t at = begin * nest_.reduced[split_].in;
    if (last == 0) return body(element(in, at), position, count);
    int64_t index[TENON_MAX_RANK] = {};
    for (;;) {
      body(element(in, at), position, count);
      int64_t i = last - 1;
      for (; i >= 0; --i) {
        const Loop& loop = nest_.reduced[i];
        const int64_t size = i == split_ ? end - begin : loop.size;
        at += loop.in;
        if (++index[i] < size) break;
        at -= size * loop.in;
        index[i] = 0;
      }
      if (i < 0) return;
    }
  }
  void locate(int64_t output, int64_t& in, int64_t& out) const {
    for (int64_t i = nest_.kept_count - 1; i >= 0; --i) {
      const Loop& loop = nest_.kept[i];
      const int64_t index = output % loop.size;
      output /= loop.size;
      in += index * loop.in;
      out += index * loop.out;
    }
  }
  template <class Body>
  void each_output(int64_t count, const Body& body) const {
    for (int64_t i = 0; i < count; ++i) {
      int64_t in = 0, out = 0;
      locate(i, in, out);
      body(element(data_, in), out);
    }
  }

  const KernelTable& kernel_;
  const char* data_;
  Nest nest_;
  const Sink& sink_;
  int64_t extent_ = 1, outputs_ = 1;
  int64_t split_ = 0;  // the largest reduced loop: the one that is cut
};

inline void walk_reduction(const KernelTable& kernel, const Tensor& input, const Reduction& plan,
                           const Sink& sink) {
  // The whole of a small tensor needs no loops around it.
  if (plan.extent == input.numel() && input.is_contiguous() && plan.extent < 2 * piece_elements &&
      plan.extent > 0) {
    alignas(8) char total[most_total_bytes];
    kernel.clear(total, 1);
    kernel.rows(static_cast<const char*>(input.view_record().data), 0, 1, 0, plan.extent, 1, total);
    sink.write(sink.state, 0, 0, total, 1);
    return;
  }
  Walk(kernel, input, plan.mask, sink).run();
}

template <class Kernel, int Bytes>
struct RowsOf {
  TENON_INLINE static void run(const char* in, int64_t position, int64_t rows, int64_t row_step,
                               int64_t count, int64_t stride, char* totals) {
    Kernel::template rows<Bytes>(reinterpret_cast<const typename Kernel::In*>(in), position, rows,
                                 row_step, count, stride,
                                 reinterpret_cast<typename Kernel::Total*>(totals));
  }
};
template <class Kernel, int Bytes>
struct ColumnsOf {
  TENON_INLINE static void run(const char* in, int64_t position, int64_t rows, int64_t row_stride,
                               int64_t columns, char* totals) {
    Kernel::template columns<Bytes>(reinterpret_cast<const typename Kernel::In*>(in), position,
                                    rows, row_stride, columns,
                                    reinterpret_cast<typename Kernel::Total*>(totals));
  }
};

template <class Kernel, class = void>
constexpr bool has_widest_columns = false;
template <class Kernel>
constexpr bool has_widest_columns<Kernel, std::void_t<decltype(Kernel::widest_columns)>> =
    Kernel::widest_columns;

// A kernel as compiled for the baseline, and for v3 and v4 where it asks for that.
template <class Kernel>
struct CompiledReduction {
  using Total = typename Kernel::Total;
  static_assert(sizeof(Total) <= most_total_bytes && alignof(Total) <= 8,
                "totals are stored in buffers of the walk");
  static void clear(char* totals, int64_t count) {
    std::fill_n(reinterpret_cast<Total*>(totals), count, Total{});
  }
  static void merge(char* totals, const char* others, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      Kernel::merge(reinterpret_cast<Total*>(totals)[i], reinterpret_cast<const Total*>(others)[i]);
    }
  }
  // Vectors of two registers where none are wider: as many lanes as v3 has, so that rounding adds up
  // no further.
  static constexpr int narrowest = Kernel::wide ? 32 : 16;
  static constexpr KernelTable baseline{sizeof(typename Kernel::In),
                                        sizeof(Total),
                                        Kernel::ordered,
                                        run_baseline<RowsOf<Kernel, narrowest>>,
                                        run_baseline<ColumnsOf<Kernel, narrowest>>,
                                        clear,
                                        merge};

  static const KernelTable& table() {
#if TENON_HAS_ISA_LOOPS
    if constexpr (has_widest_columns<Kernel>) {
      static constexpr KernelTable v4{sizeof(typename Kernel::In),
                                      sizeof(Total),
                                      Kernel::ordered,
                                      run_v3<RowsOf<Kernel, 32>>,
                                      run_v4<ColumnsOf<Kernel, 64>>,
                                      clear,
                                      merge};
      if (machine_isa() >= TENON_ISA_V4) return v4;
    }
    if constexpr (Kernel::wide) {
      static constexpr KernelTable v3{sizeof(typename Kernel::In),
                                      sizeof(Total),
                                      Kernel::ordered,
                                      run_v3<RowsOf<Kernel, 32>>,
                                      run_v3<ColumnsOf<Kernel, 32>>,
                                      clear,
                                      merge};
      if (machine_isa() >= TENON_ISA_V3) return v3;
    }
#endif
    return baseline;
  }
};

}  // namespace detail

// Reduces `input` by Kernel; calls finish(offset in the row-major result, total) for every output,
// each once, from several threads.
template <class Kernel, class Finish>
void reduce(const Tensor& input, const Reduction& plan, const Finish& finish) {
  using Total = typename Kernel::Total;
  const auto write = [](const void* state, int64_t at, int64_t stride, const char* totals,
                        int64_t count) {
    const auto& store = *static_cast<const Finish*>(state);
    for (int64_t i = 0; i < count; ++i)
      store(at + i * stride, reinterpret_cast<const Total*>(totals)[i]);
  };
  detail::walk_reduction(detail::CompiledReduction<Kernel>::table(), input, plan, {&finish, write});
}

// ---- kernels made of lanes ----

// A kernel from a policy: the members of lanes.hpp, and
//   using Total                what blocks of elements are gathered in
//   block_elements             elements that a few lanes may gather before they go to the total
//   add(Total&, Lane), merge(Total&, const Total&)
template <class Policy>
struct LaneKernel {
  using In = typename Policy::In;         // element type
  using Lane = typename Policy::Lane;     // partial result
  using Total = typename Policy::Total;   // whole result
  static constexpr bool ordered = false;  // pieces may be joined in any order
  // Bytes and shorts are rare enough for narrow vectors, unless they are gathered in wide lanes.
  static constexpr bool wide = sizeof(In) >= 4 || sizeof(Lane) >= 4;
  // Comparisons of the widest vectors are not vectorized well.
  static constexpr bool widest_columns = std::is_floating_point_v<In> && !Policy::separates_nan;
  static constexpr int64_t row_block = Policy::block_elements;  // elements of a piece of a row
  static constexpr int64_t column_block =
      Policy::block_elements / 16;  // rows of a piece of columns

  // Joins the results of two pieces.
  static void merge(Total& total, const Total& other) { Policy::merge(total, other); }

  // Adds each row, of `count` elements, to its total.
  template <int Bytes>
  TENON_INLINE static void rows(const In* in, int64_t, int64_t rows, int64_t row_step,
                                int64_t count, int64_t stride, Total* totals) {
    for (int64_t r = 0; r < rows; ++r, in += row_step) {
      for (int64_t from = 0; from < count; from += row_block) {
        const int64_t block = count - from < row_block ? count - from : row_block;
        if (stride == 1)
          Policy::add(totals[r], gather_run<Policy, Bytes, 4096>(in + from, block));
        else
          Policy::add(totals[r], gather_strided<Policy>(in + from * stride, block, stride));
      }
    }
  }

  // Adds each column to its total.
  template <int Bytes>
  TENON_INLINE static void columns(const In* in, int64_t, int64_t rows, int64_t row_stride,
                                   int64_t columns, Total* totals) {
    alignas(64) Lane lanes[most_columns];
    for (int64_t from = 0; from < rows; from += column_block) {
      const int64_t block = rows - from < column_block ? rows - from : column_block;
      for (int64_t c = 0; c < columns; ++c) lanes[c] = Policy::identity();
      int64_t r = 0;
      for (; r + 4 <= block; r += 4, in += 4 * row_stride) {
        if constexpr (Bytes == 64) {
          if (columns >= long_line) fetch_lines<4>(in + 4 * row_stride, row_stride);
        }
        add_lines<Bytes, 4>(in, row_stride, columns, lanes);
      }
      for (; r < block; ++r, in += row_stride) add_lines<Bytes, 1>(in, row_stride, columns, lanes);
      for (int64_t c = 0; c < columns; ++c) Policy::add(totals[c], lanes[c]);
    }
  }

 private:
  // Processors with the widest vectors see where long lines continue, and are asked for their beginnings alone:
  // asking for all of them takes longer.
  static constexpr int64_t long_line = 1024;
  template <int Lines>
  TENON_INLINE static void fetch_lines(const In* in, int64_t row_stride) {
    constexpr auto beginning = static_cast<int64_t>(256 / sizeof(In));
    for (int k = 0; k < Lines; ++k) detail::fetch_ahead<beginning>(in + k * row_stride, 0);
  }
  // Four lines at a time: the lanes are loaded and stored a quarter as often.
  template <int Bytes, int Lines>
  TENON_INLINE static void add_lines(const In* in, int64_t row_stride, int64_t columns,
                                     Lane* lanes) {
    constexpr auto N = static_cast<int64_t>(Bytes / sizeof(Lane));
    constexpr bool widens = std::is_integral_v<Lane> && sizeof(In) < sizeof(Lane);
    int64_t c = 0;
    for (; !widens && c + N <= columns; c += N) {
      Vector<Lane, Bytes> lane;
      detail::load_vector(lane, lanes + c);
      for (int k = 0; k < Lines; ++k) {
        if constexpr (Bytes < 64) {
          detail::fetch_ahead<N>(in + k * row_stride + c,
                                 Lines * row_stride * static_cast<int64_t>(sizeof(In)));
        }
        Vector<In, static_cast<int>(N * static_cast<int64_t>(sizeof(In)))> x;
        detail::load_vector(x, in + k * row_stride + c);
        Policy::step(lane, x);
      }
      __builtin_memcpy(lanes + c, &lane, sizeof(lane));
    }
    for (; c < columns; ++c) {
      for (int k = 0; k < Lines; ++k) Policy::step(lanes[c], in[k * row_stride + c]);
    }
  }
};

// f32 gathers in f32 lanes for a block and in f64 beyond it: the error does not grow with the
// number of elements. Integers wrap modulo 2^64.
template <class T>
struct SumPolicy : SumLanes<T> {
  // Sums of floats are added in f64, of integers modulo 2^64.
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  // Short enough for f32 lanes to stay exact, and for narrow integer lanes not to overflow.
  static constexpr int64_t block_elements = std::is_floating_point_v<T> ? 1024 : 16384;
  TENON_INLINE static void add(Total& total, typename SumLanes<T>::Lane lane) {  // adds a lane
    total += static_cast<Total>(lane);
  }
  static void merge(Total& total, const Total& other) { total += other; }  // joins
};

// The largest or smallest element; NaN where there is one.
template <class T, bool Largest>
struct ExtremumPolicy : ExtremumLanes<T, Largest> {
  struct Total {                    // the best so far
    T value = worst<T, Largest>();  // worst at first
  };
  static constexpr int64_t block_elements = 1 << 16;  // elements of a piece
  // Adds a lane.
  TENON_INLINE static void add(Total& total, T lane) { take_better<Largest>(total.value, lane); }
  static void merge(Total& total, const Total& other) {  // joins results of pieces
    take_better<Largest>(total.value, other.value);
  }
};

}  // namespace kernel
TENON_NAMESPACE_END
