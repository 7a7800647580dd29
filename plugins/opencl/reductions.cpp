// One work item for each result, or for as many that follow each other as a vector has. Long sums of few
// results are split into parts, whose results are reduced again.
#include "opencl/reductions.hpp"

#include <algorithm>
#include <optional>

#include "opencl/copies.hpp"

namespace tenon_opencl {

namespace {

using tenon::Results;

// Kernels of a reduction whose neutral element is INIT.
constexpr const char* kReduce = R"(
typedef struct {
  ulong outputs, parts, part;       // each part has `part` entries of dimension 0, or elements of the last one
  ulong kept_size[6];
  long kept_step[6];
  ulong size[3];                    // reduced dimensions, the last one being the innermost
  long step[3];
  uint kept_rank, splits_last;
} Reduce;
#define BLOCK 1024

static long base_of(const Reduce* d, ulong output) {
  long at = 0;
  for (uint k = d->kept_rank; k-- > 0;) {
    at += (long)(output % d->kept_size[k]) * d->kept_step[k];
    output /= d->kept_size[k];
  }
  return at;
}
static void limits(const Reduce* d, ulong part, ulong* begin, ulong* end, ulong* first, ulong* last) {
  *begin = *first = 0;
  *end = d->size[0];
  *last = d->size[2];
  if (d->splits_last) {
    *first = part * d->part;
    *last = min(*last, *first + d->part);
  } else {
    *begin = part * d->part;
    *end = min(*end, *begin + d->part);
  }
}

__kernel void rows(__global const T* a, __global T* r, Reduce d, T factor) {
  const ulong id = get_global_id(0), output = id % d.outputs, part = id / d.outputs;
  if (part >= d.parts) return;
  ulong begin, end, first, last;
  limits(&d, part, &begin, &end, &first, &last);
  a += base_of(&d, output);
  A total = INIT;
  for (ulong i = begin; i < end; ++i) {
    for (ulong k = 0; k < d.size[1]; ++k) {
      __global const T* x = a + (long)i * d.step[0] + (long)k * d.step[1];
      for (ulong from = first; from < last; from += BLOCK) {
        const ulong to = min(from + BLOCK, last);
        ulong n = from;
        if (d.step[2] == 1 && n + V <= to) {
          VT block = (VT)(INIT);
          for (; n + V <= to; n += V) block = COMBINE(block, LOAD(0, x + n));
          T lanes[V];
          STORE(block, 0, lanes);
          for (int l = 0; l < V; ++l) total = COMBINE_ONE(total, lanes[l]);
        }
        for (; n < to; ++n) total = COMBINE_ONE(total, x[(long)n * d.step[2]]);
      }
    }
  }
  r[part * d.outputs + output] = (T)(total * factor);
}

// V results along the last kept dimension, whose step is 1.
__kernel void columns(__global const T* a, __global T* r, Reduce d, T factor) {
  const ulong width = d.kept_size[d.kept_rank - 1], runs = (width + V - 1) / V, lines = d.outputs / width;
  const ulong id = get_global_id(0), run = id % runs, line = id / runs % lines, part = id / runs / lines;
  if (part >= d.parts) return;
  ulong begin, end, first, last;
  limits(&d, part, &begin, &end, &first, &last);
  const ulong output = line * width + run * V;
  const int count = width - run * V < V ? (int)(width - run * V) : V;
  a += base_of(&d, output);
  VT total = (VT)(INIT);
  for (ulong i = begin; i < end; ++i) {
    for (ulong k = 0; k < d.size[1]; ++k) {
      __global const T* x = a + (long)i * d.step[0] + (long)k * d.step[1];
      for (ulong from = first; from < last; from += BLOCK) {
        const ulong to = min(from + BLOCK, last);
        VT block = (VT)(INIT);
        for (ulong n = from; n < to; ++n) {
          __global const T* at = x + (long)n * d.step[2];
          if (count == V) {
            block = COMBINE(block, LOAD(0, at));
          } else {
            T t[V];
            for (int c = 0; c < V; ++c) t[c] = at[c < count ? c : 0];
            block = COMBINE(block, LOAD(0, t));
          }
        }
        total = COMBINE(total, block);
      }
    }
  }
  total *= (VT)(factor);
  r += part * d.outputs + output;
  if (count == V) {
    STORE(total, 0, r);
  } else {
    T t[V];
    STORE(total, 0, t);
    for (int c = 0; c < count; ++c) r[c] = t[c];
  }
}
)";

bool floats(DType type) { return type == tenon::f32 || type == tenon::f64; }

std::string sum_source(DType) {
  return std::string(R"(
#define INIT 0
#define COMBINE(x, y) ((x) + (y))
#define COMBINE_ONE(x, y) ((x) + (y))
#define A WIDE
)") + kReduce;
}
// NaN stays. Of integers the first element of each is neutral, which loads do not have: the limits are.
std::string extreme_source(DType type, bool largest) {
  const std::string name = largest ? "max" : "min";
  if (floats(type)) {
    return "#define INIT " + std::string(largest ? "-INFINITY" : "INFINITY") +
           "\n#define COMBINE(x, y) ((isnan(x) | isnan(y)) ? (VT)(NAN) : f" + name + "(x, y))\n" +
           "#define A T\n#define COMBINE_ONE(x, y) (isnan(x) || isnan(y) ? (T)NAN : f" + name +
           "(x, y))\n" + kReduce;
  }
  const char* limit = type == tenon::i64   ? largest ? "LONG_MIN" : "LONG_MAX"
                      : type == tenon::i32 ? largest ? "INT_MIN" : "INT_MAX"
                      : largest            ? "0"
                                           : "UCHAR_MAX";
  return std::string("#define INIT ") + limit + "\n#define COMBINE(x, y) " + name +
         "(x, y)\n#define A T\n#define COMBINE_ONE(x, y) " + name + "((T)(x), (T)(y))\n" + kReduce;
}
std::string largest_source(DType type) { return extreme_source(type, true); }
std::string smallest_source(DType type) { return extreme_source(type, false); }

constexpr Source kSum{"sum", sum_source}, kLargest{"largest", largest_source},
    kSmallest{"smallest", smallest_source};

const Source* source_of(Reduction reduction) {
  return reduction == Reduction::sum       ? &kSum
         : reduction == Reduction::largest ? &kLargest
                                           : &kSmallest;
}

// As kernels get it.
struct Reduce {
  cl_ulong outputs = 1, parts = 1, part = 0;
  cl_ulong kept_size[kMostDims] = {};
  cl_long kept_step[kMostDims] = {};
  cl_ulong size[3] = {1, 1, 1};
  cl_long step[3] = {};
  cl_uint kept_rank = 0, splits_last = 0;
};

// Some dimensions of a tensor, those that follow each other as one.
struct Dimensions {
  std::vector<int64_t> sizes, steps;
  void add(int64_t size, int64_t step) {
    if (size == 1) return;
    if (!sizes.empty() && steps.back() == step * size) {
      sizes.back() *= size;
      steps.back() = step;
      return;
    }
    sizes.push_back(size);
    steps.push_back(step);
  }
};

constexpr int64_t kMostParts = 64, kFewItems = 32, kLongSum = 4096;

bool run(Reduction reduction, const Tensor& input, const Dimensions& kept, const Dimensions& along,
         const Tensor& result, double factor) {
  if (kept.sizes.size() > kMostDims || along.sizes.size() > 3) return false;
  Instance& device = instance_of(input);
  const DType type = input.dtype() == tenon::boolean ? tenon::u8 : input.dtype();
  Reduce d;
  d.outputs = number(result.numel());
  d.kept_rank = static_cast<cl_uint>(kept.sizes.size());
  for (size_t k = 0; k < kept.sizes.size(); ++k) {
    d.kept_size[k] = number(kept.sizes[k]);
    d.kept_step[k] = kept.steps[k];
  }
  int64_t length = 1;
  const size_t rank = along.sizes.size();
  for (size_t k = 0; k < rank; ++k) {
    // The innermost one is last, the outermost first.
    const size_t at = k + 1 == rank ? 2 : k;
    d.size[at] = number(along.sizes[k]);
    d.step[at] = along.steps[k];
    length *= along.sizes[k];
  }
  d.splits_last = rank < 2;
  const int64_t lanes = device.lanes(type);
  const bool by_columns = !kept.sizes.empty() && kept.steps.back() == 1 && d.step[2] != 1;
  int64_t items = result.numel();
  if (by_columns) {
    const int64_t width = kept.sizes.back();
    items = items / width * ((width + lanes - 1) / lanes);
  }
  const auto divided = static_cast<int64_t>(d.splits_last ? d.size[2] : d.size[0]);
  int64_t parts = 1;
  if (items < kFewItems && length >= kLongSum) parts = std::min(kMostParts, divided);
  int64_t part = (divided + parts - 1) / parts;
  if (d.splits_last && parts > 1) part = (part + lanes - 1) / lanes * lanes;
  parts = part == 0 ? 1 : (divided + part - 1) / part;
  d.parts = number(parts);
  d.part = number(part);
  Tensor to = result;
  if (parts > 1) {
    const int64_t count = parts * result.numel();
    to = empty_like(input, IntList(&count, 1));
  }
  with_number(type, parts > 1 ? 1 : factor, parts > 1 ? 1 : static_cast<int64_t>(factor),
              [&](auto scale) {
                constexpr size_t group = 8;
                device.run({source_of(reduction), by_columns ? "columns" : "rows", type},
                           whole_groups(items * parts, group), group, memory_of(input),
                           memory_of(to), d, scale);
              });
  if (parts == 1) return true;
  Dimensions outputs, others;
  others.add(parts, result.numel());
  outputs.add(result.numel(), 1);
  return run(reduction, to, outputs, others, result, factor);
}

}  // namespace

Tensor reduced(Reduction reduction, const Tensor& input, const std::vector<bool>& chosen,
               bool keepdim, double factor) {
  if (!is_element(input)) return {};
  Dimensions kept, along;
  std::vector<int64_t> shape;
  for (int64_t d = 0; d < input.dim(); ++d) {
    const bool gone = chosen[static_cast<size_t>(d)];
    (gone ? along : kept).add(input.shape()[d], input.strides()[d]);
    if (!gone || keepdim) shape.push_back(gone ? 1 : input.shape()[d]);
  }
  if (input.numel() == 0)
    return reduction == Reduction::sum ? zeros_beside(input, list_of(shape), input.dtype())
                                       : Tensor();
  const Tensor result = empty_like(input, list_of(shape));
  return run(reduction, input, kept, along, result, factor) ? result : Tensor();
}

namespace {

// Dimensions of a call; none where there is one that the tensor does not have, or twice.
std::optional<std::vector<bool>> chosen_of(const Tensor& input, const std::optional<IntList>& dim) {
  const int64_t rank = input.dim();
  if (!dim || dim->empty()) return std::vector<bool>(static_cast<size_t>(rank), true);
  std::vector<bool> chosen(static_cast<size_t>(rank));
  for (const int64_t d : *dim) {
    if (d < -rank || d >= rank) return std::nullopt;
    const auto at = static_cast<size_t>(d < 0 ? d + rank : d);
    if (chosen[at]) return std::nullopt;
    chosen[at] = true;
  }
  return chosen;
}
int64_t length_of(const Tensor& input, const std::vector<bool>& chosen) {
  int64_t length = 1;
  for (int64_t d = 0; d < input.dim(); ++d)
    if (chosen[static_cast<size_t>(d)]) length *= input.shape()[d];
  return length;
}
Results or_declined(Tensor result) {
  if (!result.defined()) return tenon::not_implemented;
  return result;
}

struct Sum {
  static constexpr auto schema =
      "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, std::optional<IntList> dim, bool keepdim,
                         DType dtype) {
    const auto chosen = chosen_of(input, dim);
    if (!chosen || !(is_floating(input) || input.dtype() == tenon::i64) ||
        (dtype != DType::none && dtype != input.dtype()))
      return tenon::not_implemented;
    return or_declined(reduced(Reduction::sum, input, *chosen, keepdim));
  }
};
struct Mean {
  static constexpr auto schema =
      "mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, std::optional<IntList> dim, bool keepdim,
                         DType dtype) {
    const auto chosen = chosen_of(input, dim);
    if (!chosen || !is_floating(input) || input.numel() == 0 ||
        (dtype != DType::none && dtype != input.dtype()))
      return tenon::not_implemented;
    return or_declined(reduced(Reduction::sum, input, *chosen, keepdim,
                               1.0 / static_cast<double>(length_of(input, *chosen))));
  }
};

#define EXTREME(Name, op, reduction)                                                        \
  struct Name {                                                                             \
    static constexpr auto schema =                                                          \
        op "(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor";                 \
    static constexpr auto types = "opencl";                                                 \
    static Results forward(const Tensor& input, std::optional<IntList> dim, bool keepdim) { \
      const auto chosen = chosen_of(input, dim);                                            \
      if (!chosen || !is_number(input)) return tenon::not_implemented;                      \
      return or_declined(reduced(reduction, input, *chosen, keepdim));                      \
    }                                                                                       \
  };
EXTREME(Amax, "amax", Reduction::largest)
EXTREME(Amin, "amin", Reduction::smallest)
#undef EXTREME

#define TRUTH(Name, op, reduction)                                                              \
  struct Name {                                                                                 \
    static constexpr auto schema =                                                              \
        op "(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor";                     \
    static constexpr auto types = "opencl";                                                     \
    static Results forward(const Tensor& input, std::optional<IntList> dim, bool keepdim) {     \
      const auto chosen = chosen_of(input, dim);                                                \
      if (!chosen || !is_element(input)) return tenon::not_implemented;                         \
      static const tenon::Op ne("ne");                                                          \
      const Tensor truth = input.dtype() == tenon::boolean ? input : ne.call<Tensor>(input, 0); \
      return or_declined(reduced(reduction, truth, *chosen, keepdim));                          \
    }                                                                                           \
  };
TRUTH(Any, "any", Reduction::largest)
TRUTH(All, "all", Reduction::smallest)
#undef TRUTH

struct Var {
  static constexpr auto schema =
      "var(Tensor input, int[]? dim=None, bool keepdim=False, *, int correction=1) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, std::optional<IntList> dim, bool keepdim,
                         int64_t correction) {
    static const tenon::Op sub("sub"), square("square");
    const auto chosen = chosen_of(input, dim);
    if (!chosen || !is_floating(input) || input.numel() == 0) return tenon::not_implemented;
    const int64_t length = length_of(input, *chosen);
    if (length <= correction) return tenon::not_implemented;
    const Tensor mean =
        reduced(Reduction::sum, input, *chosen, true, 1.0 / static_cast<double>(length));
    if (!mean.defined()) return tenon::not_implemented;
    const auto squares = square.call<Tensor>(sub.call<Tensor>(input, mean));
    return or_declined(reduced(Reduction::sum, squares, *chosen, keepdim,
                               1.0 / static_cast<double>(length - correction)));
  }
};

struct SumToSize {
  static constexpr auto schema = "sum_to_size(Tensor input, int[] size) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, IntList size) {
    const int64_t missing = input.dim() - size.size();
    if (!is_floating(input) || missing < 0) return tenon::not_implemented;
    std::vector<bool> chosen(static_cast<size_t>(input.dim()));
    bool any = false;
    for (int64_t d = 0; d < input.dim(); ++d) {
      const int64_t to = d < missing ? 1 : size[d - missing];
      if (d >= missing && to != 1 && to != input.shape()[d]) return tenon::not_implemented;
      chosen[static_cast<size_t>(d)] = d < missing || to != input.shape()[d];
      any = any || chosen[static_cast<size_t>(d)];
    }
    if (!any) return contiguous_copy(input);
    const Tensor sum = reduced(Reduction::sum, input, chosen, true);
    if (!sum.defined()) return tenon::not_implemented;
    std::vector<int64_t> strides(sum.strides().begin() + missing, sum.strides().end());
    return view(sum, size, list_of(strides), 0);
  }
};

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_OVERRIDE(Sum)
TENON_OVERRIDE(Mean)
TENON_OVERRIDE(Amax)
TENON_OVERRIDE(Amin)
TENON_OVERRIDE(Any)
TENON_OVERRIDE(All)
TENON_OVERRIDE(Var)
TENON_OVERRIDE(SumToSize)
