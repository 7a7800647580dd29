// Sequential: modules one after another.
#include "common.hpp"

namespace {

using namespace nn;
using tenon::Module, tenon::ModuleOf;

struct Sequential : ModuleOf<Sequential> {
  static constexpr auto schema = "Sequential(Module[] layers=[])";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"layers": ["Tanh", "ReLU"]}])";
  static constexpr auto doc = "Runs its layers in order, each on the result of the one before.";

  explicit Sequential(const std::vector<Module>& layers) {
    for (size_t i = 0; i < layers.size(); ++i) register_child(std::to_string(i), layers[i]);
  }
  Tensor forward(const Tensor& input) const {
    const std::vector<Module> layers = module().children(false);  // shared ones too, each time
    if (layers.empty())
      throw tenon::ValueError("Sequential(): it has no layers to run, expected at least one");
    Tensor value = input;
    for (const Module& layer : layers) value = layer(value);
    return value;
  }
};

}  // namespace
TENON_MODULE(Sequential)
