// LayerNorm: a module around nn.functional.layer_norm.
#include "initialize.hpp"

namespace {

using namespace nn;

struct LayerNorm {
  static constexpr auto schema =
      "LayerNorm(int[] normalized_shape, float eps=1e-5, bool elementwise_affine=True, bool "
      "bias=True)";
  static constexpr auto doc =
      "Mean 0 and variance 1 over the last dimensions, then times weight plus bias.";

  static void create(Module& self, IntList normalized_shape, double, bool elementwise_affine,
                     bool bias) {
    for (int64_t i = 0; i < normalized_shape.size(); ++i) {
      check_size("LayerNorm", "normalized_shape", normalized_shape[i], 1);
    }
    check_size("LayerNorm", "the length of normalized_shape", normalized_shape.size(), 1);
    Tensor weight, shift;
    if (elementwise_affine) {
      weight = tenon::empty_tensor(normalized_shape);
      tenon::fill_elements(weight, 1);
    }
    if (elementwise_affine && bias) {
      shift = tenon::empty_tensor(normalized_shape);
      tenon::fill_elements(shift, 0);
    }
    self.register_parameter("weight", weight);
    self.register_parameter("bias", shift);
  }
  static Tensor forward(const ModuleOf<LayerNorm>& self, const Tensor& input) {
    return tenon::nn::functional::layer_norm(input, self["normalized_shape"_arg],
                                             self.tensor("weight"), self.tensor("bias"),
                                             self["eps"_arg]);
  }
};

}  // namespace
TENON_MODULE(LayerNorm)
