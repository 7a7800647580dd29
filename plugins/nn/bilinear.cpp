// bilinear: a form that is linear in two inputs.
#include "common.hpp"

namespace {

using namespace nn;

struct Bilinear {
  static constexpr auto schema =
      "nn.functional.bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"input1": {"shape": [2, 3]}, "input2": {"shape": [2, 2]}, "weight": {"shape": [4, 3, 2]},
           "bias": {"shape": [4]}},
          {"input1": {"shape": [2]}, "input2": {"shape": [3]}, "weight": {"shape": [1, 2, 3]}}])";
  static constexpr auto doc =
      "y[k] = input1^T weight[k] input2 + bias[k] for vectors [..., in1] and [..., in2], whose "
      "dimensions in front agree, and weight [out, in1, in2]: [..., out].";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                        const Tensor& bias) {
    constexpr auto op = "bilinear";
    check_floating(op, "input1", input1);
    check_same_dtype(op, "input1", input1, "input2", input2);
    check_same_dtype(op, "input1", input1, "weight", weight);
    const int64_t rank = input1.dim();
    bool fits = rank > 0 && input2.dim() == rank && weight.dim() == 3 &&
                weight.size(1) == input1.size(-1) && weight.size(2) == input2.size(-1);
    for (int64_t i = 0; fits && i + 1 < rank; ++i) fits = input1.size(i) == input2.size(i);
    if (!fits) {
      throw tenon::ValueError(
          "bilinear(): 'input1', 'input2' and 'weight' must be [..., in1], [..., in2] and [out, "
          "in1, in2], got shapes " +
          shape_text(input1) + ", " + shape_text(input2) + " and " + shape_text(weight));
    }
    const int64_t out = weight.size(0);
    // [..., out, in2]: the sums over in1 first.
    const Tensor rows = weight.permute({1, 0, 2}).reshape({weight.size(1), out * weight.size(2)});
    std::vector<int64_t> shape = input1.sizes();
    shape.back() = out;
    shape.push_back(weight.size(2));
    const Tensor halves = input1.matmul(rows).reshape(shape);
    const Tensor result = (halves * input2.unsqueeze(-2)).sum(-1);
    if (!bias.defined()) return result;
    check_same_dtype(op, "input1", input1, "bias", bias);
    kernel::check_shape(op, "bias", bias, IntList(&out, 1));
    return result + bias;
  }
};

}  // namespace
TENON_OP(Bilinear)
