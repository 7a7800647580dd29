// Builds a model around the plugin's module, in code and from JSON, and trains it.
#include <cstdio>

#include <tenon/tenon.hpp>

using tenon::arg, tenon::Module, tenon::Tensor;

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  tenon::seed_generator(1);

  const Module linear =
      Module::create("examples.Linear", arg("input_features") = 5, arg("output_features") = 3);
  std::puts(linear.text().c_str());
  for (const auto& [name, parameter] : linear.named_parameters())
    std::printf("%s: %lld values\n", name.c_str(), static_cast<long long>(parameter.numel()));

  const Module model = tenon::create_module(tenon::Json::parse(R"({
    "type": "Sequential", "layers": [
      {"type": "examples.Linear", "input_features": 2, "output_features": 8}, "Tanh",
      {"type": "examples.Linear", "input_features": 8, "output_features": 1, "bias": false}]})"));
  std::puts(model.text().c_str());

  // The product of two numbers, learned from random ones.
  const Tensor inputs = tenon::rand({256, 2}) * 2 - 1;
  const Tensor targets = inputs.select(1, 0).mul(inputs.select(1, 1)).reshape({256, 1});
  double first = 0, last = 0;
  for (int step = 0; step < 2000; ++step) {
    const Tensor error = model(inputs) - targets;
    const Tensor loss = (error * error).mean();
    model.zero_grad();
    loss.backward();
    const tenon::NoGrad no_grad;
    for (const Tensor& parameter : model.parameters()) parameter.sub_(parameter.grad() * 0.5);
    last = loss.item();
    if (step == 0) first = last;
  }
  std::puts(last < first / 20 ? "learned" : "not learned");
}
