// avg_pool1d, avg_pool2d and avg_pool3d, and their gradient, the transpose of a linear map: arguments and
// their checks, rules, declarations.
#pragma once

#include <optional>
#include <string>

#include "shared_ops/op_family.hpp"
#include "shared_ops/windows.hpp"

namespace nn {

using shared_ops::family_text;
using tenon::ContextOf;
using namespace tenon::literals;

// The windows of a pool of means, and what a window's sum is divided by.
struct AveragePool {
  Windows windows;
  bool count_include_pad;
  std::optional<int64_t> divisor;

  AveragePool(const char* op, IntList input, IntList kernel_size, std::optional<IntList> stride,
              IntList padding, bool ceil_mode, bool include_pad,
              std::optional<int64_t> divisor_override)
      : windows(op, input, kernel_size, stride, padding, std::nullopt, ceil_mode),
        count_include_pad(include_pad),
        divisor(divisor_override) {
    if (divisor != 0) return;
    throw tenon::ValueError(std::string(op) +
                            "(): divisor_override is 0; omit it to divide by the "
                            "number of elements of a window");
  }
};

// Rules of avg_pool. `Kernels` has the computation, for one plugin: average(AveragePool, input) and
// spread(AveragePool, grad_output, input_size).
template <class Op, class Kernels>
struct AvgPoolRules {
  static constexpr auto saves = "shape(input)";

  static AveragePool pool(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                          IntList padding, bool ceil_mode, bool count_include_pad,
                          std::optional<int64_t> divisor_override) {
    check_pool_input(Op::name, input, kernel_size.size());
    return {Op::name, input.shape(), kernel_size,       stride,
            padding,  ceil_mode,     count_include_pad, divisor_override};
  }
  static Tensor forward(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                        IntList padding, bool ceil_mode, bool count_include_pad,
                        std::optional<int64_t> divisor_override) {
    return Kernels::average(
        pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override),
        input);
  }
  static Tensor backward(ContextOf<Op>& c, const Tensor& g) {
    static const tenon::Op gradient("nn.grad.avg_pool");
    return gradient.template call<Tensor>(g, c["input"_arg].shape(), c["kernel_size"_arg],
                                          c["stride"_arg], c["padding"_arg], c["ceil_mode"_arg],
                                          c["count_include_pad"_arg], c["divisor_override"_arg]);
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

template <int d>
struct AvgPoolDeclaration {
  static constexpr auto name = family_text<d>("avg_pool{d}d");
  static constexpr auto schema = family_text<d>(
      "nn.functional.avg_pool{d}d(Tensor input, int[{d}] kernel_size, int[{d}]? stride=None, "
      "int[{d}] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
      "divisor_override=None) -> Tensor");
  static constexpr auto doc = family_text<d>(
      "The mean of each window over the last {dimension|two dimensions|three dimensions}; stride "
      "is "
      "kernel_size unless given. With ceil_mode a window may reach beyond the end; "
      "count_include_pad counts padding as zeros. divisor_override takes the place of the number "
      "of "
      "elements that a sum is divided by.");
};

template <class Op, class Kernels>
struct AvgPoolGradRules {
  static constexpr auto schema =
      "nn.grad.avg_pool(Tensor grad_output, int[] input_size, int[] kernel_size, int[]? "
      "stride, int[] padding, bool ceil_mode=False, bool count_include_pad=True, int? "
      "divisor_override=None) -> Tensor";
  static constexpr auto doc =
      "The gradient of the avg_pool of as many dimensions as kernel_size has.";

  static AveragePool pool(const Tensor& grad_output, IntList input_size, IntList kernel_size,
                          std::optional<IntList> stride, IntList padding, bool ceil_mode,
                          bool count_include_pad, std::optional<int64_t> divisor_override) {
    constexpr auto op = "avg_pool";
    const int64_t dimensions = kernel_size.size();
    if (dimensions < 1 || dimensions > 3 || padding.size() != dimensions ||
        (stride && stride->size() != dimensions)) {
      throw tenon::ValueError(
          "avg_pool(): kernel_size, stride and padding must each have 1, 2 or 3 numbers, got " +
          shape_text(kernel_size) + " and padding " + shape_text(padding));
    }
    check_pool_input(op, grad_output, dimensions);
    if (input_size.size() != grad_output.dim()) {
      throw tenon::ValueError("avg_pool(): 'grad_output' of shape " + shape_text(grad_output) +
                              " does not fit an input of shape " + shape_text(input_size));
    }
    const AveragePool made(op, input_size, kernel_size, stride, padding, ceil_mode,
                           count_include_pad, divisor_override);
    kernel::check_shape(op, "grad_output", grad_output, made.windows.output_shape(input_size));
    return made;
  }
  static Tensor forward(const Tensor& grad_output, IntList input_size, IntList kernel_size,
                        std::optional<IntList> stride, IntList padding, bool ceil_mode,
                        bool count_include_pad, std::optional<int64_t> divisor_override) {
    return Kernels::spread(pool(grad_output, input_size, kernel_size, stride, padding, ceil_mode,
                                count_include_pad, divisor_override),
                           grad_output, input_size);
  }
  static Tensor backward(ContextOf<Op>& c, const Tensor& v) {
    static const tenon::Op one("nn.functional.avg_pool1d"), two("nn.functional.avg_pool2d"),
        three("nn.functional.avg_pool3d");
    const IntList size = c["kernel_size"_arg];
    const tenon::Op& op = size.size() == 1 ? one : size.size() == 2 ? two : three;
    return op.template call<Tensor>(v, size, c["stride"_arg], c["padding"_arg], c["ceil_mode"_arg],
                                    c["count_include_pad"_arg], c["divisor_override"_arg]);
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

}  // namespace nn
