// Linear and Bilinear.
#include "modules/initialize.hpp"

namespace {

using namespace nn;

struct Linear : ModuleOf<Linear> {
  static constexpr auto schema = "Linear(int in_features, int out_features, bool bias=True)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "input @ weight.T + bias, with weight [out_features, in_features].";

  Parameter weight{*this, "weight"}, bias{*this, "bias"};

  Linear(int64_t in_features, int64_t out_features, bool with_bias) {
    check_size("Linear", "in_features", in_features, 0);
    check_size("Linear", "out_features", out_features, 0);
    weight = uniform_parameter(tenon::empty_tensor({out_features, in_features}), in_features);
    if (with_bias) bias = uniform_parameter(tenon::empty_tensor({out_features}), in_features);
  }
  Tensor forward(const Tensor& input) const {
    return tenon::nn::functional::linear(input, weight, bias);
  }
};

struct Bilinear : ModuleOf<Bilinear> {
  static constexpr auto schema =
      "Bilinear(int in1_features, int in2_features, int out_features, bool bias=True)";
  static constexpr auto forward_schema = "forward(Tensor input1, Tensor input2) -> Tensor";
  static constexpr auto samples = R"([{"in1_features": 3, "in2_features": 3, "out_features": 2}])";
  static constexpr auto doc =
      "input1 @ weight[k] @ input2 + bias[k] for each output k, with weight [out_features, "
      "in1_features, in2_features].";

  Parameter weight{*this, "weight"}, bias{*this, "bias"};

  Bilinear(int64_t in1, int64_t in2, int64_t out, bool with_bias) {
    check_size("Bilinear", "in1_features", in1, 1);
    check_size("Bilinear", "in2_features", in2, 1);
    check_size("Bilinear", "out_features", out, 0);
    weight = uniform_parameter(tenon::empty_tensor({out, in1, in2}), in1);
    if (with_bias) bias = uniform_parameter(tenon::empty_tensor({out}), in1);
  }
  Tensor forward(const Tensor& input1, const Tensor& input2) const {
    const int64_t in1 = weight.size(1), in2 = weight.size(2), out = weight.size(0);
    // [..., out * in2] of input1, then the sum over in2.
    const Tensor rows = weight.transpose(1, 2).reshape({out * in2, in1});
    const Tensor half = tenon::nn::functional::linear(input1, rows, Tensor());
    std::vector<int64_t> shape = input1.sizes();
    shape.back() = out;
    shape.push_back(in2);
    const Tensor result = (half.reshape(shape) * input2.unsqueeze(-2)).sum({-1});
    return bias.defined() ? result + bias : result;
  }
};

}  // namespace
TENON_MODULE(Linear)
TENON_MODULE(Bilinear)
