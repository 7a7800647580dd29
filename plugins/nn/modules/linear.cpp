// Linear: a module around nn.functional.linear.
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
  std::string extra_repr() const {
    return "in_features=" + std::to_string((*this)["in_features"_arg]) +
           ", out_features=" + std::to_string((*this)["out_features"_arg]) +
           ", bias=" + truth_text(bias.defined());
  }
};

}  // namespace
TENON_MODULE(Linear)
