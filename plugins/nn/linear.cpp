// linear: x W^T + b, one product for all rows.
#include "shared_ops/linear.hpp"

#include <algorithm>

#include <tenon/kernel/lanes.hpp>

#include "common.hpp"

namespace {

using namespace nn;

// One row: dot products with the rows of the weight, which is read once. A general product would
// spend as long on arranging its operands.
template <class T, int Bytes>  // bytes of a register
struct OneRow {
  TENON_INLINE static void run(const T* x, const T* weight, const T* bias, T* y, int64_t outputs,
                               int64_t n) {
    int64_t r = 0;
    for (; r + together <= outputs; r += together) dots<together>(x, weight, bias, y, r, n);
    for (; r < outputs; ++r) dots<1>(x, weight, bias, y, r, n);
  }
  static constexpr int64_t together = 4;  // outputs

 private:
  template <int Count>
  TENON_INLINE static void dots(const T* x, const T* matrix, const T* bias, T* y, int64_t r,
                                int64_t n) {
    const T* weight = matrix + r * n;
    using V = kernel::Vector<T, Bytes>;
    constexpr auto N = static_cast<int64_t>(sizeof(V) / sizeof(T));
    V lanes[Count] = {}, v, w;
    int64_t i = 0;
    for (; i + N <= n; i += N) {
      kernel::detail::load_vector(v, x + i);
      for (int k = 0; k < Count; ++k) {
        kernel::detail::load_vector(w, weight + k * n + i);
        lanes[k] += v * w;
      }
    }
    for (int k = 0; k < Count; ++k) {
      T sum = kernel::add_lanes<T, Bytes>(lanes[k]);
      for (int64_t j = i; j < n; ++j) sum += x[j] * weight[k * n + j];
      y[r + k] = bias == nullptr ? sum : sum + bias[r + k];
    }
  }
};

// One row by a weight whose columns are dense: outputs beside each other in registers, each element of the
// row times a line of the weight. Nothing is added across lanes.
template <class T, int Bytes>
struct OneRowByColumns {
  using V = kernel::Vector<T, Bytes>;
  static constexpr auto line = static_cast<int64_t>(sizeof(V) / sizeof(T));
  static constexpr int registers = 8;
  static constexpr int64_t together = registers * line;  // outputs

  // `columns` are [n, outputs] of lines that are `stride` apart.
  TENON_INLINE static void run(const T* x, const T* columns, int64_t stride, const T* bias, T* y,
                               int64_t outputs, int64_t n) {
    int64_t r = 0;
    for (; r + 8 * line <= outputs; r += 8 * line) sums<8>(x, columns, stride, bias, y, r, n);
    if (r + 4 * line <= outputs) {
      sums<4>(x, columns, stride, bias, y, r, n);
      r += 4 * line;
    }
    if (r + 2 * line <= outputs) {
      sums<2>(x, columns, stride, bias, y, r, n);
      r += 2 * line;
    }
    if (r + line <= outputs) {
      sums<1>(x, columns, stride, bias, y, r, n);
      r += line;
    }
    for (; r < outputs; ++r) {
      T sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += x[i] * columns[i * stride + r];
      y[r] = bias == nullptr ? sum : sum + bias[r];
    }
  }

 private:
  // As many sums for each output as keep all registers busy.
  template <int Count>
  TENON_INLINE static void sums(const T* x, const T* columns, int64_t stride, const T* bias, T* y,
                                int64_t r, int64_t n) {
    constexpr int parts = registers / Count;
    V lanes[parts][Count] = {}, w;
    const T* at = columns + r;
    int64_t i = 0;
    for (; i + parts <= n; i += parts) {
      for (int p = 0; p < parts; ++p, at += stride) {
        for (int k = 0; k < Count; ++k) {
          kernel::detail::load_vector(w, at + k * line);
          lanes[p][k] += w * x[i + p];
        }
      }
    }
    for (; i < n; ++i, at += stride) {
      for (int k = 0; k < Count; ++k) {
        kernel::detail::load_vector(w, at + k * line);
        lanes[0][k] += w * x[i];
      }
    }
    for (int half = parts / 2; half > 0; half /= 2) {
      for (int p = 0; p < half; ++p)
        for (int k = 0; k < Count; ++k) lanes[p][k] += lanes[p + half][k];
    }
    for (int k = 0; k < Count; ++k) {
      if (bias != nullptr) {
        kernel::detail::load_vector(w, bias + r + k * line);
        lanes[0][k] += w;
      }
      __builtin_memcpy(y + r + k * line, &lanes[0][k], sizeof(w));
    }
  }
};

// The input as a matrix of rows.
Tensor rows_of(const Tensor& input, int64_t features) {
  if (input.dim() == 2) return input;
  const Tensor whole = dense(input);
  Shape shape;
  int64_t rows = 1;
  for (int64_t i = 0; i + 1 < input.dim(); ++i) rows *= input.shape()[i];
  shape.push(rows);
  shape.push(features);
  return reshaped(whole, shape);
}

// A weight with dense columns, as a transposed tensor has: for fewer outputs than a register has, rows are
// as fast.
bool has_dense_columns(const Tensor& weight) {
  return weight.shape()[0] > 1 && weight.strides()[0] == 1 &&
         (weight.shape()[1] == 1 || weight.strides()[1] >= weight.shape()[0]);
}
// Whether a kernel takes it: one row, and all that it reads without gaps.
bool is_one_row(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return input.numel() == weight.shape()[1] && input.numel() > 0 && input.is_contiguous() &&
         (weight.is_contiguous() || has_dense_columns(weight)) &&
         (!bias.defined() || (bias.numel() == weight.shape()[0] && bias.is_contiguous()));
}
template <class Kernel, class T>
void each_output(const T* x, const T* matrix, const T* added, T* y, int64_t outputs, int64_t n) {
  // Whole groups of outputs, so that threads change no bit of them.
  const int64_t groups = (outputs + Kernel::together - 1) / Kernel::together;
  kernel::for_rows(groups, Kernel::together * n, [&](int64_t begin, int64_t end) {
    const int64_t from = begin * Kernel::together, to = std::min(outputs, end * Kernel::together);
    kernel::run<Kernel>(x, matrix + from * n, added == nullptr ? added : added + from, y + from,
                        to - from, n);
  });
}
template <class Kernel, class T>
void each_column(const T* x, const T* matrix, int64_t stride, const T* added, T* y, int64_t outputs,
                 int64_t n) {
  const int64_t groups = (outputs + Kernel::together - 1) / Kernel::together;
  kernel::for_rows(groups, Kernel::together * n, [&](int64_t begin, int64_t end) {
    const int64_t from = begin * Kernel::together, to = std::min(outputs, end * Kernel::together);
    kernel::run<Kernel>(x, matrix + from, stride, added == nullptr ? added : added + from, y + from,
                        to - from, n);
  });
}
Tensor one_row(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const int64_t outputs = weight.shape()[0], n = weight.shape()[1];
  Shape shape(input.shape());
  shape[shape.rank - 1] = outputs;
  Tensor result = tenon::empty_tensor(shape, input.dtype());
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *x = input.data<const T>(), *matrix = kernel::elements<const T>(weight);
    const T* added = bias.defined() ? kernel::elements<const T>(bias) : nullptr;
    T* y = kernel::elements<T>(result);
    const bool wide = kernel::machine_isa() == TENON_ISA_V4;
    if (weight.is_contiguous()) {
      if (wide)
        each_output<OneRow<T, 64>>(x, matrix, added, y, outputs, n);
      else
        each_output<OneRow<T, 32>>(x, matrix, added, y, outputs, n);
    } else {
      const int64_t stride = weight.strides()[1];
      if (wide)
        each_column<OneRowByColumns<T, 64>>(x, matrix, stride, added, y, outputs, n);
      else
        each_column<OneRowByColumns<T, 32>>(x, matrix, stride, added, y, outputs, n);
    }
  });
  return result;
}

struct Linear : LinearRules<Linear> {
  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    check(input, weight, bias);
    const int64_t rank = input.dim();
    if (is_one_row(input, weight, bias) && tenon::is_floating(input.dtype()) &&
        (!bias.defined() || bias.dtype() == input.dtype()))
      return one_row(input, weight, bias);
    const int64_t out_features = weight.shape()[0], in_features = weight.shape()[1];
    const std::array<int64_t, 2> shape{in_features, out_features},
        strides{weight.strides()[1], weight.strides()[0]};
    const Tensor transposed =
        tenon::alias_tensor(weight, {shape.data(), 2}, {strides.data(), 2}, 0);
    const Tensor rows = rows_of(input, in_features);
    Tensor result =
        bias.defined() ? tenon::addmm(bias, rows, transposed) : tenon::mm(rows, transposed);
    if (rank == 2) return result;
    Shape full(input.shape());
    full[rank - 1] = out_features;
    return reshaped(result, full);
  }
};

}  // namespace
TENON_OP(Linear)
