// Plugins that are unloaded while tensors on a device, or kernels that are queued, need them.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/runtime.hpp>
#include <tenon/tenon.hpp>

#include "plugins/sim/control.h"

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

  TEST_CASE("a plugin whose kernels are queued stays until they have run") {
    const Service<sim_control_service> control("sim.control", SIM_CONTROL_VERSION);
    control->delay_kernels(40'000, 3);
    Tensor x = device::to(ones({3}), "sim:0");
    for (int i = 0; i < 40; ++i) x = x * 1;
    const Op softsign("nn.functional.softsign");
    const Tensor y = softsign.call<Tensor>(x);
    std::string text;
    try {
      static_cast<void>(unload("nn"));
    } catch (const PluginError& error) {
      text = error.what();
    }
    CHECK(text.find("it is held by 1 x call that runs later") != std::string::npos);
    static_cast<void>(unload("nn", Unload::force));
    CHECK_THROWS_AS(softsign(x), PluginError);
    CHECK(y.to_vector<float>() == std::vector<float>(3, 0.5));
    control->delay_kernels(200, 1);
    load_plugin("nn");
  }
}
