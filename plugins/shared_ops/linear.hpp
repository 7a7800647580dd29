// linear: its schema, and what its arguments may be.
#pragma once

#include <string>

#include <tenon/kernel/check.hpp>
#include <tenon/kernel/view.hpp>
#include <tenon/plugin.hpp>

namespace nn {

struct LinearDeclaration {
  using Tensor = tenon::Tensor;

  static constexpr auto schema =
      "nn.functional.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr auto doc =
      "input @ weight.T + bias, for an input of any number of leading dimensions.";

  static Tensor shape_rule(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    check(input, weight, bias);
    tenon::kernel::Shape shape(input.shape());
    shape[shape.rank - 1] = weight.shape()[0];
    return tenon::empty_tensor(shape, input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& weight, const Tensor&) {
    return input.numel() * weight.size(0);
  }

  static bool shapes_fit(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    const int64_t rank = input.dim();
    return weight.dim() == 2 && rank >= 1 && input.shape()[rank - 1] == weight.shape()[1] &&
           (!bias.defined() || spreads(bias, weight.shape()[0]));
  }
  static void check(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    if (!shapes_fit(input, weight, bias)) refuse(input, weight, bias);
    tenon::kernel::check_same_dtype("linear", "input", input, "weight", weight);
  }

 private:
  static bool spreads(const Tensor& bias, int64_t features) {
    return bias.dim() == 0 ||
           (bias.dim() == 1 && (bias.shape()[0] == features || bias.shape()[0] == 1));
  }
  [[noreturn, gnu::cold]] static void refuse(const Tensor& input, const Tensor& weight,
                                             const Tensor& bias) {
    using tenon::kernel::shape_text;
    if (weight.dim() != 2) {
      throw tenon::ValueError(
          "linear(): 'weight' must have shape [out_features, in_features], got " +
          shape_text(weight));
    }
    if (input.dim() < 1 || input.shape()[input.dim() - 1] != weight.shape()[1]) {
      throw tenon::ValueError("linear(): 'input' of shape " + shape_text(input) +
                              " does not fit 'weight' of shape " + shape_text(weight) +
                              ": its last dimension must be " + std::to_string(weight.shape()[1]));
    }
    throw tenon::ValueError("linear(): 'bias' must have shape [" +
                            std::to_string(weight.shape()[0]) + "] or one element, got " +
                            shape_text(bias));
  }
};

}  // namespace nn
