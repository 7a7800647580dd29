// Sequential: modules one after another.
#include <algorithm>

#include "modules/joined_convolution.hpp"

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
    const bool convolves = std::any_of(layers.begin(), layers.end(), is_convolution);
    joins_ = convolves && joined_by_same_plugins();
  }
  Tensor forward(const Tensor& input) const {
    const std::vector<Module> layers = module().children(false);  // shared ones too, each time
    if (layers.empty())
      throw tenon::ValueError("Sequential(): it has no layers to run, expected at least one");
    const bool joins = joins_ && may_join();
    Tensor value = input;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (joins && is_convolution(layers[i])) {
        size_t last = i;
        if (const Tensor joined = joined_at(layers, last, value); joined.defined()) {
          value = joined;
          i = last;
          continue;
        }
      }
      value = layers[i](value);
    }
    return value;
  }

 private:
  static bool is_convolution(const Module& layer) { return is_of_type(layer, "Conv2d"); }

  // Layer `at`, a Conv2d, with those behind it; `at` becomes the last of them. Undefined where there
  // are none, or it cannot be.
  static Tensor joined_at(const std::vector<Module>& layers, size_t& at, const Tensor& input) {
    JoinedConvolution joined;
    joined.convolution = layers[at];
    size_t next = at + 1;
    const auto take = [&](const char* type, Module& follower) {
      if (next == layers.size() || !is_of_type(layers[next], type)) return;
      follower = layers[next++];
    };
    take("BatchNorm2d", joined.norm);
    take("ReLU", joined.activation);
    joined.relu = joined.activation.defined();
    if (next == at + 1) return {};
    at = next - 1;
    return run_joined(joined, input);
  }

  bool joins_ = false;
};

}  // namespace
TENON_MODULE(Sequential)
