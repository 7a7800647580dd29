// Gradients, hooks and graphs as plugins reach them.
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "core/autograd/engine/engine.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "tests/core/autograd/support.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

// Twice the leaf.
TensorRef doubled(const TensorRef& input) {
  TensorRef result = scaled(*input, 2);
  compute(*result, {input.get()},
          [](std::span<Tensor* const> gradients) { return Answer{scaled(*gradients[0], 2)}; });
  return result;
}

struct Asked {
  TensorRef gradient;
  std::string message;
};
// The gradient of the sum of `root` with regard to `input`.
Asked gradient(const TensorRef& root, const TensorRef& input, int32_t allow_unused,
               tenon_status expected) {
  tenon_tensor* const roots[] = {root.get()};
  const TensorRef ones = scaled(*root, 0);
  for (int64_t i = 0; i < ones->view.count; ++i) static_cast<float*>(ones->view.data)[i] = 1;
  tenon_tensor* const seeds[] = {ones.get()};
  tenon_tensor* const inputs[] = {input.get()};
  tenon_tensor* results[1] = {};
  Asked asked;
  asked.message = message_of_slot(expected, [&](tenon_error** error) {
    return slots().autograd.gradients(roots, seeds, 1, inputs, 1, 1, 0, allow_unused, results,
                                      error);
  });
  asked.gradient = TensorRef::take(results[0]);
  return asked;
}

void backward(const TensorRef& root) {
  Tensor* const roots[] = {root.get()};
  Tensor* const seeds[] = {nullptr};
  run_backward(roots, seeds, nullptr, {});
}

// Records as the forward of the module with that number does.
using InModule = SwitchGuard<&ThreadState::module>;

// The module of the node that made a tensor.
uint64_t module_of(const TensorRef& tensor) {
  tenon_node* const node = slots().graph.tensor_node(tensor.get());
  tenon_node_info info{};
  info.size = sizeof info;
  slots().graph.node_read(node, &info);
  slots().graph.node_release(node);
  return info.module;
}
// Runs `look` as a hook of the node that made the tensor, or of the tensor.
void hook(const TensorRef& tensor, int32_t kind, const std::function<void()>& look) {
  const auto run = [](void* state, tenon_tensor* const*, int64_t, tenon_tensor* const*, int64_t,
                      tenon_tensor**, tenon_error** error) -> tenon_status {
    return guarded(error, *static_cast<std::function<void()>*>(state));
  };
  const auto destroy = [](void* state) { delete static_cast<std::function<void()>*>(state); };
  auto* const state = new std::function<void()>(look);
  if (kind == TENON_HOOK_TENSOR) {
    REQUIRE(slots().graph.tensor_add_hook(tensor.get(), kind, run, state, destroy, nullptr,
                                          nullptr) == TENON_OK);
    return;
  }
  tenon_node* const node = slots().graph.tensor_node(tensor.get());
  REQUIRE(slots().graph.node_add_hook(node, kind, run, state, destroy, nullptr, nullptr) ==
          TENON_OK);
  slots().graph.node_release(node);
}

int destroyed = 0;
void count_destroyed(void*) { ++destroyed; }
tenon_status keep(void*, tenon_tensor* const*, int64_t, tenon_tensor* const*, int64_t,
                  tenon_tensor**, tenon_error**) {
  return TENON_OK;
}

}  // namespace

TEST_SUITE("runtime/autograd_slots") {
  TEST_CASE("an input that nothing leads to is refused, null, or zeros, as asked") {
    provide_core_ops();
    const TensorRef x = leaf({1, 2}), unused = leaf({3});
    const TensorRef y = doubled(x);
    CHECK(read(*gradient(y, x, 0, TENON_OK).gradient) == std::vector<float>{2, 2});
    CHECK(gradient(y, unused, 0, TENON_ERROR_GRAPH).message != "");
    CHECK_FALSE(gradient(y, unused, 1, TENON_OK).gradient);
    CHECK(read(*gradient(y, unused, 2, TENON_OK).gradient) == std::vector<float>{0});
  }

  TEST_CASE("a leaf has no node, a result has, and no tensor is neither") {
    const TensorRef x = leaf({1});
    const TensorRef y = doubled(x);
    CHECK(slots().autograd.is_leaf(x.get()) == 1);
    CHECK(slots().autograd.is_leaf(y.get()) == 0);
    CHECK(slots().graph.tensor_node_name(x.get()) == nullptr);
    CHECK(std::string(slots().graph.tensor_node_name(y.get())) == "RuleBackward0");
    CHECK(slots().autograd.requires_grad(y.get()) == 1);
    CHECK(slots().autograd.requires_grad(nullptr) == 0);
    CHECK(slots().autograd.grad(nullptr) == nullptr);
    CHECK(slots().graph.tensor_node(x.get()) == nullptr);
    tenon_tensor* detached = nullptr;
    CHECK(slots().autograd.detach(y.get(), &detached, nullptr) == TENON_OK);
    const TensorRef owner = TensorRef::take(detached);
    CHECK(slots().autograd.is_leaf(detached) == 1);
    CHECK(slots().autograd.requires_grad(detached) == 0);
  }

  TEST_CASE("a node is read as far as the caller knows its struct, and outlives its tensor") {
    const TensorRef x = leaf({1});
    tenon_node* node = nullptr;
    {
      const TensorRef y = doubled(x);
      node = slots().graph.tensor_node(y.get());
    }
    REQUIRE(node != nullptr);
    tenon_node_info info{};
    info.size = sizeof info;
    slots().graph.node_read(node, &info);
    CHECK(info.size == sizeof info);
    CHECK(info.edges == 1);
    CHECK(info.outputs == 1);
    CHECK(std::string(info.name) == "RuleBackward0");
    CHECK(info.op == nullptr);
    CHECK(info.released == 0);
    // Members that an older caller does not have are not written.
    tenon_node_info older;
    std::memset(&older, 0x5a, sizeof older);
    older.size = offsetof(tenon_node_info, name);
    slots().graph.node_read(node, &older);
    CHECK(older.size == offsetof(tenon_node_info, name));
    CHECK(older.edges == 1);
    CHECK(reinterpret_cast<const unsigned char*>(&older.name)[0] == 0x5a);
    uint32_t output = 7;
    CHECK(slots().graph.node_edge(node, 1, &output) == nullptr);
    CHECK(slots().graph.node_edge(node, -1, &output) == nullptr);
    CHECK(output == 7);
    tenon_node* next = slots().graph.node_edge(node, 0, &output);
    CHECK(next != nullptr);
    CHECK(output == 0);
    CHECK(slots().graph.node_edge(next, 0, nullptr) == nullptr);
    slots().graph.node_release(next);
    slots().graph.node_release(node);
    slots().graph.node_release(nullptr);
  }

  TEST_CASE("the state of a hook is destroyed once, whichever of handle and tensor goes last") {
    for (const bool handle_first : {false, true}) {
      destroyed = 0;
      tenon_hook* hook = nullptr;
      TensorRef x = leaf({1});
      CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
              return slots().graph.tensor_add_hook(x.get(), TENON_HOOK_TENSOR, keep, nullptr,
                                                   count_destroyed, &hook, error);
            }) == "");
      CHECK(slots().graph.hook_id(hook) != 0);
      CHECK(slots().graph.backward_reaches(hook) == 0);
      slots().graph.hook_retain(hook);
      slots().graph.hook_release(hook);
      if (handle_first) slots().graph.hook_release(hook);
      CHECK(destroyed == 0);
      x = TensorRef();
      if (!handle_first) slots().graph.hook_release(hook);
      CHECK(destroyed == 1);
    }
    slots().graph.hook_release(nullptr);
    slots().graph.hook_remove(nullptr);
    CHECK(slots().graph.hook_id(nullptr) == 0);
  }

  TEST_CASE("a hook that is refused has its state destroyed, and gives no handle") {
    destroyed = 0;
    tenon_hook* hook = nullptr;
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().graph.tensor_add_hook(nullptr, TENON_HOOK_TENSOR, keep, nullptr,
                                                 count_destroyed, &hook, error);
          }) == "the tensor is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().graph.node_add_hook(nullptr, TENON_HOOK_TENSOR, keep, nullptr,
                                               count_destroyed, &hook, error);
          }) == "the node is null");
    CHECK(hook == nullptr);
    CHECK(destroyed == 2);
  }

  TEST_CASE("modes of the thread return what they were") {
    CHECK(slots().autograd.grad_mode() == 1);
    CHECK(slots().autograd.grad_mode_set(0) == 1);
    CHECK(slots().autograd.grad_mode() == 0);
    CHECK(slots().autograd.grad_mode_set(1) == 0);
    CHECK(slots().autograd.strict_gradients_set(1) == 0);
    CHECK(slots().autograd.strict_gradients_set(0) == 1);
    CHECK(slots().graph.backward_id() == 0);
    CHECK(slots().graph.running_module() == 0);
  }

  TEST_CASE("a node that no module has recorded runs for the one around its backward") {
    provide_core_ops();
    std::vector<uint64_t> seen;
    const auto look = [&] { seen.push_back(slots().graph.running_module()); };
    const auto watched = [&](const TensorRef& input, uint32_t module, auto rule) {
      const InModule recorded(module);
      TensorRef result = scaled(*input, 2);
      compute(*result, {input.get()}, [rule](std::span<Tensor* const> gradients) {
        rule();
        return Answer{scaled(*gradients[0], 2)};
      });
      return result;
    };
    const TensorRef inner = watched(watched(leaf({1}), 0, look), 9, look);
    const TensorRef outer = watched(watched(leaf({1}), 0, look), 7, [&] {
      look();
      backward(inner);
      look();
    });
    const InModule around(3);
    backward(outer);
    CHECK(seen == std::vector<uint64_t>{7, 9, 7, 7, 3});
    CHECK(slots().graph.running_module() == 3);
  }

  TEST_CASE("random graphs: hooks and rules of a node run, and record, for its module") {
    provide_core_ops();
    std::mt19937 random(11);
    for (int program = 0; program < 60; ++program) {
      const InModule around(static_cast<uint32_t>(random() % 3));
      const uint32_t outside = thread_state.module;
      std::vector<TensorRef> values{leaf({1})};
      std::vector<std::array<uint64_t, 2>> pairs;  // expected, seen
      const size_t fails = random() % 30;
      for (size_t i = 0; i < 12; ++i) {
        const auto module = static_cast<uint32_t>(random() % 4);
        const uint64_t expected = module != 0 ? module : outside;
        const InModule recorded(module);
        const TensorRef input = values[random() % values.size()];
        TensorRef result = scaled(*input, 1);
        const auto look = [&, expected] {
          pairs.push_back({expected, slots().graph.running_module()});
        };
        compute(*result, {input.get()}, [&, i, expected, look](std::span<Tensor* const> gradients) {
          look();
          pairs.push_back({expected, module_of(doubled(leaf({1})))});
          if (i == fails) throw Error(TENON_ERROR_VALUE, "not today");
          return Answer{scaled(*gradients[0], 1)};
        });
        CHECK(module_of(result) == module);
        for (const int32_t kind :
             {TENON_HOOK_NODE_BEFORE, TENON_HOOK_NODE_AFTER, TENON_HOOK_TENSOR}) {
          hook(result, kind, [=] {
            look();
            if (i + 12 == fails) throw Error(TENON_ERROR_VALUE, "not today");
          });
        }
        values.push_back(std::move(result));
      }
      try {
        backward(values.back());
      } catch (const Error&) {
      }
      CHECK(!pairs.empty());
      for (const auto& [expected, seen] : pairs) CHECK(seen == expected);
      CHECK(slots().graph.running_module() == outside);
    }
  }

  TEST_CASE("threads of a loop run for the module that began it") {
    struct Seen {
      std::mutex mutex;
      std::condition_variable arrived;
      std::map<std::thread::id, uint64_t> modules;
    } seen;
    // Each piece waits for a second thread, so that there is one.
    const auto body = [](void* state, int64_t, int64_t, tenon_error**) -> tenon_status {
      auto& [mutex, arrived, modules] = *static_cast<Seen*>(state);
      std::unique_lock lock(mutex);
      modules.emplace(std::this_thread::get_id(), slots().graph.running_module());
      arrived.notify_all();
      arrived.wait_for(lock, std::chrono::seconds(20), [&] { return modules.size() > 1; });
      return TENON_OK;
    };
    const int32_t threads = slots().threads.count();
    slots().threads.count_set(2);
    {
      const InModule around(4);
      CHECK(slots().threads.parallel_for(0, 64, 1, body, &seen, nullptr) == TENON_OK);
    }
    slots().threads.count_set(threads);
    CHECK(seen.modules.size() == 2);
    for (const auto& [thread, module] : seen.modules) CHECK(module == 4);
  }

  TEST_CASE("a dual gives what it was made of, a plain tensor is its own primal") {
    const TensorRef x = floats({1}), t = floats({3});
    tenon_tensor *dual = nullptr, *primal = nullptr, *tangent = nullptr;
    REQUIRE(slots().autograd.dual_level_enter(nullptr) == TENON_OK);
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().autograd.dual_make(x.get(), nullptr, &dual, error);
          }) == "the tangent is null");
    REQUIRE(slots().autograd.dual_make(x.get(), t.get(), &dual, nullptr) == TENON_OK);
    const TensorRef made = TensorRef::take(dual);
    REQUIRE(slots().autograd.dual_unpack(dual, &primal, &tangent, nullptr) == TENON_OK);
    const TensorRef own_primal = TensorRef::take(primal), own_tangent = TensorRef::take(tangent);
    CHECK(read(*own_primal) == std::vector<float>{1});
    CHECK(read(*own_tangent) == std::vector<float>{3});
    REQUIRE(slots().autograd.dual_unpack(x.get(), &primal, &tangent, nullptr) == TENON_OK);
    const TensorRef same = TensorRef::take(primal);
    CHECK(primal == x.get());
    CHECK(tangent == nullptr);
    CHECK(slots().autograd.dual_level_exit(nullptr) == TENON_OK);
    CHECK(message_of_slot(TENON_ERROR_RUNTIME, [&](tenon_error** error) {
            return slots().autograd.dual_level_exit(error);
          }) != "");
  }

  TEST_CASE("only what can have a gradient may require one") {
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().autograd.set_requires_grad(nullptr, 1, error);
          }) == "the tensor is null");
    const TensorRef x = floats({1});
    CHECK(slots().autograd.set_requires_grad(x.get(), 1, nullptr) == TENON_OK);
    CHECK(x->requires_grad());
    const TensorRef wrong = floats({1, 2});
    CHECK(message_of_slot(TENON_ERROR_VALUE, [&](tenon_error** error) {
            return slots().autograd.set_grad(x.get(), wrong.get(), error);
          }) != "");
    const TensorRef right = floats({5});
    CHECK(slots().autograd.set_grad(x.get(), right.get(), nullptr) == TENON_OK);
    const TensorRef kept = TensorRef::take(slots().autograd.grad(x.get()));
    CHECK(kept.get() == right.get());
  }
}
