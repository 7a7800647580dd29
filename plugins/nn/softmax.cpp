// softmax and log_softmax, with their derivatives.
#include "softmax.hpp"

#include <algorithm>

#include "common.hpp"

namespace {

using namespace nn;

template <template <class, int> class Rows, bool Logarithm>
Tensor normalize(const char* op, const Tensor& input, int64_t dim) {
  check_floating(op, "input", input);
  const int64_t wrapped = input.wrap_dimension(dim);
  const Tensor whole = dense(input);
  Tensor result = tenon::empty_tensor(input.shape(), input.dtype());
  if (input.numel() == 0) return result;
  const kernel::Lines lines(whole.shape(), wrapped);
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = whole.data<const T>();
    T* y = result.data<T>();
    const int64_t n = lines.size, inner = lines.inner;
    if (inner == 1) {
      kernel::for_rows(lines.outer, n, [&](int64_t begin, int64_t end) {
        kernel::run_by_registers<RowsOf<Rows, T>::template By>(x + begin * n, y + begin * n,
                                                               end - begin, n);
      });
    } else {
      kernel::for_rows(lines.outer, n * inner, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          kernel::run<SoftmaxColumns<T, Logarithm>>(x + i * n * inner, y + i * n * inner, n, inner);
        }
      });
    }
  });
  return result;
}

template <template <class> class Rows>
bool gradient_rows(const char* op, const Tensor& grad_output, const Tensor& result, int64_t dim,
                   Tensor& gradient) {
  check_floating(op, "output", result);
  check_same_dtype(op, "grad_output", grad_output, "output", result);
  const Shape a(grad_output.shape()), b(result.shape());
  if (a.rank != b.rank || !std::equal(a.begin(), a.end(), b.begin())) {
    throw tenon::ValueError(std::string(op) + "(): 'grad_output' of shape " +
                            shape_text(grad_output) + " does not fit 'output' of shape " +
                            shape_text(result));
  }
  const kernel::Lines lines(result.shape(), result.wrap_dimension(dim));
  if (lines.inner != 1) return false;
  gradient = tenon::empty_tensor(result.shape(), result.dtype());
  if (gradient.numel() == 0) return true;
  const Tensor g_whole = dense(grad_output), y_whole = dense(result);
  visit_floating(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* g = g_whole.data<const T>();
    const T* y = y_whole.data<const T>();
    T* to = gradient.data<T>();
    const int64_t n = lines.size;
    kernel::for_rows(lines.outer, n, [&](int64_t begin, int64_t end) {
      kernel::run<Rows<T>>(g + begin * n, y + begin * n, to + begin * n, end - begin, n);
    });
  });
  return true;
}

struct Softmax {
  static constexpr auto schema = "nn.functional.softmax(Tensor input, int dim) -> Tensor";
  static constexpr auto doc = "exp(input) scaled so that it sums to 1 along dim.";
  static constexpr auto saves = "result";

  static Tensor forward(const Tensor& input, int64_t dim) {
    return normalize<SoftmaxRows, false>("softmax", input, dim);
  }
  static Tensor backward(ContextOf<Softmax>& c, const Tensor& g) {
    return tenon::nn::grad::softmax(g, c.result(), c["dim"_arg]);
  }
  // The derivative is a symmetric matrix, so it maps tangents as it maps gradients.
  static Tensor jvp(ContextOf<Softmax>& c, TensorList t) {
    return tenon::nn::grad::softmax(t[0], c.result(), c["dim"_arg]);
  }
};

struct SoftmaxGrad {
  static constexpr auto schema =
      "nn.grad.softmax(Tensor grad_output, Tensor output, int dim) -> Tensor";
  static constexpr auto doc = "The gradient of softmax, from its result.";
  static constexpr auto saves = "grad_output for output, output";

  static Tensor forward(const Tensor& grad_output, const Tensor& result, int64_t dim) {
    Tensor gradient;
    if (gradient_rows<SoftmaxGradRows>("softmax", grad_output, result, dim, gradient))
      return gradient;
    return (grad_output - (grad_output * result).sum(dim, true)) * result;
  }
  static std::tuple<Tensor, Tensor> backward(ContextOf<SoftmaxGrad>& c, const Tensor& v) {
    const auto dim = c["dim"_arg];
    const Tensor& y = c["output"_arg];
    Tensor grad_output, result;
    if (c.needs_input_grad("grad_output"_arg)) grad_output = tenon::nn::grad::softmax(v, y, dim);
    if (c.needs_input_grad("output"_arg)) {
      const Tensor& g = c["grad_output"_arg];
      result = v * (g - (g * y).sum(dim, true)) - g * (v * y).sum(dim, true);
    }
    return {std::move(grad_output), std::move(result)};
  }
  static Tensor jvp(ContextOf<SoftmaxGrad>& c, TensorList t) {
    const auto dim = c["dim"_arg];
    const Tensor& y = c["output"_arg];
    Tensor tangent;
    if (t[0].defined()) tangent = tenon::nn::grad::softmax(t[0], y, dim);
    if (t[1].defined()) {
      const Tensor& g = c["grad_output"_arg];
      tangent = plus(tangent, (g - (g * y).sum(dim, true)) * t[1] - (g * t[1]).sum(dim, true) * y);
    }
    return tangent;
  }
};

struct Softmin {
  static constexpr auto schema = "nn.functional.softmin(Tensor input, int dim) -> Tensor";
  static constexpr auto doc =
      "softmax of -input: exp(-input) scaled so that it sums to 1 along dim.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t dim) {
    check_floating("softmin", "input", input);
    return tenon::nn::functional::softmax(-input, dim);
  }
};

struct LogSoftmax {
  static constexpr auto schema = "nn.functional.log_softmax(Tensor input, int dim) -> Tensor";
  static constexpr auto doc = "The logarithm of softmax along dim.";
  static constexpr auto saves = "result";

  static Tensor forward(const Tensor& input, int64_t dim) {
    return normalize<LogSoftmaxRows, true>("log_softmax", input, dim);
  }
  static Tensor backward(ContextOf<LogSoftmax>& c, const Tensor& g) {
    return tenon::nn::grad::log_softmax(g, c.result(), c["dim"_arg]);
  }
  static Tensor jvp(ContextOf<LogSoftmax>& c, TensorList t) {
    return t[0] - (c.result().exp() * t[0]).sum(c["dim"_arg], true);
  }
};

struct LogSoftmaxGrad {
  static constexpr auto schema =
      "nn.grad.log_softmax(Tensor grad_output, Tensor output, int dim) -> Tensor";
  static constexpr auto doc = "The gradient of log_softmax, from its result.";
  static constexpr auto saves = "grad_output for output, output";

  static Tensor forward(const Tensor& grad_output, const Tensor& result, int64_t dim) {
    Tensor gradient;
    if (gradient_rows<LogSoftmaxGradRows>("log_softmax", grad_output, result, dim, gradient))
      return gradient;
    return grad_output - result.exp() * grad_output.sum(dim, true);
  }
  static std::array<Tensor, 2> backward(ContextOf<LogSoftmaxGrad>& c, const Tensor& v) {
    const auto dim = c["dim"_arg];
    const Tensor p = c["output"_arg].exp();
    return needed_gradients(
        c, "grad_output"_arg = [&] { return v - (p * v).sum(dim, true); },
        "output"_arg = [&] { return -(p * c["grad_output"_arg].sum(dim, true) * v); });
  }
  static Tensor jvp(ContextOf<LogSoftmaxGrad>& c, TensorList t) {
    const auto dim = c["dim"_arg];
    Tensor tangent;
    if (t[0].defined()) tangent = tenon::nn::grad::log_softmax(t[0], c["output"_arg], dim);
    if (t[1].defined())
      tangent =
          plus(tangent, -(c["output"_arg].exp() * c["grad_output"_arg].sum(dim, true) * t[1]));
    return tangent;
  }
};

}  // namespace
TENON_OPS(Softmax, SoftmaxGrad, Softmin, LogSoftmax, LogSoftmaxGrad)
