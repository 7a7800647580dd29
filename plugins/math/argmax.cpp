// max and min along a dimension with their indices, argmax and argmin.
#include "reduction.hpp"

using namespace tenon;
using namespace math;

namespace {

// The first of the best elements and its position along the reduced dimension.
template <class T, bool Largest>
struct ArgKernel {
  using In = T;
  // As wide as the elements; a block of columns has few enough lines for all of them.
  using Index =
      std::conditional_t<sizeof(T) == 8, int64_t,
                         std::conditional_t<sizeof(T) == 4, int32_t,
                                            std::conditional_t<sizeof(T) == 2, int16_t, int8_t>>>;
  using Lanes = kernel::ExtremumLanes<T, Largest>;
  struct Total {
    T value = kernel::worst<T, Largest>();
    int64_t index = -1;
  };
  static constexpr bool ordered = true, wide = sizeof(T) >= 4;
  static constexpr int64_t kRowBlock = 4096, kColumnBlock = 64;

  static bool beats(T candidate, T best) {
    if constexpr (std::is_floating_point_v<T>) {
      if (best != best) return false;
      if (candidate != candidate) return true;
    }
    return Largest ? candidate > best : candidate < best;
  }
  static void merge(Total& total, const Total& other) {
    if (other.index >= 0 && (total.index < 0 || beats(other.value, total.value))) total = other;
  }

  static bool is(T element, T extreme) {
    if constexpr (std::is_floating_point_v<T>) {
      if (extreme != extreme) return element != element;
    }
    return element == extreme;
  }
  // The first place of a value that is there; dense runs are searched in steps that vectorize.
  TENON_INLINE static int64_t place(const T* in, int64_t count, int64_t stride, T extreme) {
    constexpr int64_t kStep = 32;
    int64_t i = 0;
    if (stride == 1 && extreme == extreme) {
      for (; i + kStep <= count; i += kStep) {
        int found = 0;
        for (int64_t k = 0; k < kStep; ++k) found |= in[i + k] == extreme;
        if (found != 0) break;
      }
    }
    while (!is(in[i * stride], extreme)) ++i;
    return i;
  }

  // The best of each block first; only in the best block its place is looked for.
  template <int Bytes>
  TENON_INLINE static void rows(const T* in, int64_t position, int64_t rows, int64_t row_step,
                                int64_t count, int64_t stride, Total* totals) {
    for (int64_t r = 0; r < rows; ++r, in += row_step) {
      T best = kernel::worst<T, Largest>();
      int64_t best_from = -1;
      for (int64_t from = 0; from < count; from += kRowBlock) {
        const int64_t block = count - from < kRowBlock ? count - from : kRowBlock;
        const T own = stride == 1
                          ? kernel::gather_run<Lanes, Bytes, 4096>(in + from, block)
                          : kernel::gather_strided<Lanes>(in + from * stride, block, stride);
        if (best_from < 0 || beats(own, best)) {
          best = own;
          best_from = from;
        }
      }
      const int64_t index =
          best_from + place(in + best_from * stride, count - best_from, stride, best);
      merge(totals[r], Total{best, position + index});
    }
  }

  template <int Bytes>
  TENON_INLINE static void columns(const T* in, int64_t position, int64_t rows, int64_t row_stride,
                                   int64_t columns, Total* totals) {
    constexpr auto N = static_cast<int64_t>(Bytes / sizeof(T));
    using Elements = kernel::Vector<T, Bytes>;
    using Indices = kernel::Vector<Index, Bytes>;
    alignas(64) T best[kernel::most_columns];
    alignas(64) Index index[kernel::most_columns];
    for (int64_t from = 0; from < rows; from += kColumnBlock) {
      const int64_t block = rows - from < kColumnBlock ? rows - from : kColumnBlock;
      for (int64_t c = 0; c < columns; ++c) {
        best[c] = in[c];
        index[c] = 0;
      }
      for (int64_t r = 0; r < block;) {
        const int64_t lines = block - r < 4 ? block - r : 4;
        int64_t c = 0;
        for (; c + N <= columns; c += N) {
          Elements value;
          Indices at;
          std::memcpy(&value, best + c, sizeof(value));
          std::memcpy(&at, index + c, sizeof(at));
          for (int64_t k = 0; k < lines; ++k) {
            Elements candidate;
            std::memcpy(&candidate, in + k * row_stride + c, sizeof(candidate));
            keep_better(value, at, candidate, Indices{} + static_cast<Index>(r + k));
          }
          std::memcpy(best + c, &value, sizeof(value));
          std::memcpy(index + c, &at, sizeof(at));
        }
        for (; c < columns; ++c) {
          for (int64_t k = 0; k < lines; ++k) {
            keep_better(best[c], index[c], in[k * row_stride + c], static_cast<Index>(r + k));
          }
        }
        r += lines;
        in += lines * row_stride;
      }
      for (int64_t c = 0; c < columns; ++c)
        merge(totals[c], Total{best[c], position + from + index[c]});
    }
  }
  // For numbers and for vectors.
  template <class V, class I>
  TENON_INLINE static void keep_better(V& best, I& index, const V& candidate, const I& at) {
    const auto better = Largest ? candidate > best : candidate < best;
    if constexpr (std::is_floating_point_v<T>) {
      const auto first_nan = (candidate != candidate) & (best == best);
      index = (better | first_nan) ? at : index;
      best = (better | first_nan) ? candidate : best;
    } else {
      index = better ? at : index;
      best = better ? candidate : best;
    }
  }
};

// The dimension to reduce; none: the input is read as one row-major run.
template <bool Largest>
void find(const char* op, const Tensor& input, std::optional<int64_t> dim, bool keepdim,
          Tensor* values, Tensor& indices) {
  int64_t wrapped = 0;
  std::optional<IntList> dims;
  if (dim) {
    wrapped = wrap_dimension(op, *dim, input.dim());
    dims = IntList(&wrapped, 1);
  }
  const Reduction plan = plan_nonempty_reduction(op, input, dims, keepdim);
  const Tensor source = dim || input.is_contiguous() ? input : contiguous_as(input, input.dtype());
  indices = empty_tensor(plan.shape, i64);
  if (values != nullptr) *values = empty_tensor(plan.shape, input.dtype());
  auto* index_to = indices.data<int64_t>();
  kernel::visit<computed_dtypes>(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Kernel = ArgKernel<T, Largest>;
    T* value_to = values == nullptr ? nullptr : kernel::elements<T>(*values);
    const auto write = [=](int64_t at, const typename Kernel::Total& total) {
      index_to[at] = total.index;
      if (value_to != nullptr) value_to[at] = total.value;
    };
    kernel::reduce<Kernel>(source, plan, write);
  });
}

template <class Op>
Tensor place(ContextOf<Op>& c, const Tensor& g) {
  const Tensor& input = c["input"_arg];
  if (input.dim() == 0) return g;
  const auto dim = c["dim"_arg];
  const bool keepdim = c["keepdim"_arg];
  const Tensor index = c["indices"_result];
  return expanded_zeros(input.shape(), g.dtype())
      .scatter_add(dim, keepdim ? index : index.unsqueeze(dim), keepdim ? g : g.unsqueeze(dim));
}
template <class Op>
std::tuple<Tensor, Tensor> pick(ContextOf<Op>& c, TensorList tangents) {
  const Tensor& tangent = tangents[0];
  if (tangent.dim() == 0) return {tangent, {}};
  const auto dim = c["dim"_arg];
  const bool keepdim = c["keepdim"_arg];
  const Tensor index = c["indices"_result];
  const Tensor picked = tangent.gather(dim, keepdim ? index : index.unsqueeze(dim));
  return {keepdim ? picked : picked.squeeze(dim), {}};
}

struct Max {
  static constexpr auto schema =
      "max(Tensor input, int dim, bool keepdim=False, *, Tensor(a!)[]? out=None) -> (Tensor "
      "values, Tensor indices)";
  static constexpr auto doc =
      "The largest elements along a dimension and the first index of each, which has the gradient.";
  static constexpr auto saves = "shape(input), result1";
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, int64_t dim, bool keepdim) {
    Tensor values, indices;
    find<true>("max", input, dim, keepdim, &values, indices);
    return {values, indices};
  }
  static Tensor backward(ContextOf<Max>& c, const Tensor& g, const Tensor&) { return place(c, g); }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Max>& c, TensorList tangents) {
    return pick(c, tangents);
  }
};

struct Min {
  static constexpr auto schema =
      "min(Tensor input, int dim, bool keepdim=False, *, Tensor(a!)[]? out=None) -> (Tensor "
      "values, Tensor indices)";
  static constexpr auto doc =
      "The smallest elements along a dimension and the first index of each, which has the "
      "gradient.";
  static constexpr auto saves = "shape(input), result1";
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, int64_t dim, bool keepdim) {
    Tensor values, indices;
    find<false>("min", input, dim, keepdim, &values, indices);
    return {values, indices};
  }
  static Tensor backward(ContextOf<Min>& c, const Tensor& g, const Tensor&) { return place(c, g); }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Min>& c, TensorList tangents) {
    return pick(c, tangents);
  }
};

struct Argmax {
  static constexpr auto schema =
      "argmax(Tensor input, int? dim=None, bool keepdim=False, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The index of the first largest element along a dimension, or in row-major order.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
    Tensor indices;
    find<true>("argmax", input, dim, keepdim, nullptr, indices);
    return indices;
  }
};

struct Argmin {
  static constexpr auto schema =
      "argmin(Tensor input, int? dim=None, bool keepdim=False, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The index of the first smallest element along a dimension, or in row-major order.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
    Tensor indices;
    find<false>("argmin", input, dim, keepdim, nullptr, indices);
    return indices;
  }
};

}  // namespace

TENON_OPS(Max, Min, Argmax, Argmin)
