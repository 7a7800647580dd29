// linear: x W^T + b, one product for all rows.
#include "common.hpp"

namespace {

using namespace nn;

[[noreturn]] void refuse(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() != 2) {
    throw tenon::ValueError("linear(): 'weight' must have shape [out_features, in_features], got " +
                            shape_text(weight));
  }
  if (input.dim() < 1 || input.shape()[input.dim() - 1] != weight.shape()[1]) {
    throw tenon::ValueError("linear(): 'input' of shape " + shape_text(input) +
                            " does not fit 'weight' of shape " + shape_text(weight) +
                            ": its last dimension must be " + std::to_string(weight.shape()[1]));
  }
  throw tenon::ValueError("linear(): 'bias' must have shape [" + std::to_string(weight.shape()[0]) +
                          "] or one element, got " + shape_text(bias));
}
bool spreads(const Tensor& bias, int64_t features) {
  return bias.dim() == 0 ||
         (bias.dim() == 1 && (bias.shape()[0] == features || bias.shape()[0] == 1));
}

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

struct Linear {
  static constexpr auto schema =
      "nn.functional.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr auto doc =
      "input @ weight.T + bias, for an input of any number of leading dimensions.";
  static constexpr auto saves = "shape(input), weight for input, input for weight, shape(bias)";

  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    const int64_t rank = input.dim();
    if (weight.dim() != 2 || rank < 1 || input.shape()[rank - 1] != weight.shape()[1] ||
        (bias.defined() && !spreads(bias, weight.shape()[0]))) {
      refuse(input, weight, bias);
    }
    check_same_dtype("linear", "input", input, "weight", weight);
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

  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<Linear>& c, const Tensor& g) {
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

  static Tensor jvp(ContextOf<Linear>& c, TensorList t) {
    Tensor tangent;
    if (t[0].defined()) tangent = tenon::nn::functional::linear(t[0], c["weight"_arg]);
    if (t[1].defined())
      tangent = plus(tangent, tenon::nn::functional::linear(c["input"_arg], t[1]));
    if (t[2].defined()) {
      Shape full(c["input"_arg].shape());
      full[full.rank - 1] = c["weight"_arg].size(0);
      tangent = tangent.defined() ? tangent + t[2] : t[2].expand(IntList(full));
    }
    return tangent;
  }

 private:
  static int64_t count_rows(const Tensor& tensor) {
    int64_t rows = 1;
    for (int64_t i = 0; i + 1 < tensor.dim(); ++i) rows *= tensor.shape()[i];
    return rows;
  }
};

}  // namespace
TENON_OP(Linear)
