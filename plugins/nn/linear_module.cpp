// Linear: a module around nn.functional.linear.
#include "initialize.hpp"

namespace {

using namespace nn;

struct Linear {
  static constexpr auto schema = "Linear(int in_features, int out_features, bool bias=True)";
  static constexpr auto doc = "input @ weight.T + bias, with weight [out_features, in_features].";

  static void create(Module& self, int64_t in_features, int64_t out_features, bool bias) {
    check_size("Linear", "in_features", in_features, 0);
    check_size("Linear", "out_features", out_features, 0);
    const Tensor weight = tenon::empty_tensor({out_features, in_features});
    self.register_parameter("weight", uniform_parameter(weight, in_features));
    self.register_parameter(
        "bias",
        bias ? uniform_parameter(tenon::empty_tensor({out_features}), in_features) : Tensor());
  }
  static Tensor forward(const Module& self, const Tensor& input) {
    return tenon::nn::functional::linear(input, self.tensor("weight"), self.tensor("bias"));
  }
  static std::string extra_repr(const ModuleOf<Linear>& self) {
    return "in_features=" + std::to_string(self["in_features"_arg]) +
           ", out_features=" + std::to_string(self["out_features"_arg]) +
           ", bias=" + truth_text(self.tensor("bias").defined());
  }
};

}  // namespace
TENON_MODULE(Linear)
