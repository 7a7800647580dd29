// conv2d_tail: a convolution, and what networks do with its result, in one pass over it: its arguments
// and their checks, rules, the loop over a row, the declaration.
#pragma once

#include <tenon/kernel/isa.hpp>

#include "shared_ops/convolution.hpp"

namespace nn {

// Elementwise operands after a convolution. Undefined tensors change nothing.
struct TailOperands {
  const Tensor &factor, &term, &addend;
  bool relu;

  void check(const Convolution& k, const Tensor& input) const {
    Shape features;
    features.push(k.features);
    const auto check_one = [&](const char* name, const Tensor& tensor, const Shape& shape) {
      if (!tensor.defined()) return;
      kernel::check_shape(k.op, name, tensor, shape);
      check_same_dtype(k.op, "input", input, name, tensor);
    };
    check_one("factor", factor, features);
    check_one("term", term, features);
    check_one("addend", addend, k.output_shape());
  }
};

// Tail operands as elements: one factor and one term for each feature, addends as the result has
// its elements; null where there is none.
template <class T>
struct Tail {
  const T *factor = nullptr, *term = nullptr, *addend = nullptr;
  bool relu = false;

  bool is_empty() const {
    return factor == nullptr && term == nullptr && addend == nullptr && !relu;
  }
  T factor_of(int64_t feature) const { return factor == nullptr ? T{1} : factor[feature]; }
  T term_of(int64_t feature) const { return term == nullptr ? T{0} : term[feature]; }
  // The tail of results that begin with that feature and element.
  Tail from(int64_t feature, int64_t element) const {
    const auto moved = [](const T* at, int64_t by) { return at == nullptr ? at : at + by; };
    return {moved(factor, feature), moved(term, feature), moved(addend, element), relu};
  }
};

// A NaN stays one, as in relu.
template <class T>
TENON_INLINE T positive_part(T value) {
  return value < 0 ? T{0} : value;
}

// The tail of one feature's elements, in place; `addend` may be null.
template <class T>
struct TailRow {
  TENON_INLINE static void run(T* row, const T* addend, T factor, T term, bool relu,
                               int64_t count) {
    if (addend == nullptr && relu) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) row[i] = positive_part(row[i] * factor + term);
    } else if (addend == nullptr) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) row[i] = row[i] * factor + term;
    } else if (relu) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i)
        row[i] = positive_part(row[i] * factor + term + addend[i]);
    } else {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) row[i] = row[i] * factor + term + addend[i];
    }
  }
};

// Applies the tail to some features, one after the other, of so many elements each.
template <class T>
void apply_tail(const Tail<T>& tail, T* elements, int64_t features, int64_t each) {
  if (tail.is_empty()) return;
  for (int64_t f = 0; f < features; ++f) {
    kernel::run<TailRow<T>>(elements + f * each,
                            tail.addend == nullptr ? tail.addend : tail.addend + f * each,
                            tail.factor_of(f), tail.term_of(f), tail.relu, each);
  }
}

// `Op` has name and samples; `Kernels` is a provider's, with convolve of a Convolution and of operands
// that were checked.
template <class Op, class Kernels>
struct ConvTailRules {
  static constexpr auto schema =
      "nn.functional.conv2d_tail(Tensor input, Tensor weight, Tensor? bias=None, Tensor? "
      "factor=None, Tensor? term=None, Tensor? addend=None, bool relu=False, int[2] stride=1, any "
      "padding=0, int[2] dilation=1, int groups=1) -> Tensor";
  static constexpr auto name = "conv2d_tail";
  static constexpr auto doc =
      "conv2d, times factor plus term, one number for each feature, plus addend, of the result's "
      "shape, then relu where that is True. Graph and Sequential call it for a Conv2d, a "
      "BatchNorm2d in eval mode, an addition and a ReLU that follow each other, where gradients "
      "are off.";
  static constexpr auto saves = "input, weight, bias, factor, result";

  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& factor, const Tensor& term, const Tensor& addend, bool relu,
                        IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
    const Convolution k = conv(name, input, weight, bias, stride, padding, dilation, groups);
    const TailOperands tail{factor, term, addend, relu};
    tail.check(k, input);
    return Kernels::convolve(k, input, weight, bias, tail);
  }
  static Tensor shape_rule(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Tensor& factor, const Tensor& term, const Tensor& addend,
                           bool relu, IntList stride, const Argument& padding, IntList dilation,
                           int64_t groups) {
    const Convolution k = conv(name, input, weight, bias, stride, padding, dilation, groups);
    TailOperands{factor, term, addend, relu}.check(k, input);
    return tenon::empty_tensor(k.output_shape(), input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor&, const Tensor&, const Tensor&, bool, IntList stride,
                               const Argument& padding, IntList dilation, int64_t groups) {
    return conv(name, input, weight, bias, stride, padding, dilation, groups).multiply_adds();
  }

  // A parameter `any`, as padding is, takes a gradient.
  static std::array<Tensor, 9> backward(ContextOf<Op>& c, const Tensor& g) {
    const Settings settings(c);
    const Tensor sum = c["relu"_arg] ? tenon::relu_backward(g, c.result()) : g;
    const Tensor& factor = c["factor"_arg];
    std::array<Tensor, 9> gradients;
    const bool of_convolution = c.needs_input_grad("input"_arg) ||
                                c.needs_input_grad("weight"_arg) || c.needs_input_grad("bias"_arg);
    if (of_convolution) {
      const Tensor plain = factor.defined() ? sum * along_features(factor, 2) : sum;
      if (c.needs_input_grad("input"_arg))
        gradients[0] = settings.input(c["input"_arg].shape(), c["weight"_arg], plain);
      if (c.needs_input_grad("weight"_arg))
        gradients[1] = settings.weight(c["input"_arg], c["weight"_arg].shape(), plain);
      if (c.needs_input_grad("bias"_arg)) gradients[2] = of_features(plain);
    }
    if (c.needs_input_grad("factor"_arg)) gradients[3] = of_features(sum * convolved(c, settings));
    if (c.needs_input_grad("term"_arg)) gradients[4] = of_features(sum);
    if (c.needs_input_grad("addend"_arg)) gradients[5] = sum;
    return gradients;
  }
  static Tensor jvp(ContextOf<Op>& c, TensorList t) {
    const Settings settings(c);
    const Tensor& factor = c["factor"_arg];
    Tensor tangent;
    const auto add = [&](const Tensor& part) {
      tangent = tangent.defined() ? tangent + part : part;
    };
    if (t[0].defined()) add(settings.convolve(t[0], c["weight"_arg]));
    if (t[1].defined()) add(settings.convolve(c["input"_arg], t[1]));
    if (t[2].defined()) add(along_features(t[2], 2));
    if (tangent.defined() && factor.defined()) tangent = tangent * along_features(factor, 2);
    if (t[3].defined()) add(convolved(c, settings) * along_features(t[3], 2));
    if (t[4].defined()) add(along_features(t[4], 2));
    if (t[5].defined()) add(t[5]);
    // A tangent of the bias or of the term alone has not the result's shape yet.
    tangent = tangent.expand(c.result().shape());
    return c["relu"_arg] ? tenon::relu_backward(tangent, c.result()) : tangent;
  }

 private:
  // The value that the factor multiplies, computed again.
  static Tensor convolved(ContextOf<Op>& c, const Settings& settings) {
    const Tensor &bias = c["bias"_arg], result = settings.convolve(c["input"_arg], c["weight"_arg]);
    return bias.defined() ? result + along_features(bias, 2) : result;
  }
  // Sums over all dimensions but the features'.
  static Tensor of_features(const Tensor& tensor) {
    return tensor.dim() == 4 ? tensor.sum({0, 2, 3}) : tensor.sum({1, 2});
  }
};

}  // namespace nn
