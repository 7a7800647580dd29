// Trains a layer on the device `mirror`: its gradients are those of the ops, which the device does not declare.
#include <cstdio>
#include <exception>

#include <tenon/device.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

int main() {
  try {
    add_plugin_path(PLUGIN_FOLDER);
    const Tensor inputs = device::to(tensor({{1., 2.}, {3., 4.}, {5., 6.}}), "mirror");
    const Tensor targets = device::to(tensor({{5.}, {11.}, {17.}}), "mirror");  // x + 2 y
    Tensor weight = device::to(tensor({{0.5}, {0.5}}), "mirror");
    weight.requires_grad_();
    for (int step = 0; step < 3000; ++step) {
      const Tensor difference = relu(mm(inputs, weight)) - targets;
      mean(difference * difference).backward();
      const NoGrad no_grad;
      weight.sub_(weight.grad() * 0.02);
      weight.set_grad({});
    }
    std::printf("%s\n", device::to(weight.detach(), "cpu").text().c_str());
    std::printf("%s\n", device::name_of(weight).c_str());
    try {
      mm(inputs, tensor({{1.}, {2.}}));
    } catch (const Error& error) {
      std::printf("%s\n", error.what());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
