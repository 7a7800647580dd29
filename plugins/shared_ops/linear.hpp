// linear: its declaration, what its arguments may be, and its rules.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/kernel/view.hpp>
#include <tenon/ops.hpp>

TENON_NAMESPACE_BEGIN
namespace nn::functional {
TENON_OP_FUNCTION(Tensor, linear, "nn.functional.linear")
}  // namespace nn::functional
TENON_NAMESPACE_END

namespace nn {

using tenon::ContextOf, tenon::Tensor, tenon::TensorList;
using namespace tenon::literals;

struct LinearDeclaration {
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

template <class Op>
struct LinearRules : LinearDeclaration {
  static constexpr auto saves = "shape(input), weight for input, input for weight, shape(bias)";

  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<Op>& c, const Tensor& g) {
    Tensor input, weight, bias;
    const int64_t rank = g.dim();
    const Tensor rows = rank == 2 ? g : g.reshape({count_rows(g), g.size(-1)});
    if (c.needs_input_grad("input"_arg)) {
      input = rows.mm(c["weight"_arg]);
      if (rank != 2) input = input.reshape(c["input"_arg].shape());
    }
    if (c.needs_input_grad("weight"_arg)) {
      const Tensor& x = c["input"_arg];
      weight = rows.t().mm(rank == 2 ? x : x.reshape({count_rows(x), x.size(-1)}));
    }
    if (c.needs_input_grad("bias"_arg)) bias = rows.sum_to_size(c["bias"_arg].shape());
    return {std::move(input), std::move(weight), std::move(bias)};
  }

  static Tensor jvp(ContextOf<Op>& c, TensorList t) {
    Tensor tangent;
    const auto take = [&](Tensor part) {
      tangent = tangent.defined() ? tangent + part : std::move(part);
    };
    if (t[0].defined()) take(tenon::nn::functional::linear(t[0], c["weight"_arg]));
    if (t[1].defined()) take(tenon::nn::functional::linear(c["input"_arg], t[1]));
    if (!t[2].defined()) return tangent;
    tenon::kernel::Shape full(c["input"_arg].shape());
    full[full.rank - 1] = c["weight"_arg].size(0);
    take(tangent.defined() ? t[2] : t[2].expand(tenon::IntList(full)));
    return tangent;
  }

 private:
  static int64_t count_rows(const Tensor& tensor) {
    int64_t rows = 1;
    for (int64_t i = 0; i + 1 < tensor.dim(); ++i) rows *= tensor.shape()[i];
    return rows;
  }
};

}  // namespace nn
