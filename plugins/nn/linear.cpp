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

// Whether a kernel takes it: one row, and all that it reads without gaps.
bool is_one_row(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return input.numel() == weight.shape()[1] && input.numel() > 0 && input.is_contiguous() &&
         weight.is_contiguous() &&
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
    if (kernel::machine_isa() == TENON_ISA_V4)
      each_output<OneRow<T, 64>>(x, matrix, added, y, outputs, n);
    else
      each_output<OneRow<T, 32>>(x, matrix, added, y, outputs, n);
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
