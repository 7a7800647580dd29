// The plugin of a device that is unloaded while its tensors live.
#include <string>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/runtime.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

TEST_SUITE("device/unload") {
  TEST_CASE("tensors on a device outlive its plugin, and compute") {
    Tensor x = device::to(tensor({1., 2.}), "sim:1");
    x.requires_grad_();
    const Tensor loss = sum(x * x);
    static_cast<void>(unload("sim", Unload::force));
    CHECK((x + x).detach().text() == "tensor([2., 4.], device='sim:1')");
    loss.backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>{2, 4});
  }

  TEST_CASE("a device is there again once its plugin is loaded again") {
    load_plugin("sim");
    CHECK(device::to(tensor({1.}), "sim:1").item() == 1);
  }
}
