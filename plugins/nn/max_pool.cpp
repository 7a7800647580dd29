// max_pool1d, max_pool2d and max_pool3d: the largest element of each window, and where it was.
#include <algorithm>
#include <limits>

#include <tenon/kernel/lanes.hpp>

#include "max_pool_values.hpp"
#include "pooling.hpp"

namespace {

using namespace nn;

// One plane, a row of windows at a time: the windows beside each other are the vector. Of a window
// its first largest element counts, or its last NaN.
template <class T>
struct PoolPlane {
  static constexpr int64_t width = 128;  // windows at a time

  TENON_INLINE static void run(const Windows* windows, const T* plane, T* values,
                               int64_t* indices) {
    const Windows& w = *windows;
    using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;  // as wide as the elements
    T largest[width];
    Index best[width];
    // Windows that are further apart than the input is wide share no elements worth a vector.
    const int64_t at_once = w.stride[2] > w.in[2] ? 1 : width;
    for (int64_t z = 0; z < w.out[0]; ++z) {
      const int64_t front = z * w.stride[0] - w.padding[0];
      const Taps slices(w, 0, front, front);
      for (int64_t y = 0; y < w.out[1]; ++y, values += w.out[2], indices += w.out[2]) {
        const int64_t top = y * w.stride[1] - w.padding[1];
        const Taps rows(w, 1, top, top);
        for (int64_t from = 0; from < w.out[2]; from += at_once) {
          const int64_t count = std::min(at_once, w.out[2] - from);
          // The result of a window that is wholly in the padding.
          for (int64_t x = 0; x < count; ++x) {
            best[x] = -1;
            largest[x] = -std::numeric_limits<T>::infinity();
          }
          const int64_t left = from * w.stride[2] - w.padding[2];
          const Taps columns(w, 2, left, left + (count - 1) * w.stride[2]);
          for (int64_t k = slices.begin; k < slices.end; ++k) {
            const int64_t slice = front + k * w.dilation[0];
            for (int64_t i = rows.begin; i < rows.end; ++i) {
              const int64_t row = slice * w.in[1] + top + i * w.dilation[1];
              take_row(w, plane, row, left, columns.begin, columns.end, count, largest, best);
            }
          }
          for (int64_t x = 0; x < count; ++x) values[from + x] = largest[x];
          for (int64_t x = 0; x < count; ++x) indices[from + x] = best[x];
        }
      }
    }
  }

 private:
  // Takes from one row of the plane the elements under columns [begin, end) of the kernel.
  template <class Index>
  TENON_INLINE static void take_row(const Windows& w, const T* plane, int64_t row, int64_t left,
                                    int64_t begin, int64_t end, int64_t count, T* largest,
                                    Index* best) {
    const int64_t stride = w.stride[2];
    for (int64_t j = begin; j < end; ++j) {
      const int64_t column = left + j * w.dilation[2];
      // The windows that have this element inside of the input.
      const int64_t low = column >= 0 ? 0 : std::min(count, (-column + stride - 1) / stride);
      const int64_t high =
          column >= w.in[2] ? low : std::min(count, (w.in[2] - column - 1) / stride + 1);
      const int64_t start = row * w.in[2] + column;
      if (stride == 1) {
        take(plane + start, static_cast<Index>(start), 1, low, high, largest, best);
      } else if (stride == 2) {
        take(plane + start, static_cast<Index>(start), 2, low, high, largest, best);
      } else {
        take(plane + start, static_cast<Index>(start), stride, low, high, largest, best);
      }
    }
  }
  template <class Index>
  TENON_INLINE static void take(const T* at, Index start, int64_t stride, int64_t low, int64_t high,
                                T* largest, Index* best) {
    TENON_INDEPENDENT
    for (int64_t x = low; x < high; ++x) {
      const T value = at[x * stride];
      const bool better = (best[x] < 0) | (value > largest[x]) | (value != value);
      largest[x] = better ? value : largest[x];
      best[x] = better ? static_cast<Index>(start + static_cast<Index>(x * stride)) : best[x];
    }
  }
};

// One plane whose windows are all inside of it: no borders to look for, so that all windows of the
// plane are the vector, however short their rows. `corners` has the position of each window's first
// element.
template <class T>
struct PoolInside {
  static constexpr int64_t width = 128;

  TENON_INLINE static void run(const Windows* windows, const int32_t* corners, const T* plane,
                               T* values, int64_t* indices) {
    const Windows& w = *windows;
    const int64_t windows_count = w.out_size();
    T largest[width];
    int32_t best[width];
    for (int64_t from = 0; from < windows_count; from += width) {
      const int64_t count = std::min(width, windows_count - from);
      const int32_t* corner = corners + from;
      for (int64_t x = 0; x < count; ++x) {
        largest[x] = plane[corner[x]];
        best[x] = corner[x];
      }
      for (int64_t k = 0; k < w.kernel[0]; ++k) {
        for (int64_t i = 0; i < w.kernel[1]; ++i) {
          const int64_t row = (k * w.dilation[0] * w.in[1] + i * w.dilation[1]) * w.in[2];
          for (int64_t j = 0; j < w.kernel[2]; ++j) {
            if (k == 0 && i == 0 && j == 0) continue;
            take(plane, corner, static_cast<int32_t>(row + j * w.dilation[2]), count, largest,
                 best);
          }
        }
      }
      for (int64_t x = 0; x < count; ++x) values[from + x] = largest[x];
      for (int64_t x = 0; x < count; ++x) indices[from + x] = best[x];
    }
  }

 private:
  TENON_INLINE static void take(const T* plane, const int32_t* corner, int32_t step, int64_t count,
                                T* largest, int32_t* best) {
    const T* at = plane + step;
    TENON_INDEPENDENT
    for (int64_t x = 0; x < count; ++x) {
      const T value = at[corner[x]];
      const bool better = (value > largest[x]) | (value != value);
      largest[x] = better ? value : largest[x];
      best[x] = better ? corner[x] + step : best[x];
    }
  }
};

// Pooling with the most common windows: two columns wide, beside each other. The elements of a
// register of windows are next to each other, and are sorted into first and second columns.
template <class T>
struct PoolPairs {
  using V = kernel::Vector<T, kernel::register_bytes>;
  static constexpr auto N = static_cast<int64_t>(sizeof(V) / sizeof(T));
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;  // as wide as the elements
  using Indices = kernel::Vector<Index, kernel::register_bytes>;

  static bool takes(const Windows& w) {
    return w.kernel[2] == 2 && w.stride[2] == 2 && w.dilation[2] == 1 && w.out[2] >= N;
  }
  TENON_INLINE static void run(const Windows* windows, const T* plane, T* values,
                               int64_t* indices) {
    const Windows& w = *windows;
    Indices doubled{};
    for (int k = 0; k < N; ++k) doubled[k] = static_cast<Index>(k) * 2;
    for (int64_t z = 0; z < w.out[0]; ++z) {
      for (int64_t y = 0; y < w.out[1]; ++y, values += w.out[2], indices += w.out[2]) {
        const int64_t row = (z * w.stride[0] * w.in[1] + y * w.stride[1]) * w.in[2];
        for (int64_t from = 0; from < w.out[2]; from += N) {
          // The last windows of a row are computed again, so that none is left over.
          const int64_t x = std::min(from, w.out[2] - N);
          V largest;
          Indices best;
          take_windows(w, plane, row + 2 * x, doubled, largest, best);
          __builtin_memcpy(values + x, &largest, sizeof(largest));
          for (int k = 0; k < N; ++k) indices[x + k] = best[k];
        }
      }
    }
  }

 private:
  TENON_INLINE static void take_windows(const Windows& w, const T* plane, int64_t corner,
                                        const Indices& doubled, V& largest, Indices& best) {
    split(plane + corner, largest, best, doubled, static_cast<Index>(corner), true);
    for (int64_t k = 0; k < w.kernel[0]; ++k) {
      for (int64_t i = k == 0 ? 1 : 0; i < w.kernel[1]; ++i) {
        const int64_t start = corner + (k * w.dilation[0] * w.in[1] + i * w.dilation[1]) * w.in[2];
        split(plane + start, largest, best, doubled, static_cast<Index>(start), false);
      }
    }
  }
  // One row of N windows, in order; the first row begins.
  TENON_INLINE static void split(const T* at, V& largest, Indices& best, const Indices& doubled,
                                 Index start, bool begins) {
    V low, high, even, odd;
    kernel::detail::load_vector(low, at);
    kernel::detail::load_vector(high, at + N);
    if constexpr (N == 8) {
      even = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
      odd = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15);
    } else {
      even = __builtin_shufflevector(low, high, 0, 2, 4, 6);
      odd = __builtin_shufflevector(low, high, 1, 3, 5, 7);
    }
    const Indices first = doubled + start, second = first + 1;
    if (begins) {
      largest = even;
      best = first;
    } else {
      const Indices better = (even > largest) | (even != even);
      largest = better ? even : largest;
      best = better ? first : best;
    }
    const Indices better = (odd > largest) | (odd != odd);
    largest = better ? odd : largest;
    best = better ? second : best;
  }
};

// The position of each window's first element, for windows that are inside of their plane.
Tensor corners_of(const Windows& w) {
  Tensor corners = tenon::empty_tensor({w.out_size()}, tenon::i32);
  auto* to = corners.data<int32_t>();
  for (int64_t z = 0; z < w.out[0]; ++z) {
    for (int64_t y = 0; y < w.out[1]; ++y) {
      const int64_t row = (z * w.stride[0] * w.in[1] + y * w.stride[1]) * w.in[2];
      for (int64_t x = 0; x < w.out[2]; ++x) *to++ = static_cast<int32_t>(row + x * w.stride[2]);
    }
  }
  return corners;
}

bool all_inside(const Windows& w) {
  bool inside = true;
  for (int d = 0; d < 3; ++d) {
    inside = inside && w.padding[d] == 0 &&
             (w.out[d] - 1) * w.stride[d] + w.dilation[d] * (w.kernel[d] - 1) < w.in[d];
  }
  return inside;
}

std::tuple<Tensor, Tensor> largest(const char* op, const Tensor& input, IntList kernel_size,
                                   std::optional<IntList> stride, IntList padding, IntList dilation,
                                   bool ceil_mode) {
  check_pool_input(op, input, kernel_size.size());
  const Windows windows(op, input.shape(), kernel_size, stride, padding, dilation, ceil_mode);
  const Shape shape = windows.output_shape(input.shape());
  Tensor values = tenon::empty_tensor(shape, input.dtype());
  Tensor indices = tenon::empty_tensor(shape, tenon::i64);
  if (values.numel() == 0) return {std::move(values), std::move(indices)};
  const Tensor whole = dense(input);
  const Planes planes(input.shape(), windows.dimensions);
  const int64_t in = windows.in_size(), out = windows.out_size();
  if (in > std::numeric_limits<int32_t>::max()) {
    throw tenon::ValueError(std::string(op) + "(): planes of " + std::to_string(in) +
                            " elements are too large");
  }
  const bool without_borders = all_inside(windows);
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const bool pairs = without_borders && PoolPairs<T>::takes(windows);
    const bool inside = without_borders && !pairs && windows.out[2] < 64;  // long rows are walked
    const Tensor corner_tensor = inside ? corners_of(windows) : Tensor();
    const int32_t* corners = inside ? corner_tensor.data<const int32_t>() : nullptr;
    const T* from = whole.data<const T>();
    T* to = values.data<T>();
    auto* at = indices.data<int64_t>();
    kernel::for_rows(planes.planes, windows.work(), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        if (pairs) {
          kernel::run<PoolPairs<T>>(&windows, from + p * in, to + p * out, at + p * out);
        } else if (inside) {
          kernel::run<PoolInside<T>>(&windows, corners, from + p * in, to + p * out, at + p * out);
        } else {
          kernel::run<PoolPlane<T>>(&windows, from + p * in, to + p * out, at + p * out);
        }
      }
    });
  });
  return {std::move(values), std::move(indices)};
}

// Asks for a plane, of a larger one for its first rows.
template <class T>
void fetch_start(const T* plane, int64_t count) {
  const auto* const bytes = reinterpret_cast<const char*>(plane);
  const int64_t size = std::min<int64_t>(4096, count * static_cast<int64_t>(sizeof(T)));
  for (int64_t at = 0; at < size; at += 64) __builtin_prefetch(bytes + at);
}

// The largest values without their positions.
Tensor largest_values(const char* op, const Tensor& input, IntList kernel_size,
                      std::optional<IntList> stride, IntList padding, IntList dilation,
                      bool ceil_mode) {
  check_pool_input(op, input, kernel_size.size());
  const Windows windows(op, input.shape(), kernel_size, stride, padding, dilation, ceil_mode);
  if (!ValueRows::takes(windows)) {
    return std::get<0>(largest(op, input, kernel_size, stride, padding, dilation, ceil_mode));
  }
  Tensor values = tenon::empty_tensor(windows.output_shape(input.shape()), input.dtype());
  if (values.numel() == 0) return values;
  const Tensor whole = dense(input);
  const ValueRows layout(windows);
  const bool squares = has_squares(windows);
  const Planes planes(input.shape(), windows.dimensions);
  const int64_t in = windows.in_size(), out = windows.out_size();
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = whole.data<const T>();
    T* to = values.data<T>();
    // The layer before wrote the last planes last: of more than the cache holds, only these are in it.
    const auto each_plane = [&](const auto& take) {
      kernel::for_rows(planes.planes, windows.work(), [&](int64_t begin, int64_t end) {
        std::vector<T> scratch(static_cast<size_t>(squares ? 0 : layout.scratch(windows)));
        for (int64_t p = end; p-- > begin;) {
          // Planes come in an order that the processor does not guess.
          if (p > begin) fetch_start(from + (p - 1) * in, in);
          take(from + p * in, to + p * out, scratch.data());
        }
      });
    };
    if (squares) {
      each_plane([&](const T* plane, T* best, T*) {
        kernel::run_by_registers<PoolSquaresOf<T>::template By>(&windows, plane, best);
      });
    } else {
      each_plane([&](const T* plane, T* best, T* scratch) {
        kernel::run<PoolValues<T>>(&windows, &layout, plane, best, scratch);
      });
    }
  });
  return values;
}

template <int d>
struct MaxPoolWithIndices {
  static constexpr auto name = family_text<d>("max_pool{d}d");
  static constexpr auto schema = family_text<d>(
      "nn.functional.max_pool{d}d_with_indices(Tensor input, int[{d}] kernel_size, int[{d}]? "
      "stride=None, int[{d}] padding=0, int[{d}] dilation=1, bool ceil_mode=False) -> (Tensor, "
      "Tensor indices)");
  static constexpr auto doc = family_text<d>(
      "The largest element of each window, and its position in its {row|plane of height * width "
      "elements|volume of depth * height * width elements}; -inf and -1 for a window wholly in the "
      "padding.");
  static constexpr auto saves = "shape(input), result1";
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, IntList kernel_size,
                                            std::optional<IntList> stride, IntList padding,
                                            IntList dilation, bool ceil_mode) {
    return largest(name, input, kernel_size, stride, padding, dilation, ceil_mode);
  }
  static Tensor backward(ContextOf<MaxPoolWithIndices>& c, const Tensor& g, const Tensor&) {
    return tenon::nn::grad::max_pool(g, c["indices"_result], c["input"_arg].shape(), d);
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<MaxPoolWithIndices>& c, TensorList t) {
    return {pick(t[0], c["indices"_result], d), Tensor()};
  }
};

// Positions are noted where a gradient needs them.
template <int d>
struct MaxPool {
  static constexpr auto name = family_text<d>("max_pool{d}d");
  static constexpr auto schema = family_text<d>(
      "nn.functional.max_pool{d}d(Tensor input, int[{d}] kernel_size, int[{d}]? stride=None, "
      "int[{d}] padding=0, int[{d}] dilation=1, bool ceil_mode=False) -> Tensor");
  static constexpr auto doc =
      "The largest element of each window; stride is kernel_size unless given.";
  static constexpr auto saves = "shape(input)";
  static Tensor forward(Context& c, const Tensor& input, IntList kernel_size,
                        std::optional<IntList> stride, IntList padding, IntList dilation,
                        bool ceil_mode) {
    c.save_for_forward({input});
    const bool plain = is_plain(input);
    if (plain && !c.needs_input_grad(0))
      return largest_values(name, input, kernel_size, stride, padding, dilation, ceil_mode);
    auto [values, indices] =
        plain ? largest(name, input, kernel_size, stride, padding, dilation, ceil_mode)
              : by_op()(input, kernel_size, stride, padding, dilation, ceil_mode);
    c.mark_non_differentiable({indices});
    c.save_for_backward({indices});
    return values;
  }
  static Tensor backward(ContextOf<MaxPool>& c, const Tensor& g) {
    return tenon::nn::grad::max_pool(g, c.saved(0), c["input"_arg].shape(), d);
  }
  static Tensor jvp(ContextOf<MaxPool>& c, TensorList t) { return pick(t[0], positions(c), d); }

 private:
  // Values and positions of a tensor that a device has.
  static auto by_op() {
    const char* const window_op = name;
    static const tenon::Op op("nn.functional." + std::string(window_op) + "_with_indices");
    return
        [](const auto&... arguments) { return op.call<std::tuple<Tensor, Tensor>>(arguments...); };
  }
  static Tensor positions(ContextOf<MaxPool>& c) {
    const Tensor input = c.saved(0);
    const auto places = [&](const auto& find) {
      auto [values, indices] = find(c["kernel_size"_arg], c["stride"_arg], c["padding"_arg],
                                    c["dilation"_arg], c["ceil_mode"_arg]);
      return std::move(indices);
    };
    if (is_plain(input))
      return places([&](const auto&... window) { return largest(name, input, window...); });
    return places([&](const auto&... window) { return by_op()(input, window...); });
  }
};

// The gradient of every pool of maxima: each goes back to where its element was.
struct MaxPoolGrad {
  static constexpr auto schema =
      "nn.grad.max_pool(Tensor grad_output, Tensor indices, int[] input_size, int dimensions) -> "
      "Tensor";
  static constexpr auto doc =
      "The gradient of a pool of maxima over the last dimensions, from the positions that it "
      "returned.";
  static constexpr auto saves = "indices";

  static Tensor forward(const Tensor& grad_output, const Tensor& indices, IntList input_size,
                        int64_t dimensions) {
    check_floating("max_pool", "grad_output", grad_output);
    const IntList a = grad_output.shape();
    if (indices.dtype() != tenon::i64 || !kernel::same_shape(a, indices.shape()) ||
        dimensions < 1 || dimensions > input_size.size() || input_size.size() != a.size() ||
        !std::equal(a.begin(), a.end() - dimensions, input_size.begin())) {
      throw tenon::ValueError("max_pool(): 'grad_output' of shape " + shape_text(grad_output) +
                              " and 'indices' of shape " + shape_text(indices) +
                              " do not fit an input of shape " + shape_text(input_size));
    }
    Tensor result = tenon::empty_tensor(input_size, grad_output.dtype());
    if (grad_output.numel() == 0) {
      tenon::fill_elements(result, 0);
      return result;
    }
    const Tensor g = dense(grad_output), positions = dense(indices);
    const Planes in(input_size, dimensions), out(a, dimensions);
    visit_floating(grad_output.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = g.data<const T>();
      const auto* at = positions.data<const int64_t>();
      T* to = kernel::elements<T>(result);
      kernel::for_rows(in.planes, out.size, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          check_positions(at + p * out.size, out.size, in.size);
          give_back(from + p * out.size, at + p * out.size, to + p * in.size, out.size, in.size);
        }
      });
    });
    return result;
  }
  static std::tuple<Tensor, Tensor> backward(ContextOf<MaxPoolGrad>& c, const Tensor& v) {
    return {pick(v, c["indices"_arg], c["dimensions"_arg]), Tensor()};
  }
  static constexpr auto jvp = tenon::multilinear;

 private:
  // -1 is a window wholly in the padding.
  static void check_positions(const int64_t* positions, int64_t count, int64_t size) {
    bool fine = true;
    for (int64_t i = 0; i < count; ++i)
      fine = fine & (static_cast<uint64_t>(positions[i]) + 1 <= static_cast<uint64_t>(size));
    if (fine) return;
    for (int64_t i = 0; i < count; ++i) {
      if (positions[i] >= -1 && positions[i] < size) continue;
      throw tenon::IndexError("max_pool(): position " + std::to_string(positions[i]) +
                              " is outside of planes of " + std::to_string(size) + " elements");
    }
  }
  // One plane, which is in the cache when its gradients come.
  template <class T>
  static void give_back(const T* gradients, const int64_t* positions, T* to, int64_t count,
                        int64_t size) {
    std::fill_n(to, size, T{0});
    for (int64_t i = 0; i < count; ++i) {
      if (positions[i] >= 0) to[positions[i]] += gradients[i];
    }
  }
};

}  // namespace
TENON_OP(MaxPoolGrad)
TENON_OPS_1D_TO_3D(MaxPoolWithIndices)
TENON_OPS_1D_TO_3D(MaxPool)
