// A process without the plugin that provides the ops of autograd.
#include <cstdlib>
#include <filesystem>

#include "tests/sdk/functions.hpp"

using namespace functions;

TEST_SUITE("core_ops") {
  TEST_CASE("a backward without the math plugin says which op it needs, and where that is") {
    if (std::getenv("TENON_PLUGIN_AUTOLOAD") == nullptr) {
      // The runtime has read its environment before main: ops of other tests are static.
      const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
      CHECK(std::system(("TENON_PLUGIN_AUTOLOAD=no '" + self + "' -ts=core_ops").c_str()) == 0);
      return;
    }
    load_plugin(TENON_FIXTURES "/functions/functions.so");
    const Op same("fx.same");
    const Tensor x = row({1}).requires_grad_();
    // One gradient needs no op.
    same.call<Tensor>(x).backward();
    CHECK(numbers(x.grad()) == Numbers{1});
    const Refusal refused = refusal([&] { same.call<Tensor>(x).backward(); });
    CHECK(refused.kind == TENON_ERROR_PLUGIN);
    CHECK(refused.op == "add_");
    CHECK(refused.text ==
          "autograd needs op 'add_' to add a gradient to a .grad, and no plugin provides it; "
          "plugin 'math' does: name its folder in TENON_PLUGIN_PATH and leave loading from there "
          "on (`tenon plugins` lists what is found), or register 'add_(Tensor(a!) input, Tensor "
          "other) -> Tensor(a!)' in another plugin");
    CHECK(numbers(x.grad()) == Numbers{1});
    // It is asked for again, and found once its plugin is loaded.
    load_plugin("math");
    same.call<Tensor>(x).backward();
    CHECK(numbers(x.grad()) == Numbers{2});
  }
}
