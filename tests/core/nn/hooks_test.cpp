// Hooks of modules around a forward of the test's: what they see, replace and refuse, and random
// trees of modules with random hooks against a model of order and values.
#include "core/nn/hooks.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "core/autograd/engine/engine.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/nn/module.hpp"
#include "tests/core/autograd/support.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

using Body = std::function<void(const tenon_module_hook_call&, tenon_value* replacements)>;
using Forward = std::function<void(std::span<const tenon_value>, std::span<tenon_value>)>;

std::shared_ptr<ModuleHooks::Body> body_of(Body body) {
  return std::make_shared<ModuleHooks::Body>(
      [](void* state, const tenon_module_hook_call* call, tenon_value* replacements,
         tenon_error** error) {
        return guarded(error, [&] { (*static_cast<Body*>(state))(*call, replacements); });
      },
      new Body(std::move(body)), [](void* state) { delete static_cast<Body*>(state); });
}
HookHandle add(tenon_module& module, int32_t kind, Body body, uint32_t flags = 0) {
  return module.hooks.make().add(kind, flags, body_of(std::move(body)));
}
// Hooks for all modules end with their test.
struct ForAll {
  ForAll(int32_t kind, Body body, uint32_t flags = 0)
      : handle(ModuleHooks::of_all().add(kind, flags, body_of(std::move(body)))) {}
  ~ForAll() { handle.remove(); }
  ForAll(const ForAll&) = delete;
  ForAll& operator=(const ForAll&) = delete;
  HookHandle handle;
};

tenon_value given(TensorRef tensor) { return tensor_value(tensor.give()); }
Tensor& tensor_of(const tenon_value& value) { return *value.as.tensor; }

// factor * x, recorded.
TensorRef times(Tensor& x, float factor) {
  TensorRef result = scaled(x, factor);
  if (x.requires_grad() && thread_state.grad_enabled) {
    compute(*result, {&x}, [factor](std::span<Tensor* const> gradients) {
      return Answer{scaled(*gradients[0], factor)};
    });
  }
  return result;
}

// The results of a call; releases them.
struct Results {
  explicit Results(size_t count) : values(count) {}
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results() {
    for (tenon_value& value : values) release_value(value);
  }
  Tensor& operator[](size_t i) { return tensor_of(values[i]); }
  std::vector<tenon_value> values;
};

void call(tenon_module& module, std::span<const tenon_value> arguments, Results& results,
          const Forward& forward, std::span<const tenon_string> names = {}) {
  call_with_hooks(module, names, arguments, results.values,
                  [&](std::span<const tenon_value> values) { forward(values, results.values); });
}
// Calls a module with one tensor.
TensorRef call(tenon_module& module, Tensor& x, const std::function<TensorRef(Tensor&)>& forward) {
  Results results(1);
  const tenon_value argument = tensor_value(&x);
  call(module, {&argument, 1}, results,
       [&](std::span<const tenon_value> arguments, std::span<tenon_value> made) {
         made[0] = given(forward(tensor_of(arguments[0])));
       });
  return TensorRef(&results[0]);
}
void backward(Tensor& root) {
  const TensorRef seed = floats({1});
  Tensor* roots[] = {&root};
  Tensor* seeds[] = {seed.get()};
  run_backward(roots, seeds, nullptr, {.retain_graph = true});
}
float grad(Tensor& x) { return read(*grad_of(x))[0]; }

}  // namespace

TEST_SUITE("nn/hooks") {
  TEST_CASE("each kind sees arguments, results and gradients in their places") {
    provide_core_ops();
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = leaf({2}), constant = floats({5});
    Tensor* listed[] = {x.get()};
    tenon_value list{};
    list.tag = TENON_VALUE_TENSOR_LIST;
    list.length = 1;
    list.as.tensors = listed;
    const tenon_value arguments[] = {integer(7), tensor_value(x.get()),
                                     tensor_value(constant.get()), list, tenon_value{}};
    const tenon_string names[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}};
    const auto tags = [](const tenon_value* values, int64_t count) {
      std::vector<uint32_t> found;
      for (int64_t i = 0; i < count; ++i) found.push_back(values[i].tag);
      return found;
    };
    using Tags = std::vector<uint32_t>;
    constexpr uint32_t none = TENON_VALUE_NONE, tensor = TENON_VALUE_TENSOR;
    const Tags given_tags = {TENON_VALUE_INT, tensor, tensor, TENON_VALUE_TENSOR_LIST, none};
    int runs = 0;
    add(*module, TENON_HOOK_FORWARD_PRE, [&](const tenon_module_hook_call& call, tenon_value*) {
      ++runs;
      CHECK(call.module == module.get());
      CHECK(tags(call.inputs, call.input_count) == given_tags);
      CHECK(call.output_count == 0);
      CHECK(std::string(call.input_names[1].data, 1) == "b");
    });
    add(*module, TENON_HOOK_FORWARD, [&](const tenon_module_hook_call& call, tenon_value*) {
      ++runs;
      CHECK(tags(call.inputs, call.input_count) == given_tags);
      CHECK(tags(call.outputs, call.output_count) == Tags{tensor, TENON_VALUE_INT, tensor});
      CHECK(call.inputs[3].as.tensors[0] == x.get());  // not hooked
      CHECK(call.inputs[2].as.tensor == constant.get());
    });
    add(*module, TENON_HOOK_BACKWARD_PRE, [&](const tenon_module_hook_call& call, tenon_value*) {
      ++runs;
      CHECK(call.input_count == 0);
      CHECK(tags(call.outputs, call.output_count) == Tags{tensor, none, tensor});
      CHECK(read(tensor_of(call.outputs[0])) == std::vector<float>{1});
      CHECK(read(tensor_of(call.outputs[2])) == std::vector<float>{0});  // it is not used
    });
    add(*module, TENON_HOOK_BACKWARD, [&](const tenon_module_hook_call& call, tenon_value*) {
      ++runs;
      CHECK(tags(call.inputs, call.input_count) == Tags{none, tensor, none, none, none});
      CHECK(tags(call.outputs, call.output_count) == Tags{tensor, none, tensor});
      CHECK(read(tensor_of(call.inputs[1])) == std::vector<float>{3});
    });
    Results results(3);
    call(
        *module, arguments, results,
        [&](std::span<const tenon_value> values, std::span<tenon_value> made) {
          CHECK(values[1].as.tensor != x.get());
          made[0] = given(times(tensor_of(values[1]), 3));
          made[1] = integer(9);
          made[2] = given(times(tensor_of(values[1]), 5));
        },
        names);
    CHECK(runs == 2);
    backward(results[0]);
    CHECK(runs == 4);
    CHECK(grad(*x) == 3);
  }

  TEST_CASE("what a hook gives replaces, also by none") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = leaf({2});
    add(*module, TENON_HOOK_FORWARD_PRE,
        [&](const tenon_module_hook_call& call, tenon_value* replacements) {
          replacements[0] = given(times(tensor_of(call.inputs[0]), 5));
        });
    add(*module, TENON_HOOK_FORWARD,
        [&](const tenon_module_hook_call& call, tenon_value* replacements) {
          CHECK(read(tensor_of(call.inputs[0])) == std::vector<float>{10});
          replacements[0] = given(times(tensor_of(call.outputs[0]), 7));
        });
    add(*module, TENON_HOOK_BACKWARD_PRE,
        [&](const tenon_module_hook_call& call, tenon_value* replacements) {
          replacements[0] = given(scaled(tensor_of(call.outputs[0]), 11));
        });
    const HookHandle last = add(*module, TENON_HOOK_BACKWARD,
                                [&](const tenon_module_hook_call& call, tenon_value* replacements) {
                                  CHECK(read(tensor_of(call.outputs[0])) == std::vector<float>{11});
                                  replacements[0] = given(scaled(tensor_of(call.inputs[0]), 13));
                                });
    const auto triple = [](Tensor& input) { return times(input, 3); };
    TensorRef y = call(*module, *x, triple);
    CHECK(read(*y) == std::vector<float>{2 * 5 * 3 * 7});
    backward(*y);
    CHECK(grad(*x) == 5 * 3 * 7 * 11 * 13);
    set_grad(*x, nullptr);
    last.remove();
    backward(*y);  // the graph that was recorded with it
    CHECK(grad(*x) == 5 * 3 * 7 * 11);
    set_grad(*x, nullptr);
    add(*module, TENON_HOOK_BACKWARD,
        [](const tenon_module_hook_call&, tenon_value* replacements) { replacements[0] = {}; });
    y = call(*module, *x, triple);
    backward(*y);
    CHECK_FALSE(grad_of(*x));
  }

  TEST_CASE("a gradient that is not a tensor, an unknown kind and unknown flags are refused") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = leaf({2});
    const auto nothing = [](const tenon_module_hook_call&, tenon_value*) {};
    CHECK(refusal([&] { add(*module, 3, nothing); }, TENON_ERROR_ARGUMENT) ==
          "cannot add a module hook: its kind is 3, expected 4 to 11");
    CHECK(has(refusal([&] { add(*module, TENON_HOOK_FORWARD, nothing, 4); }, TENON_ERROR_ARGUMENT),
              "a hook: flags that this Tenon does not know: 0x4"));
    CHECK(has(refusal([&] { add(*module, TENON_HOOK_BACKWARD, nothing, TENON_HOOK_ALWAYS_CALL); },
                      TENON_ERROR_ARGUMENT),
              "a full backward hook cannot be registered with always_call"));
    add(*module, TENON_HOOK_BACKWARD, [](const tenon_module_hook_call&, tenon_value* replacements) {
      replacements[0] = integer(1);
    });
    const TensorRef y = call(*module, *x, [](Tensor& input) { return times(input, 3); });
    CHECK(refusal([&] { backward(*y); }, TENON_ERROR_TYPE) ==
          "a full backward hook of Block gave 1 as gradient 0, not a Tensor or None");
  }

  TEST_CASE("changing hooked arguments and results in place is refused") {
    provide_core_ops();
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = leaf({2}), one = floats({1});
    const std::string direct =
        "Output 0 of BackwardHookFunctionBackward is a view and is being modified inplace.";
    for (const int32_t kind : {TENON_HOOK_BACKWARD_PRE, TENON_HOOK_BACKWARD}) {
      const HookHandle hook =
          add(*module, kind, [](const tenon_module_hook_call&, tenon_value*) {});
      const auto change = [&](Tensor& tensor) { core_ops::add_in_place(tensor, *one); };
      const TensorRef input = times(*x, 3);
      CHECK(has(refusal(
                    [&] {
                      call(*module, *input, [&](Tensor& seen) {
                        change(seen);
                        return times(seen, 2);
                      });
                    },
                    TENON_ERROR_INPLACE),
                direct));
      TensorRef kept;
      const TensorRef y = call(*module, *input, [&](Tensor& seen) {
        kept = TensorRef(&seen);
        return times(seen, 2);
      });
      CHECK(has(refusal([&] { change(*y); }, TENON_ERROR_INPLACE), direct));
      // The tensor itself may change, but what was passed on can be used no more.
      compute(*input, {x.get()},
              [](std::span<Tensor* const> gradients) { return Answer{TensorRef(gradients[0])}; });
      input->storage->version.fetch_add(1);
      set_history(*input, gradient_edge(*input));
      CHECK(has(refusal([&] { refresh_history(*kept); }, TENON_ERROR_INPLACE),
                "Output 0 of BackwardHookFunctionBackward is a view and its base or another view "
                "of its base has been modified inplace."));
      hook.remove();
    }
  }

  TEST_CASE("where no argument requires grad, backward hooks see none and give none") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = floats({2}), weight = leaf({3});
    bool invalid = false;
    int runs = 0;
    add(*module, TENON_HOOK_BACKWARD,
        [&](const tenon_module_hook_call& call, tenon_value* replacements) {
          ++runs;
          CHECK(call.inputs[0].tag == TENON_VALUE_NONE);
          CHECK(read(tensor_of(call.outputs[0])) == std::vector<float>{1});
          replacements[0] = invalid ? given(floats({1})) : tenon_value{};
        });
    const auto forward = [&](Tensor& input) { return times(*weight, read(input)[0]); };
    backward(*call(*module, *x, forward));
    CHECK(grad(*weight) == 2);
    CHECK(runs == 1);
    invalid = true;
    const TensorRef y = call(*module, *x, forward);
    CHECK(has(refusal([&] { backward(*y); }, TENON_ERROR_RUNTIME),
              "Backward hook for Modules where no input requires gradient should always return "
              "None or None for all gradients."));
    {
      const GradModeGuard off(false);
      const TensorRef constant =
          call(*module, *weight, [](Tensor& input) { return times(input, 2); });
      CHECK_FALSE(constant->requires_grad());
    }
    CHECK(runs == 2);
  }

  TEST_CASE("a failing call frees its results and runs the forward hooks that are always called") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = leaf({2});
    std::string order;
    bool also = false;
    add(*module, TENON_HOOK_FORWARD,
        [&](const tenon_module_hook_call&, tenon_value*) { order += "n"; });
    add(
        *module, TENON_HOOK_FORWARD,
        [&](const tenon_module_hook_call& call, tenon_value*) {
          order += "a";
          CHECK(call.outputs[0].tag == TENON_VALUE_NONE);
          if (also) throw Error(TENON_ERROR_VALUE, "second");
        },
        TENON_HOOK_ALWAYS_CALL | TENON_HOOK_PREPEND);
    const ForAll all(
        TENON_HOOK_FORWARD, [&](const tenon_module_hook_call&, tenon_value*) { order += "g"; },
        TENON_HOOK_ALWAYS_CALL);
    const auto failing = [&](std::span<const tenon_value>, std::span<tenon_value> made) {
      made[0] = given(floats({1}));
      throw Error(TENON_ERROR_VALUE, "first");
    };
    for (const bool second : {false, true}) {
      also = second;
      order.clear();
      Results results(1);
      const tenon_value argument = tensor_value(x.get());
      CHECK(refusal(
                [&] {
                  call(*module, {&argument, 1}, results, failing);
                },
                TENON_ERROR_VALUE) == "first");
      CHECK(order == "ga");
      CHECK(results.values[0].tag == TENON_VALUE_NONE);
    }
  }

  TEST_CASE("a hook's error names the kind of hook and the module") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = leaf({2});
    const std::pair<int32_t, std::string> kinds[] = {
        {TENON_HOOK_FORWARD_PRE, "forward pre-hook"},
        {TENON_HOOK_FORWARD, "forward hook"},
        {TENON_HOOK_BACKWARD_PRE, "full backward pre-hook"},
        {TENON_HOOK_BACKWARD, "full backward hook"}};
    for (const auto& [kind, name] : kinds) {
      const HookHandle hook = add(*module, kind, [](const tenon_module_hook_call&, tenon_value*) {
        throw Error(TENON_ERROR_VALUE, "it fails");
      });
      CHECK(
          refusal(
              [&] { backward(*call(*module, *x, [](Tensor& input) { return times(input, 3); })); },
              TENON_ERROR_VALUE) == "it fails (in a " + name + " of Block)");
      CHECK(hook.remove());
      CHECK_FALSE(hook.remove());
    }
    backward(*call(*module, *x, [](Tensor& input) { return times(input, 3); }));
    CHECK(grad(*x) == 3);
  }

  TEST_CASE("hooks that remove themselves and register others, and handles beyond the module") {
    const Types types;
    ModuleRef module = types.make();
    const TensorRef x = leaf({2});
    const auto same = [](Tensor& input) { return TensorRef(&input); };
    int runs = 0, added = 0;
    std::optional<HookHandle> self;
    self = add(*module, TENON_HOOK_FORWARD_PRE, [&](const tenon_module_hook_call&, tenon_value*) {
      ++runs;
      self->remove();
      add(*module, TENON_HOOK_FORWARD,
          [&](const tenon_module_hook_call&, tenon_value*) { ++added; });
    });
    call(*module, *x, same);
    call(*module, *x, same);
    CHECK(runs == 1);
    CHECK(added == 2);
    const auto alive = std::make_shared<int>(0);
    const HookHandle late =
        add(*module, TENON_HOOK_FORWARD, [alive](const tenon_module_hook_call&, tenon_value*) {});
    CHECK(alive.use_count() == 2);
    module = {};
    CHECK(alive.use_count() == 1);
    CHECK_FALSE(late.registered());
    CHECK_FALSE(late.remove());
    CHECK(late.node() == nullptr);
  }

  TEST_CASE("threads register and remove hooks while others call") {
    const Types types;
    const ModuleRef module = types.make();
    std::atomic<bool> stop{false};
    std::atomic<int64_t> runs{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        while (!stop) {
          const HookHandle own = add(*module, TENON_HOOK_FORWARD,
                                     [&](const tenon_module_hook_call&, tenon_value*) { ++runs; });
          const ForAll all(TENON_HOOK_BACKWARD,
                           [&](const tenon_module_hook_call&, tenon_value*) { ++runs; });
          CHECK(own.remove());
        }
      });
    }
    for (int i = 0; i < 300; ++i) {
      const TensorRef x = leaf({2});
      backward(*call(*module, *x, [](Tensor& input) { return times(input, 3); }));
      CHECK(grad(*x) == 3);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    const int64_t before = runs;
    call(*module, *leaf({2}), [](Tensor& input) { return times(input, 3); });
    CHECK(runs == before);
  }
}

// ---- random trees ----

namespace {

// A hook that notes its number and multiplies the values that it may replace.
struct ModelHook {
  int number;
  int32_t kind;
  float factor;  // 1: replaces nothing
};

struct ModelModule {
  ModuleRef module;
  float factor;
  std::vector<std::unique_ptr<ModelModule>> children;
  std::vector<ModelHook> hooks;  // in the order in which they run
};

class RandomTree {
 public:
  explicit RandomTree(uint32_t seed) : random_(seed), root_(make(0)) {
    const int count = pick(14);
    for (int i = 0; i < count; ++i) add_hook(i);
    const int removals = pick(5);
    for (int i = 0; i < removals && !registered_.empty(); ++i) remove_hook();
  }
  ~RandomTree() {
    for (const Registered& hook : registered_) hook.handle.remove();
  }
  RandomTree(const RandomTree&) = delete;
  RandomTree& operator=(const RandomTree&) = delete;

  void check() {
    const TensorRef x = leaf({1});
    TensorRef y = run(*root_, *x);
    float value = 1, slope = 1;
    expect_forward(*root_, value);
    CHECK(fired_ == expected_);
    CHECK(read(*y) == std::vector<float>{value});
    fired_.clear();
    expected_.clear();
    expect_backward(*root_, slope);
    backward(*y);
    CHECK(fired_ == expected_);
    CHECK(grad(*x) == slope * value);  // each forward factor is one of the derivative, too
  }

 private:
  struct Registered {
    HookHandle handle;
    std::vector<ModelHook>* list;
    int number;
  };

  int pick(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }
  float factor() { return std::array{1.0f, 2.0f, 0.5f, -1.0f}[static_cast<size_t>(pick(4))]; }

  std::unique_ptr<ModelModule> make(int depth) {
    auto made = std::make_unique<ModelModule>(ModelModule{types_.make(), factor(), {}, {}});
    all_.push_back(made.get());
    for (int i = pick(4 - depth); i > 0; --i) made->children.push_back(make(depth + 1));
    return made;
  }

  void add_hook(int number) {
    const ModelHook hook{number, TENON_HOOK_FORWARD_PRE + pick(4), factor()};
    const bool prepend = pick(2) == 0;
    const uint32_t flags = prepend ? TENON_HOOK_PREPEND : 0;
    const auto body =
        body_of([this, hook](const tenon_module_hook_call& call, tenon_value* replacements) {
          fired_.push_back(hook.number);
          const bool inputs =
              hook.kind == TENON_HOOK_FORWARD_PRE || hook.kind == TENON_HOOK_BACKWARD;
          if (hook.factor != 1)
            replacements[0] =
                given(times(tensor_of((inputs ? call.inputs : call.outputs)[0]), hook.factor));
        });
    ModelModule* const module =
        pick(3) == 0 ? nullptr : all_[static_cast<size_t>(pick(static_cast<int>(all_.size())))];
    std::vector<ModelHook>& list = module == nullptr ? for_all_ : module->hooks;
    list.insert(prepend ? list.begin() : list.end(), hook);
    ModuleHooks& hooks = module == nullptr ? ModuleHooks::of_all() : module->module->hooks.make();
    registered_.push_back({hooks.add(hook.kind, flags, body), &list, number});
  }
  void remove_hook() {
    const auto chosen = registered_.begin() + pick(static_cast<int>(registered_.size()));
    CHECK(chosen->handle.remove());
    std::erase_if(*chosen->list,
                  [&](const ModelHook& hook) { return hook.number == chosen->number; });
    registered_.erase(chosen);
  }

  TensorRef run(ModelModule& module, Tensor& x) {
    return call(*module.module, x, [&](Tensor& input) {
      TensorRef value(&input);
      for (const auto& child : module.children) value = run(*child, *value);
      return times(*value, module.factor);
    });
  }

  // Hooks for all modules run first, then the module's.
  void expect(const ModelModule& module, int32_t kind, float& product) {
    for (const auto* list : {&std::as_const(for_all_), &module.hooks}) {
      for (const ModelHook& hook : *list) {
        if (hook.kind != kind) continue;
        expected_.push_back(hook.number);
        product *= hook.factor;
      }
    }
  }
  void expect_forward(const ModelModule& module, float& value) {
    expect(module, TENON_HOOK_FORWARD_PRE, value);
    for (const auto& child : module.children) expect_forward(*child, value);
    value *= module.factor;
    expect(module, TENON_HOOK_FORWARD, value);
  }
  void expect_backward(const ModelModule& module, float& slope) {
    expect(module, TENON_HOOK_BACKWARD_PRE, slope);
    for (auto child = module.children.rbegin(); child != module.children.rend(); ++child)
      expect_backward(**child, slope);
    expect(module, TENON_HOOK_BACKWARD, slope);
  }

  std::mt19937 random_;
  Types types_;
  std::vector<ModelModule*> all_;
  std::unique_ptr<ModelModule> root_;
  std::vector<ModelHook> for_all_;
  std::vector<Registered> registered_;
  std::vector<int> fired_, expected_;
};

}  // namespace

TEST_SUITE("nn/hooks") {
  TEST_CASE("random hooks on random trees run in order, and multiply values and gradients") {
    for (uint32_t seed = 0; seed < 400; ++seed) {
      CAPTURE(seed);
      RandomTree(seed).check();
    }
  }
}
