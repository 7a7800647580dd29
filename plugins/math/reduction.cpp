// Reductions: reading dims, result shapes, and the loops that a strided input becomes.
#include "reduction.hpp"

namespace math {

Reduction plan_reduction(const char* op, const Tensor& input, std::optional<IntList> dims,
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

Reduction plan_nonempty_reduction(const char* op, const Tensor& input, std::optional<IntList> dims,
                                  bool keepdim) {
  const Reduction plan = plan_reduction(op, input, dims, keepdim);
  if (plan.extent == 0) {
    for (int64_t i = 0; i < input.dim(); ++i) {
      if ((plan.mask >> i & 1) != 0 && input.shape()[i] == 0) {
        throw ValueError(
            std::string(op) + "(): dimension " + std::to_string(i) + " of shape " +
            text(input.shape()) +
            " has size 0 and the reduction has no identity: reduce dimensions with elements");
      }
    }
  }
  return plan;
}

Tensor reduction_result(const char* op, const Reduction& plan, DType dtype, const Tensor& out) {
  if (!out.defined()) return empty_tensor(plan.shape, dtype);
  if (!same(out.shape(), plan.shape)) {
    throw ValueError(std::string(op) + "(): out has shape " + text(out.shape()) +
                     ", but the result has " + text(plan.shape));
  }
  if (out.dtype() != dtype) {
    throw ValueError(std::string(op) + "(): out has dtype " + dtype_text(out.dtype()) +
                     ", but the result has " + dtype_text(dtype));
  }
  return out;
}

Tensor deliver(const Tensor& result, const Tensor& out) {
  if (!out.defined() || out.is_same(result)) return result;
  copy_elements(out, result);
  return out;
}

Tensor keep_dimensions(const char* op, const Tensor& result, const Tensor& input,
                       std::optional<IntList> dims, bool keepdim) {
  if (keepdim || result.dim() == input.dim()) return result;
  return result.reshape(IntList(plan_reduction(op, input, dims, true).shape));
}

Tensor restore_dimensions(const char* op, const Tensor& gradient, const Tensor& input,
                          std::optional<IntList> dims, bool keepdim) {
  if (gradient.dim() == 0) return input.dim() == 0 ? gradient : gradient.expand(input.shape());
  return keep_dimensions(op, gradient, input, dims, keepdim).expand(input.shape());
}

namespace {

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
  int64_t offset = 0;  // of the first element, where negative strides were turned around
};

// Merges neighbours that step through memory as one.
void append(Loop* loops, int64_t& count, Loop loop) {
  if (count != 0 && loops[count - 1].in == loop.in * loop.size &&
      loops[count - 1].out == loop.out * loop.size) {
    loops[count - 1] = {loops[count - 1].size * loop.size, loop.in, loop.out};
  } else {
    loops[count++] = loop;
  }
}

// Repeated elements go outermost.
int64_t reach(const Loop& loop) { return loop.in == 0 ? INT64_MAX : loop.in; }

void make_nest(IntList shape, IntList strides, uint32_t mask, bool ordered, Nest& nest) {
  Sizes out_strides(shape);
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
constexpr int64_t kPiece = 1 << 16, kMostPieces = 64;
// Outputs that runs of elements are reduced for at once.
constexpr int64_t kBatch = 32;
// The width that narrow lines are folded to, the widest lines that gain by it, and how many it
// takes.
constexpr int64_t kFold = 256, kNarrow = 48, kManyLines = 1024;

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
    alignas(8) char bytes[Count * kTotalBytes];
  };

  // How often the reduction of one output is cut; by the shape alone, as the result depends on it.
  int64_t pieces() const {
    return std::min({extent_ * outputs_ / kPiece, kMostPieces, nest_.reduced[split_].size});
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
    parallel_for(0, outputs_, std::max<int64_t>(1, kParallelWork / extent_),
                 [&](int64_t from, int64_t to) {
                   Totals<kBatch> totals;
                   for (int64_t at = from; at < to;) {
                     int64_t in = 0, out = 0;
                     locate(at, in, out);
                     const int64_t batch = std::min({to - at, last.size - at % last.size, kBatch});
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
      Totals<kMostPieces> partial;
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
    if (outputs_ <= kPanel && pieces() >= 2) return cut_columns(line, outer);
    // Columns do not meet, so cutting between them may follow the threads.
    int64_t panel = std::min(line.size, kPanel);
    const int64_t threads = thread_count();
    if (extent_ * outputs_ > kParallelWork && outer * ((line.size + panel - 1) / panel) < threads) {
      panel = std::max<int64_t>(64, ((line.size + threads - 1) / threads + 63) / 64 * 64);
      panel = std::min({panel, line.size, kPanel});
    }
    const int64_t panels = (line.size + panel - 1) / panel;
    const int64_t split_size = nest_.reduced[split_].size;
    const int64_t grain = std::max<int64_t>(1, kParallelWork / (extent_ * panel));
    parallel_for(0, outer * panels, grain, [&](int64_t from, int64_t to) {
      Totals<kPanel> totals;
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
    return !kernel_.ordered && inner.in == line.size && line.size <= kNarrow &&
           inner.size >= kManyLines;
  }
  void add_columns(const char* in, int64_t width, int64_t line, int64_t begin, int64_t end,
                   char* totals) const {
    const int64_t row_stride = nest_.reduced[nest_.reduced_count - 1].in;
    const bool dense = !kernel_.ordered && width == line && row_stride == width && width <= kNarrow;
    walk(in, begin, end, [&](const char* at, int64_t position, int64_t count) {
      if (dense && count >= kManyLines) {
        const int64_t fold = kFold / width, folded = count / fold;
        Totals<kFold> wide;
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

}  // namespace

void walk_reduction(const KernelTable& kernel, const Tensor& input, const Reduction& plan,
                    const Sink& sink) {
  // The whole of a small tensor needs no loops around it.
  if (plan.extent == input.numel() && input.is_contiguous() && plan.extent < 2 * kPiece &&
      plan.extent > 0) {
    alignas(8) char total[kTotalBytes];
    kernel.clear(total, 1);
    kernel.rows(static_cast<const char*>(input.view_record().data), 0, 1, 0, plan.extent, 1, total);
    sink.write(sink.state, 0, 0, total, 1);
    return;
  }
  Walk(kernel, input, plan.mask, sink).run();
}

}  // namespace math
