// Sequential: modules one after another.
#include "common.hpp"

namespace {

using namespace nn;
using tenon::Module;

struct Sequential {
  // Its children are the config's "layers", which the host registers as "0", "1", ...
  static constexpr auto schema = "Sequential()";
  static constexpr auto doc = "Runs its layers in order, each on the result of the one before.";

  static Tensor forward(const Module& self, const Tensor& input) {
    const std::vector<Module> layers = self.children(false);  // shared ones too, each time
    if (layers.empty())
      throw tenon::ValueError("Sequential(): there are no layers to run; give it at least one");
    Tensor value = input;
    for (const Module& layer : layers) value = layer(value);
    return value;
  }
};

}  // namespace
TENON_MODULE(Sequential)
