// Prints the errors that both Functions lead to.
#include <cstdio>

#include <tenon/tenon.hpp>

using tenon::Tensor;

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const Tensor x = tenon::ones({2, 3}).requires_grad_();
  try {
    tenon::Op("examples.linear_function").call<Tensor>(x, x).sum().backward();
  } catch (const tenon::Error& error) {
    std::puts(error.what());
  }

  const auto square = tenon::Op("examples.square").call<Tensor>(x);
  tenon::GradientOptions options;
  options.create_graph = true;
  const Tensor gradient = tenon::gradients({(square * square).sum()}, {x}, options)[0];
  std::puts(gradient.detach().text().c_str());
  try {
    gradient.sum().backward();
  } catch (const tenon::Error& error) {
    std::puts(error.what());
  }
}
