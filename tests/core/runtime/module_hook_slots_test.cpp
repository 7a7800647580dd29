// Registration of module hooks, and the end of their state.
#include "tests/core/nn/support.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

int runs = 0, destroyed = 0;
tenon_status count_run(void*, const tenon_module_hook_call*, tenon_value*, tenon_error**) {
  ++runs;
  return TENON_OK;
}
void count_destroyed(void*) { ++destroyed; }

tenon_hook* hooked(tenon_module* module) {
  tenon_hook* hook = nullptr;
  CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
          return slots().modules.add_hook(module, TENON_HOOK_FORWARD, 0, count_run, nullptr,
                                          count_destroyed, &hook, error);
        }) == "");
  return hook;
}
void call(const ModuleRef& module) {
  const TensorRef input = floats({1});
  const tenon_value argument = tensor_value(input.get());
  Outcome outcome;
  call_module(*module, {&argument, 1}, {}, {}, outcome.results, 1);
}
void remove(tenon_hook* hook) {
  host_services().graph.hook_remove(hook);
  host_services().graph.hook_release(hook);
}

}  // namespace

TEST_SUITE("runtime/module_hook_slots") {
  TEST_CASE("a hook of a module runs for that one, one of no module for all") {
    const Types types;
    const ModuleRef one = types.make(), other = types.make();
    runs = destroyed = 0;
    tenon_hook* own = hooked(one.get());
    call(one);
    call(other);
    CHECK(runs == 1);
    tenon_hook* all = hooked(nullptr);
    call(other);
    CHECK(runs == 2);
    call(one);
    CHECK(runs == 4);
    remove(all);
    call(other);
    CHECK(runs == 4);
    remove(own);
    call(one);
    CHECK(runs == 4);
    CHECK(destroyed == 2);
  }

  TEST_CASE("a kind that hooks do not have is refused, and the state is destroyed") {
    const Types types;
    const ModuleRef module = types.make();
    destroyed = 0;
    tenon_hook* hook = nullptr;
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modules.add_hook(module.get(), 99, 0, count_run, nullptr,
                                            count_destroyed, &hook, error);
          }) != "");
    CHECK(hook == nullptr);
    CHECK(destroyed == 1);
  }
}
