// Hooks of modules through the skin, on modules of plugins that know nothing of them.
#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

#include <tenon/hooked.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/state/tensor_file.hpp>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;
using Order = std::vector<int>;

Module linear_of(int64_t in, int64_t out) {
  return Module::create("Linear", arg("in_features") = in, arg("out_features") = out);
}
// Its only child is named "0".
Module around(const Module& inner) {
  Module outer = Module::create("Sequential");
  outer.register_child("0", inner);
  return outer;
}
std::vector<float> floats(const Tensor& tensor) { return tensor.to_vector<float>(); }
constexpr HookOptions prepend{true, false};

// Hooks for all modules end with the test.
struct Removed {
  Hook hook;
  ~Removed() { hook.remove(); }
};

}  // namespace

TEST_SUITE("sdk/module_hooks") {
  TEST_CASE("runs_hooks: those of calls alone, of the module or of all, while they are there") {
    const Module inner = linear_of(3, 2), outer = around(inner);
    CHECK_FALSE(runs_hooks(inner));
    Hook hook = inner.register_forward_hook([](const Module&, const Tensor&, const Tensor&) {});
    CHECK(runs_hooks(inner));
    CHECK_FALSE(runs_hooks(outer));
    hook.remove();
    CHECK_FALSE(runs_hooks(inner));
    const Removed backward{inner.register_full_backward_hook(
        [](const Module&, const std::vector<Tensor>&, const std::vector<Tensor>&) {})};
    CHECK(runs_hooks(inner));
    {
      const Removed of_all{
          all_modules.register_forward_pre_hook([](const Module&, const Tensor&) {})};
      CHECK(runs_hooks(outer));
    }
    CHECK_FALSE(runs_hooks(outer));
    CHECK_FALSE(runs_hooks(Module()));
  }

  TEST_CASE("MOD-19 forward hooks run in order, with prepend, once for each forward") {
    const Module inner = linear_of(3, 2), outer = around(inner);
    const Tensor x = ones({4, 3});
    Order fired;
    const auto note = [&](int number) {
      return [&, number](const Module& module, const HookValues& inputs, HookValues& outputs) {
        fired.push_back(number);
        CHECK(module.handle() == inner.handle());
        CHECK(inputs.size() == 1);
        CHECK(inputs.tensor(0).is_same(x));
        CHECK(outputs.size() == 1);
        CHECK(outputs.tensor(0).sizes() == std::vector<int64_t>{4, 2});
      };
    };
    inner.register_forward_hook(note(0));
    inner.register_forward_hook(note(1), prepend);
    inner.register_forward_hook(note(2));
    inner.register_forward_hook(note(3));
    inner.register_forward_hook(note(4), prepend);
    const Order once{4, 1, 0, 2, 3};
    const Tensor y = sum(outer(x));
    CHECK(fired == once);
    y.backward();
    CHECK(fired == once);
    fired.clear();
    outer(x);
    CHECK(fired == once);
  }

  TEST_CASE("a value that is read as another kind is named") {
    const Module linear = linear_of(3, 2);
    const Hook hook = linear.register_forward_hook(
        [](const Module&, const HookValues& inputs, HookValues&) { inputs.get<double>("input"); });
    CHECK(has(refusal([&] {
                linear(ones({4, 3}));
              }).text,
              "value 'input' that a hook reads is Tensor, not of the type that it is read as"));
  }

  TEST_CASE("a clone has the hooks of its original, and keeps them") {
    const auto state = std::make_shared<int>(0);
    Module copy;
    {
      const Module inner = linear_of(3, 2), outer = around(inner);
      const Hook hook =
          inner.register_forward_hook([state](const Module&, const Tensor&, const Tensor& output) {
            ++*state;
            return output * 0;
          });
      copy = outer.clone();
      hook.remove();
      outer(ones({1, 3}));
      CHECK(*state == 0);
    }
    CHECK(floats(copy(ones({1, 3})).detach()) == std::vector<float>{0, 0});
    CHECK(*state == 1);
    copy.clone()(ones({1, 3}));
    CHECK(*state == 2);
    copy = Module();
    CHECK(state.use_count() == 1);
  }

  TEST_CASE("MOD-20 forward pre-hooks run in order and replace the input") {
    const Module sigmoid_module = Module::create("Sigmoid");
    const Tensor x = leaf({-1, 0.5, 2});
    Order fired;
    const auto note = [&](int number) {
      return [&, number](const Module&, const HookValues& inputs) {
        fired.push_back(number);
        CHECK(inputs.tensor(0).is_same(x));
      };
    };
    std::vector<Hook> notes;
    notes.push_back(sigmoid_module.register_forward_pre_hook(note(0), prepend));
    for (const int number : {1, 2, 3})
      notes.push_back(sigmoid_module.register_forward_pre_hook(note(number)));
    notes.push_back(sigmoid_module.register_forward_pre_hook(note(4), prepend));
    CHECK(numbers(sigmoid_module(x)) == numbers(sigmoid(x)));  // nothing given keeps it
    CHECK(fired == Order{4, 0, 1, 2, 3});
    for (const Hook& hook : notes) hook.remove();
    sigmoid_module.register_forward_pre_hook(
        [](const Module&, const Tensor& input) { return relu(input); });
    sigmoid_module.register_forward_hook(
        [](const Module&, const Tensor&, const Tensor& output) { return -output; });
    const Tensor y = sigmoid_module(x);
    CHECK(numbers(y) == numbers(-sigmoid(relu(x))));
    const Tensor expected_x = leaf({-1, 0.5, 2});
    sum(-sigmoid(relu(expected_x))).backward();
    sum(y).backward();
    CHECK(numbers(x.grad()) == numbers(expected_x.grad()));
  }

  TEST_CASE("MOD-23 all four kinds run in order, for each round") {
    const Module module = linear_of(3, 2);
    const Tensor x = ones({4, 3}).requires_grad_();
    Order fired;
    module.register_forward_pre_hook([&](const Module&, const Tensor&) { fired.push_back(0); });
    module.register_forward_hook(
        [&](const Module&, const Tensor&, const Tensor&) { fired.push_back(1); });
    module.register_full_backward_pre_hook(
        [&](const Module&, const std::vector<Tensor>& grad_outputs) {
          fired.push_back(2);
          CHECK(grad_outputs.size() == 1);
        });
    module.register_full_backward_hook([&](const Module&, const std::vector<Tensor>& grad_inputs,
                                           const std::vector<Tensor>& grad_outputs) {
      fired.push_back(3);
      CHECK(grad_inputs[0].sizes() == x.sizes());
      CHECK(floats(grad_outputs[0]) == std::vector<float>(8, 1));
    });
    for (int round = 0; round < 2; ++round) sum(module(x)).backward();
    CHECK(fired == Order{0, 1, 2, 3, 0, 1, 2, 3});
  }

  TEST_CASE("F-256 the examples of PyTorch's notes: plus one, a residual, and gradients of 42") {
    const Module m = linear_of(3, 3);
    const Tensor x = randn({2, 3}).requires_grad_();
    const Tensor plain = m(x);
    const Hook before =
        m.register_forward_pre_hook([](const Module&, const Tensor& input) { return input + 1; });
    CHECK(floats(m(x)) == floats(m(x)));
    CHECK(allclose(m(x), plain + sum(m.tensor("weight"), {1})));
    const Hook residual = m.register_forward_hook(
        [](const Module&, const Tensor& input, const Tensor& output) { return output + input; });
    CHECK(allclose(m(x), plain + sum(m.tensor("weight"), {1}) + (x + 1)));
    before.remove();
    residual.remove();
    CHECK(floats(m(x)) == floats(plain));
    sum(m(x)).backward();
    const Tensor gradient = x.grad();
    Tensor(x).set_grad({});
    const Hook hook = m.register_full_backward_hook(
        [](const Module&, const std::vector<Tensor>& grad_inputs, const std::vector<Tensor>&) {
          std::vector<Tensor> replaced;
          for (const Tensor& each : grad_inputs)
            replaced.push_back(each.defined() ? ones_like(each) * 42 : each);
          return replaced;
        });
    sum(m(x)).backward();
    CHECK(floats(x.grad()) == std::vector<float>(6, 42));
    hook.remove();
    Tensor(x).set_grad({});
    sum(m(x)).backward();
    CHECK(floats(x.grad()) == floats(gradient));
  }

  TEST_CASE("F-005 a hook that doubles a gradient changes that of the leaf by exactly 2") {
    const Module module = around(around(linear_of(3, 2)));
    const Tensor x = randn({5, 3}).requires_grad_();
    sum(module(x)).backward();
    const std::vector<float> once = floats(x.grad() * 2);
    Tensor(x).set_grad({});
    module.child("0").child("0").register_full_backward_hook(
        [](const Module&, const std::vector<Tensor>& grad_inputs, const std::vector<Tensor>&) {
          return grad_inputs[0] * 2;
        });
    sum(module(x)).backward();
    CHECK(floats(x.grad()) == once);
  }

  TEST_CASE("hooks for all modules run first, for each module, until they are removed") {
    const Module inner = linear_of(3, 3), outer = around(inner);
    const Tensor x = ones({1, 3}).requires_grad_();
    std::string order;
    inner.register_forward_hook([&](const Module&, const Tensor&, const Tensor&) { order += "o "; },
                                prepend);
    {
      const Removed pre{all_modules.register_forward_pre_hook(
          [&](const Module& module, const Tensor&) { order += "<" + module.type() + " "; })};
      const Removed post{
          all_modules.register_forward_hook([&](const Module& module, const Tensor&,
                                                const Tensor&) { order += module.type() + "> "; })};
      const Removed back{all_modules.register_full_backward_hook(
          [&](const Module& module, const std::vector<Tensor>&, const std::vector<Tensor>&) {
            order += module.type() + "' ";
          })};
      const Removed back_pre{all_modules.register_full_backward_pre_hook(
          [&](const Module& module, const std::vector<Tensor>&) {
            order += "'" + module.type() + " ";
          })};
      sum(outer(x)).backward();
      CHECK(order ==
            "<Sequential <Linear Linear> o Sequential> 'Sequential 'Linear Linear' Sequential' ");
    }
    order.clear();
    sum(outer(x)).backward();
    CHECK(order == "o ");
  }

  TEST_CASE("a wrong number of gradients is refused in PyTorch's words") {
    const Module module = linear_of(3, 3);
    const Tensor x = ones({1, 3}).requires_grad_();
    const Hook pre =
        module.register_full_backward_pre_hook([](const Module&, const std::vector<Tensor>& given) {
          return std::vector<Tensor>{given[0], given[0]};
        });
    CHECK(has(refusal([&] { sum(module(x)).backward(); }).text,
              "Backward pre hook returned an invalid number of grad_output, got 2, but expected 1 "
              "(in a full backward pre-hook of Linear)"));
    pre.remove();
    module.register_full_backward_hook(
        [](const Module&, const std::vector<Tensor>& given, const std::vector<Tensor>&) {
          return std::vector<Tensor>{given[0], given[0]};
        });
    CHECK(has(refusal([&] { sum(module(x)).backward(); }).text,
              "Backward hook returned an invalid number of grad_input, got 2, but expected 1 "
              "(in a full backward hook of Linear)"));
    CHECK_FALSE(x.grad().defined());
  }

  TEST_CASE("results of hooked modules are not changed in place") {
    const Module module = linear_of(3, 3);
    module.register_full_backward_hook(
        [](const Module&, const std::vector<Tensor>&, const std::vector<Tensor>&) {});
    const Tensor y = module(ones({1, 3}));
    const Refusal refused = refusal([&] { y.add_(1); });
    CHECK(refused.kind == TENON_ERROR_INPLACE);
    CHECK(has(refused.text,
              "Output 0 of BackwardHookFunctionBackward is a view and is being modified inplace."));
    CHECK(refusal([&] { y.view({3}).add_(1); }).kind == TENON_ERROR_INPLACE);
    y.clone().add_(1);
    const NoGrad off;
    module(ones({1, 3})).add_(1);
  }

  TEST_CASE("gradients of gradients go through what backward hooks made") {
    const Tensor x = leaf({0.5, -0.25});
    const Module module = Module::create("Tanh");
    int runs = 0;
    module.register_full_backward_hook(
        [&](const Module&, const std::vector<Tensor>& grad_inputs, const std::vector<Tensor>&) {
          ++runs;
          return grad_inputs[0] * grad_inputs[0];
        });
    const Tensor slope = gradients({sum(module(x))}, {x}, recorded())[0];
    CHECK(runs == 1);
    const Tensor other = leaf({0.5, -0.25});
    const Tensor first = gradients({sum(tanh(other))}, {other}, recorded())[0];
    CHECK(allclose(slope, first * first));
    sum(slope).backward();
    sum(first * first).backward();
    CHECK(runs == 1);  // these do not come through the module's result
    CHECK(allclose(x.grad(), other.grad()));
  }

  TEST_CASE("calls in which nothing is recorded run forward hooks only") {
    const Module module = linear_of(3, 3);
    int forward = 0, backward = 0;
    module.register_forward_hook([&](const Module&, const Tensor&, const Tensor&) { ++forward; });
    module.register_full_backward_hook(
        [&](const Module&, const std::vector<Tensor>&, const std::vector<Tensor>&) { ++backward; });
    {
      const NoGrad off;
      CHECK_FALSE(module(ones({1, 3}).requires_grad_()).requires_grad());
    }
    {
      const InferenceMode inference;
      CHECK(module(ones({1, 3})).is_inference());
    }
    CHECK(forward == 2);
    sum(module(ones({1, 3}))).backward();  // gradients of the parameters alone
    CHECK(backward == 1);
  }

  TEST_CASE("tangents pass through modules with backward hooks") {
    const Module module = Module::create("Tanh");
    module.register_full_backward_hook(
        [](const Module&, const std::vector<Tensor>&, const std::vector<Tensor>&) {});
    const Tensor x = leaf({0.5, -0.25}), direction = row({1, 2});
    const DualLevel level;
    const Tensor tangent = unpack_dual(module(make_dual(x, direction))).tangent;
    REQUIRE(tangent.defined());
    const Tensor slope = 1 - tanh(x.detach()) * tanh(x.detach());
    CHECK(allclose(tangent.detach(), direction * slope));
  }

  TEST_CASE("what a hook throws is what the call, or the backward, throws") {
    const Module inner = linear_of(3, 3), outer = around(inner);
    const Hook hook = inner.register_forward_pre_hook(
        [](const Module&, const Tensor&) { throw std::runtime_error("no luck"); });
    const Refusal refused = refusal([&] { outer(ones({1, 3})); });
    CHECK(refused.kind == TENON_ERROR_RUNTIME);
    CHECK(has(refused.text, "no luck (in a forward pre-hook of Linear)"));
    hook.remove();
    inner.register_forward_pre_hook(
        [](const Module&, HookValues& inputs) { inputs.set(3, ones({1})); });
    CHECK(has(refusal([&] { outer(ones({1, 3})); }).text, "a hook asks for value 3 of 1"));
    const auto undefined = [] { Module().register_forward_hook([](const auto&...) {}); };
    CHECK(refusal(undefined).kind == TENON_ERROR_TYPE);
    const auto misplaced = [&] {
      inner.register_forward_pre_hook([](const auto&...) {}, HookOptions{false, true});
    };
    CHECK(refusal(misplaced).kind == TENON_ERROR_ARGUMENT);
  }

  TEST_CASE("forward hooks that are always called run when forward fails") {
    const Module module = linear_of(3, 3);
    bool plain = false, always = false;
    module.register_forward_hook([&](const Module&, const auto&, const auto&) { plain = true; });
    module.register_forward_hook(
        [&](const Module&, const Tensor& input, const Tensor& output) {
          always = true;
          CHECK(input.defined());
          CHECK_FALSE(output.defined());
        },
        HookOptions{false, true});
    CHECK(refusal([&] { module(ones({1, 4})); }).kind != TENON_OK);
    CHECK_FALSE(plain);
    CHECK(always);
  }

  TEST_CASE("state hooks see and change what is saved and loaded") {
    const TemporaryFile file;
    const Module inner = linear_of(2, 2), outer = around(inner);
    std::string order;
    for (const Module& module : {outer, inner}) {
      module.register_state_dict_pre_hook([&](const Module& seen, const std::string& prefix) {
        order += "<" + seen.type() + "(" + prefix + ") ";
      });
    }
    const std::vector<Hook> saving{
        inner.register_state_dict_post_hook(
            [&](const Module&, ModuleState& state, const std::string& prefix) {
              order += "inner> ";
              for (auto& [name, tensor] : state) {
                if (name == prefix + "weight") name = prefix + "kernel";
              }
            }),
        outer.register_state_dict_post_hook(
            [&](const Module&, ModuleState& state, const std::string& prefix) {
              order += "outer> ";
              CHECK(prefix.empty());
              state.emplace_back("version", ones({1}));
            })};
    state::save(outer, file.path);
    CHECK(order == "<Sequential() <Linear(0.) inner> outer> ");
    std::vector<std::string> names;
    for (const auto& [name, tensor] : state::load_tensors(file.path)) names.push_back(name);
    std::sort(names.begin(), names.end());
    CHECK(names == std::vector<std::string>{"0.bias", "0.kernel", "version"});

    const Module fresh_inner = linear_of(2, 2);
    Module fresh = around(fresh_inner);
    const std::vector<float> before = floats(fresh_inner.tensor("weight"));
    const Refusal refused = refusal([&] { state::load(fresh, file.path); });
    CHECK(has(refused.text, "Missing key(s) in state_dict: \"0.weight\"."));
    CHECK(has(refused.text, "Unexpected key(s) in state_dict: \"0.kernel\", \"version\"."));
    fresh_inner.register_load_state_dict_pre_hook(
        [](const Module&, ModuleState& state, const std::string& prefix, bool strict) {
          CHECK(strict);
          for (auto& [name, tensor] : state) {
            if (name == prefix + "kernel") name = prefix + "weight";
          }
        });
    CHECK(has(refusal([&] { state::load(fresh, file.path); }).text,
              "Unexpected key(s) in state_dict: \"version\"."));
    const Hook failing =
        fresh.register_load_state_dict_post_hook([&](const Module&, IncompatibleKeys& keys) {
          CHECK(floats(fresh_inner.tensor("weight")) == floats(inner.tensor("weight")));
          CHECK(keys.missing.empty());
          CHECK(keys.unexpected == std::vector<std::string>{"version"});
          throw ValueError("too old");
        });
    CHECK(has(refusal([&] { state::load(fresh, file.path); }).text,
              "too old (in a load_state_dict post-hook of Sequential)"));
    CHECK(floats(fresh_inner.tensor("weight")) == before);  // taken back
    failing.remove();
    fresh.register_load_state_dict_post_hook(
        [](const Module&, IncompatibleKeys& keys) { keys.unexpected.clear(); });
    state::load(fresh, file.path);
    CHECK(floats(fresh_inner.tensor("weight")) == floats(inner.tensor("weight")));
  }

  TEST_CASE("hooks and modules end in any order, and what a hook holds ends with it") {
    const auto held = std::make_shared<int>(0);
    Hook hook;
    Tensor y;
    {
      const Module module = linear_of(3, 3);
      hook = module.register_full_backward_hook([held](const Module&, const std::vector<Tensor>&,
                                                       const std::vector<Tensor>&) { ++*held; });
      y = sum(module(ones({1, 3}).requires_grad_()));
    }
    y.backward();  // the graph keeps the module
    CHECK(*held == 1);
    y = {};
    CHECK(held.use_count() == 1);
    CHECK(hook.id() != 0);
    hook.remove();
  }

  TEST_CASE("modules with hooks are called and differentiated by several threads") {
    const Module module = linear_of(3, 3);
    module.register_full_backward_hook([](const Module&, const std::vector<Tensor>& grad_inputs,
                                          const std::vector<Tensor>& grad_outputs) {
      return grad_inputs[0] * sum(grad_outputs[0]);
    });
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 1; t <= 3; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          const Tensor x = ones({t, 3}).requires_grad_();
          sum(module(x)).backward();
          const Tensor expected = sum(module.tensor("weight"), {0}).detach() * (3 * t);
          if (!allclose(x.grad(), expected.expand({t, 3}))) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
}
