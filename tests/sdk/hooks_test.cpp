// Hooks on tensors, leaves and nodes: what they may change, in which order they run, and how they
// end.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;
using Order = std::vector<std::string>;

Tensor ones_leaf() { return ones({5, 5}, f64).requires_grad_(); }

void clear(const Tensor& tensor) { Tensor(tensor).set_grad({}); }

}  // namespace

TEST_SUITE("sdk/hooks") {
  TEST_CASE("AG-75 tensor hooks count, are removed and change gradients") {
    const Tensor x = ones_leaf(), y = full({5, 5}, 4.0, f64).requires_grad_();
    const Tensor z = x * x + x * 2 + x * y + y, seed = ones({5, 5}, f64);
    int total = 0;
    const Hook one = z.register_hook([&](const Tensor&) { ++total; });
    z.backward(seed, true);
    CHECK(total == 1);
    const Hook two = z.register_hook([&](const Tensor&) { total += 2; });
    z.backward(seed, true);
    CHECK(total == 4);
    two.remove();
    two.remove();
    z.backward(seed, true);
    CHECK(total == 5);
    one.remove();
    clear(y);
    const auto doubling = [](const Tensor& gradient) { return gradient * 2; };
    z.register_hook(doubling);
    z.backward(seed, true);
    CHECK(numbers(y.grad()) == Numbers(25, 4));  // 2 (x + 1)
    clear(y);
    y.register_hook(doubling);
    z.backward(seed);
    CHECK(numbers(y.grad()) == Numbers(25, 8));
    CHECK(total == 5);
  }

  TEST_CASE("AG-75 a hook is removed by its id, and an unknown id is refused") {
    const Tensor x = leaf({1, 2}), y = x * 3;
    int runs = 0;
    const Hook hook = y.register_hook([&](const Tensor&) { ++runs; });
    CHECK(refusal([&] { x.remove_hook(hook.id()); }).kind == TENON_ERROR_ARGUMENT);
    CHECK(refusal([&] { y.remove_hook(hook.id() + 1000); }).kind == TENON_ERROR_ARGUMENT);
    y.remove_hook(hook.id());
    CHECK(refusal([&] { y.remove_hook(hook.id()); }).kind == TENON_ERROR_ARGUMENT);
    hook.remove();
    sum(y).backward();
    CHECK(runs == 0);
  }

  TEST_CASE("AG-75 a hook that removes a later one stops it in the same backward") {
    const Tensor x = leaf({1}), y = x * 3;
    Hook later;
    int runs = 0;
    y.register_hook([&](const Tensor&) { later.remove(); });
    later = y.register_hook([&](const Tensor&) { ++runs; });
    sum(y).backward();
    CHECK(runs == 0);
  }

  TEST_CASE("hooks run in the order tensor, retained, captured, pre, node, accumulated, post") {
    Order order;
    const Tensor x = leaf({1, 2});
    Tensor y = x * 3;
    y.retain_grad();
    const Node node = y.grad_fn(), leaf_node = node.next_edges()[0].node;
    const auto note = [&](const char* what) {
      return [&, what](const auto&...) { order.push_back(what); };
    };
    node.register_hook([&](const std::vector<Tensor>& inputs, const std::vector<Tensor>& results) {
      order.push_back("post");
      CHECK(numbers(inputs[0]) == Numbers{6, 6});
      CHECK(numbers(results[0]) == Numbers{2, 2});
    });
    node.register_pre_hook([&](const std::vector<Tensor>& gradients) {
      order.push_back("pre");
      CHECK(numbers(gradients[0]) == Numbers{2, 2});
      CHECK(numbers(y.grad()) == Numbers{2, 2});  // retained already
    });
    y.register_hook([&](const Tensor& gradient) {
      order.push_back("first");
      CHECK_FALSE(y.grad().defined());
      return gradient * 2;
    });
    y.register_hook([&](const Tensor& gradient) {
      order.push_back("second");
      CHECK(numbers(gradient) == Numbers{2, 2});
    });
    x.register_post_accumulate_grad_hook([&](const Tensor& whole) {
      order.push_back("accumulated");
      CHECK(whole.is_same(x));
      CHECK(numbers(whole.grad()) == Numbers{6, 6});
    });
    x.register_hook(note("leaf"));
    leaf_node.register_pre_hook(note("leaf pre"));
    leaf_node.register_hook(
        [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>& results) {
          order.push_back("leaf post");
          CHECK(inputs.empty());
          CHECK(numbers(results[0]) == Numbers{6, 6});
        });
    sum(y).backward();
    CHECK(order ==
          Order{"first", "second", "pre", "post", "leaf", "leaf pre", "accumulated", "leaf post"});
  }

  TEST_CASE("what is asked for is the gradient after the hooks, and only tensor hooks run for it") {
    const Tensor x = leaf({1, 2}), y = x * 3;
    int nodes = 0, tensors = 0;
    y.register_hook([&](const Tensor& gradient) {
      ++tensors;
      return gradient * 10;
    });
    y.grad_fn().register_pre_hook([&](const std::vector<Tensor>&) { ++nodes; });
    x.register_hook([&](const Tensor& gradient) {
      ++tensors;
      return gradient + 1;
    });
    GradientOptions keep;
    keep.retain_graph = true;
    CHECK(numbers(gradients({sum(y)}, {y}, keep)[0]) == Numbers{10, 10});
    CHECK(nodes == 0);
    CHECK(tensors == 1);
    CHECK(numbers(gradients({sum(y)}, {x}, keep)[0]) == Numbers{31, 31});
    CHECK(nodes == 1);
    const std::vector<Tensor> inputs = {y, x};
    backward({sum(y)}, {}, &inputs);
    CHECK(numbers(y.grad()) == Numbers{10, 10});
    CHECK(numbers(x.grad()) == Numbers{31, 31});
  }

  TEST_CASE("a retained gradient that is asked for as well counts once") {
    const Tensor x = leaf({1, 2});
    Tensor y = x * 3;
    y.retain_grad();
    const std::vector<Tensor> inputs = {y};
    backward({sum(y * 2)}, {}, &inputs);
    CHECK(numbers(y.grad()) == Numbers{2, 2});
    CHECK_FALSE(x.grad().defined());
  }

  TEST_CASE("post-accumulate hooks run for leaves given as inputs, and are for leaves only") {
    const Tensor x = leaf({1, 2}), y = x * 3;
    int runs = 0;
    const Hook hook = x.register_post_accumulate_grad_hook([&](const Tensor&) { ++runs; });
    const std::vector<Tensor> inputs = {x};
    backward({sum(y)}, {}, &inputs);
    CHECK(runs == 1);
    gradients({sum(x * 2)}, {x});
    CHECK(runs == 1);
    const Refusal refused =
        refusal([&] { y.register_post_accumulate_grad_hook([](const Tensor&) {}); });
    CHECK(refused.kind == TENON_ERROR_RUNTIME);
    CHECK(has(refused.text, "not leaves"));
    CHECK(has(refused.text, "MulBackward0"));
    CHECK(has(refusal([] { row({1}).register_hook([](const Tensor&) {}); }).text,
              "doesn't require grad"));
  }

  TEST_CASE("a hook's gradient is checked, and the error names the hook") {
    const Tensor x = leaf({1, 2, 3}), y = x * 3;
    y.register_hook([](const Tensor&) {});
    Hook wrong = y.register_hook([](const Tensor&) { return row({1, 2}); });
    const Refusal size = refusal([&] { sum(y).backward({}, true); });
    CHECK(size.kind == TENON_ERROR_RUNTIME);
    CHECK(has(size.text, "tensor hook 1 of MulBackward0 has changed the size of gradient 0"));
    CHECK(has(size.text, "[3]"));
    CHECK(has(size.text, "[2]"));
    wrong.remove();
    wrong = y.register_hook([](const Tensor& gradient) { return gradient.to(f32); });
    CHECK(has(refusal([&] { sum(y).backward({}, true); }).text, "dtype"));
    wrong.remove();
    y.grad_fn().register_hook([](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
      return std::vector<Tensor>{sum(inputs[0])};
    });
    CHECK(has(refusal([&] { sum(y).backward(); }).text, "post-hook 0 of MulBackward0"));
    CHECK_FALSE(x.grad().defined());
  }

  TEST_CASE("node hooks replace gradients before and after the rule") {
    const Tensor x = leaf({1, 2}), k = leaf({3, 4}), y = x * k;
    y.grad_fn().register_pre_hook(
        [](const std::vector<Tensor>& g) { return std::vector<Tensor>{g[0] * 10}; });
    y.grad_fn().register_hook([](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
      return std::vector<Tensor>{{}, inputs[1] + 1};
    });
    sum(y).backward();
    CHECK(numbers(x.grad()) == Numbers{30, 40});
    CHECK(numbers(k.grad()) == Numbers{11, 21});
  }

  TEST_CASE("hooks stay with the call that made the tensor; a retained gradient moves along") {
    const Tensor x = leaf({1, 2});
    Tensor y = x * 2;
    y.retain_grad();
    Numbers seen_by_hook;
    const Hook hook = y.register_hook([&](const Tensor& g) { seen_by_hook = numbers(g); });
    y.mul_(5);
    Numbers seen_later;
    y.register_hook([&](const Tensor& g) { seen_later = numbers(g); });
    sum(y).backward({}, true);
    CHECK(seen_by_hook == Numbers{5, 5});
    CHECK(seen_later == Numbers{1, 1});
    CHECK(numbers(y.grad()) == Numbers{1, 1});
    y.remove_hook(hook.id());  // by the tensor still
    seen_by_hook.clear();
    sum(y).backward();
    CHECK(seen_by_hook.empty());
  }

  TEST_CASE("an error of a hook arrives as it is, and leaves every gradient as it was") {
    const Tensor x = leaf({1, 2}), w = leaf({3, 4});
    Tensor h = x * 2;
    h.retain_grad();
    const Tensor r = sum(h * w);
    r.backward({}, true);
    const Numbers before = numbers(x.grad()), before_w = numbers(w.grad()),
                  before_h = numbers(h.grad());
    Hook hook = x.register_hook([](const Tensor&) { throw IndexError("mine"); });
    const Refusal own = refusal([&] { r.backward({}, true); });
    CHECK(own.kind == TENON_ERROR_INDEX);
    CHECK(own.text == "mine");
    hook.remove();
    hook = h.grad_fn().register_pre_hook(
        [](const std::vector<Tensor>&) { throw std::logic_error("theirs"); });
    CHECK(refusal([&] { r.backward({}, true); }).text == "theirs");
    CHECK(numbers(x.grad()) == before);
    CHECK(numbers(w.grad()) == before_w);
    CHECK(numbers(h.grad()) == before_h);
    hook.remove();
    r.backward();
    CHECK(numbers(x.grad()) == Numbers{12, 16});
    CHECK(numbers(h.grad()) == Numbers{6, 8});
  }

  TEST_CASE("hooks can be differentiated through") {
    const Tensor x = leaf({2}), y = x * x;
    y.register_hook([&](const Tensor& gradient) { return gradient * x; });
    GradientOptions create;
    create.create_graph = true;
    const Tensor first = gradients({y}, {x}, create)[0];  // x * 2x
    CHECK(numbers(first) == Numbers{8});
    CHECK(gradients({first}, {x})[0].item() == 8);  // 4x
  }

  TEST_CASE("what a hook holds is freed with the hook, or with its graph") {
    const auto held = std::make_shared<int>(1);
    const Tensor x = leaf({1, 2});
    const Hook removed = x.register_hook([held](const Tensor&) {});
    CHECK(held.use_count() == 2);
    removed.remove();
    CHECK(held.use_count() == 1);
    Hook kept;
    {
      const Tensor y = x * 2;
      kept = y.register_hook([held](const Tensor&) {});
      CHECK(held.use_count() == 2);
    }
    CHECK(held.use_count() == 1);
    kept.remove();
    // Refused registrations as well.
    refusal([&] { row({1}).register_hook([held](const Tensor&) {}); });
    CHECK(held.use_count() == 1);
  }

  TEST_CASE("a tensor hook runs for a gradient that has not come, and may give one") {
    const Tensor x = leaf({1, 2});
    const auto [first, second] = fx("two_outputs").call<std::tuple<Tensor, Tensor>>(x, false);
    int undefined = 0;
    second.register_hook([&](const Tensor& gradient) {
      undefined += gradient.defined() ? 0 : 1;
      return row({3, 4});
    });
    CHECK(numbers(gradients({sum(first)}, {x})[0]) == Numbers{6, 8});
    CHECK(undefined == 1);
    // The hook runs when no gradient comes at all, not when none is asked for.
    const Tensor y = leaf({1, 2}), z = leaf({1, 2});
    int runs = 0;
    y.register_hook([&](const Tensor& gradient) { runs += gradient.defined() ? 10 : 1; });
    const Tensor product = apply("no_gradient", y) + z;
    sum(product).backward({}, true);
    CHECK(runs == 1);
    CHECK_FALSE(y.grad().defined());
    gradients({sum(product)}, {z});
    CHECK(runs == 1);
  }

  TEST_CASE("multi-grad hooks wait for what never comes, or pass it over") {
    const Tensor x = leaf({1}), y = leaf({1});
    int all = 0, any = 0;
    register_multi_grad_hook({x, y}, [&](const std::vector<Tensor>& gradients) {
      all += gradients[1].defined() && !gradients[0].defined() ? 1 : 100;
    });
    register_multi_grad_hook(
        {x, y},
        [&](const std::vector<Tensor>& gradients) { any += gradients[1].defined() ? 1 : 100; },
        MultiHookMode::any);
    sum(y * 2 + apply("no_gradient", x)).backward();
    CHECK(all == 1);
    CHECK(any == 1);
  }

  TEST_CASE("a multi-grad hook runs once for each backward") {
    const Tensor a = leaf({1}), b = leaf({2}), c = leaf({3}), ab = a * b;
    int all = 0, any = 0;
    std::vector<bool> defined;
    const MultiHook whole = register_multi_grad_hook({a, b, c}, [&](const std::vector<Tensor>& g) {
      ++all;
      defined = {g[0].defined(), g[1].defined(), g[2].defined()};
    });
    register_multi_grad_hook(
        {a, b},
        [&](const std::vector<Tensor>& g) {
          ++any;
          CHECK(g[0].defined() != g[1].defined());
        },
        MultiHookMode::any);
    sum(ab * c).backward();
    CHECK(all == 1);
    CHECK(any == 1);
    CHECK(defined == std::vector<bool>{true, true, true});
    sum(a * c).backward();
    CHECK(all == 2);
    CHECK(defined == std::vector<bool>{true, false, true});
    const std::vector<Tensor> inputs = {b};
    backward({sum(b * c)}, {}, &inputs);
    CHECK(all == 3);
    CHECK(defined == std::vector<bool>{false, true, false});
    CHECK(any == 3);
    whole.remove();
    sum(a * b * c).backward();
    CHECK(all == 3);
  }

  TEST_CASE("parameters of a plugin's module take hooks that the plugin knows nothing of") {
    const Module linear = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 1);
    const Tensor weight = linear.tensor("weight");
    sum(linear(ones({3, 2}))).backward();
    const Numbers plain = numbers(weight.grad());
    clear(weight);
    weight.register_hook([](const Tensor& gradient) { return gradient * 2; });
    sum(linear(ones({3, 2}))).backward();
    for (size_t i = 0; i < plain.size(); ++i) CHECK(numbers(weight.grad())[i] == 2 * plain[i]);
  }

  TEST_CASE("hooks come and go in eight threads that share leaves") {
    const Tensor x = leaf({1, 2, 3});
    constexpr int threads = 8, rounds = 100;
    std::atomic<int> runs{0}, failures{0};
    const Hook counting = x.register_hook([&](const Tensor&) { ++runs; });
    x.register_hook([](const Tensor& gradient) { return gradient * 2; });
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        try {
          for (int i = 0; i < rounds; ++i) {
            const Tensor y = x * 3;
            const Hook hook = y.register_hook([](const Tensor& gradient) { return gradient * 5; });
            sum(y).backward();
            hook.remove();
          }
        } catch (...) {
          ++failures;
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    CHECK(failures == 0);
    CHECK(runs == threads * rounds);
    CHECK(numbers(x.grad()) == Numbers(3, 30.0 * threads * rounds));
  }
}
