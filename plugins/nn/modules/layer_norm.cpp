// LayerNorm: a module around nn.functional.layer_norm.
#include "modules/initialize.hpp"

namespace {

using namespace nn;

struct LayerNorm : ModuleOf<LayerNorm> {
  static constexpr auto schema =
      "LayerNorm(int[] normalized_shape, float eps=1e-5, bool elementwise_affine=True, bool "
      "bias=True)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc =
      "Mean 0 and variance 1 over the last dimensions, then times weight plus bias.";

  Parameter weight{*this, "weight"}, bias{*this, "bias"};

  LayerNorm(IntList normalized_shape, double, bool elementwise_affine, bool with_bias) {
    for (int64_t i = 0; i < normalized_shape.size(); ++i) {
      check_size("LayerNorm", "normalized_shape", normalized_shape[i], 1);
    }
    check_size("LayerNorm", "the length of normalized_shape", normalized_shape.size(), 1);
    if (elementwise_affine) weight = filled(normalized_shape, 1);
    if (elementwise_affine && with_bias) bias = filled(normalized_shape, 0);
  }
  Tensor forward(const Tensor& input) const {
    return tenon::nn::functional::layer_norm(input, (*this)["normalized_shape"_arg], weight, bias,
                                             (*this)["eps"_arg]);
  }
  // As PyTorch prints it: (4,), eps=1e-05, elementwise_affine=True.
  std::string extra_repr() const {
    return tuple_text((*this)["normalized_shape"_arg]) +
           ", eps=" + number_text((*this)["eps"_arg]) +
           ", elementwise_affine=" + truth_text((*this)["elementwise_affine"_arg]);
  }
};

}  // namespace
TENON_MODULE(LayerNorm)
