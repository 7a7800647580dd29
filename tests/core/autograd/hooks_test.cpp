// Hooks: their order, what they may replace, and how long they live.
#include "core/autograd/hooks/hooks.hpp"

#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// The body of a hook, called with the gradients; null or a replacement for the first.
using Body = std::function<TensorRef(std::span<Tensor* const>, std::span<Tensor* const>)>;
struct State {
  Body body;
  int* destroyed;
};

std::shared_ptr<HookBody> hook(Body body, int* destroyed = nullptr) {
  const auto function = [](void* state, Tensor* const* gradients, int64_t count,
                           Tensor* const* incoming, int64_t incoming_count, Tensor** replacements,
                           tenon_error** error) {
    return guarded(error, [&] {
      TensorRef made = static_cast<State*>(state)->body(
          {gradients, static_cast<size_t>(count)}, {incoming, static_cast<size_t>(incoming_count)});
      replacements[0] = made.give();
    });
  };
  const auto destroy = [](void* state) {
    auto* own = static_cast<State*>(state);
    if (own->destroyed != nullptr) ++*own->destroyed;
    delete own;
  };
  return std::make_shared<HookBody>(function, new State{std::move(body), destroyed}, destroy);
}
Body multiply(float factor) {
  return [factor](std::span<Tensor* const> gradients, std::span<Tensor* const>) {
    return scaled(*gradients[0], factor);
  };
}
Body nothing() {
  return [](std::span<Tensor* const>, std::span<Tensor* const>) { return TensorRef(); };
}

}  // namespace

TEST_SUITE("autograd/hooks") {
  TEST_CASE("each tensor hook sees what those before it made of the gradient") {
    const TensorRef x = leaf({1});
    std::vector<float> seen;
    const HookHandle first = add_tensor_hook(*x, TENON_HOOK_TENSOR, hook(multiply(2)));
    add_tensor_hook(*x, TENON_HOOK_TENSOR,
                    hook([&](std::span<Tensor* const> gradients, std::span<Tensor* const>) {
                      seen.push_back(read(*gradients[0])[0]);
                      return TensorRef();
                    }));
    add_tensor_hook(*x, TENON_HOOK_TENSOR, hook(multiply(5)));
    Node& node = *gradient_edge(*x).node;
    Tensor* gradient = floats({3}).give();
    run_tensor_hooks(node.extra(), node, {&gradient, 1});
    CHECK(seen == std::vector<float>{6});
    CHECK(read(*gradient) == std::vector<float>{30});
    CHECK(first.remove());
    CHECK_FALSE(first.remove());
    run_tensor_hooks(node.extra(), node, {&gradient, 1});
    CHECK(read(*gradient) == std::vector<float>{150});
    gradient->release();
  }

  TEST_CASE("a replacement has the shape and the dtype of the gradient") {
    const TensorRef x = leaf({1, 2});
    Node& node = *gradient_edge(*x).node;
    TensorRef given;
    add_tensor_hook(*x, TENON_HOOK_TENSOR, hook(nothing()));
    add_tensor_hook(
        *x, TENON_HOOK_TENSOR,
        hook([&](std::span<Tensor* const>, std::span<Tensor* const>) { return given; }));
    const TensorRef kept = floats({3, 4});
    const auto run = [&](TensorRef by) {
      given = std::move(by);
      Tensor* gradient = TensorRef(kept).give();
      const std::string text = refusal(
          [&] {
            run_tensor_hooks(node.extra(), node, {&gradient, 1});
          },
          TENON_ERROR_RUNTIME);
      CHECK(gradient == kept.get());
      gradient->release();
      return text;
    };
    CHECK(run(floats({1, 2, 3})) ==
          "tensor hook 1 of AccumulateGrad has changed the size of gradient 0: expected [2], got "
          "[3]");
    CHECK(has(run(contiguous_copy(*floats({1, 2}), TENON_F64)), "expected f32, got f64"));
    given = {};
    CHECK(kept->references == 1);
  }

  TEST_CASE("hooks before and after a node replace its gradients and its answer") {
    const TensorRef x = leaf({1}), y = floats({0});
    Node& node = compute(*y, {x.get()}, {});
    add_node_hook(node, TENON_HOOK_NODE_BEFORE, hook(multiply(2)));
    std::vector<float> incoming;
    add_node_hook(node, TENON_HOOK_NODE_AFTER,
                  hook([&](std::span<Tensor* const> gradients, std::span<Tensor* const> given) {
                    incoming = read(*given[0]);
                    return scaled(*gradients[0], 10);
                  }));
    Tensor* gradient = floats({3}).give();
    run_hooks_before(node.extra(), node, {&gradient, 1});
    CHECK(read(*gradient) == std::vector<float>{6});
    Answer answer{floats({7})};
    run_hooks_after(node.extra(), node, answer, {&gradient, 1});
    CHECK(incoming == std::vector<float>{6});
    CHECK(read(*answer[0]) == std::vector<float>{70});
    gradient->release();
  }

  TEST_CASE("post-accumulate hooks see the leaf, and are for leaves alone") {
    const TensorRef x = leaf({1}), y = floats({0});
    compute(*y, {x.get()}, {});
    Tensor* seen = nullptr;
    add_tensor_hook(*x, TENON_HOOK_POST_ACCUMULATE,
                    hook([&](std::span<Tensor* const> gradients, std::span<Tensor* const>) {
                      seen = gradients[0];
                      return TensorRef();
                    }));
    run_post_accumulate_hooks(gradient_edge(*x).node->extra(), *x);
    CHECK(seen == x.get());
    CHECK(has(refusal([&] { add_tensor_hook(*y, TENON_HOOK_POST_ACCUMULATE, hook(nothing())); },
                      TENON_ERROR_RUNTIME),
              "this one was made by RuleBackward0"));
  }

  TEST_CASE("hooks of another kind, or on what requires no grad, are refused") {
    const TensorRef x = leaf({1}), constant = floats({1});
    CHECK(has(refusal([&] { add_tensor_hook(*x, TENON_HOOK_NODE_BEFORE, hook(nothing())); },
                      TENON_ERROR_ARGUMENT),
              "cannot add a tensor hook: its kind is 2, expected"));
    CHECK(has(
        refusal([&] { add_node_hook(*gradient_edge(*x).node, TENON_HOOK_TENSOR, hook(nothing())); },
                TENON_ERROR_ARGUMENT),
        "cannot add a node hook: its kind is 0, expected"));
    CHECK(has(refusal([&] { add_tensor_hook(*constant, TENON_HOOK_TENSOR, hook(nothing())); },
                      TENON_ERROR_RUNTIME),
              "doesn't require gradient"));
  }

  TEST_CASE("a tensor's hook is removed by its id, once") {
    const TensorRef x = leaf({1});
    int destroyed = 0;
    const int64_t id = add_tensor_hook(*x, TENON_HOOK_TENSOR, hook(nothing(), &destroyed)).id();
    remove_tensor_hook(*x, id);
    CHECK(destroyed == 1);
    CHECK(has(refusal([&] { remove_tensor_hook(*x, id); }, TENON_ERROR_ARGUMENT),
              "no hook with the id " + std::to_string(id)));
  }

  TEST_CASE("what a hook keeps is destroyed once: with its node, or after the run that uses it") {
    int destroyed = 0;
    {
      const TensorRef x = leaf({1});
      HookHandle handle = add_tensor_hook(*x, TENON_HOOK_TENSOR, hook(nothing(), &destroyed));
      Node& node = *gradient_edge(*x).node;
      handle = add_tensor_hook(*x, TENON_HOOK_TENSOR,
                               hook(
                                   [&](std::span<Tensor* const>, std::span<Tensor* const>) {
                                     CHECK(handle.remove());
                                     CHECK(destroyed == 0);
                                     return TensorRef();
                                   },
                                   &destroyed));
      Tensor* gradient = floats({3}).give();
      run_tensor_hooks(node.extra(), node, {&gradient, 1});
      gradient->release();
      CHECK(destroyed == 1);
      CHECK_FALSE(handle.registered());
    }
    CHECK(destroyed == 2);
  }

  TEST_CASE("an extra knows its hooks by kind and by id") {
    const TensorRef x = leaf({1});
    NodeExtra& extra = gradient_edge(*x).node->extra();
    const HookHandle handle = extra.add(TENON_HOOK_NODE_BEFORE, 0, hook(nothing()));
    CHECK(extra.has_kind(TENON_HOOK_NODE_BEFORE));
    CHECK_FALSE(extra.has_kind(TENON_HOOK_NODE_AFTER));
    CHECK(extra.holds(handle.id()));
    CHECK(extra.read()->size() == 1);
    CHECK(extra.remove(handle.id()));
    CHECK_FALSE(extra.holds(handle.id()));
    const auto box = std::make_shared<RetainedGrad>();
    extra.retain_into(0, box);
    CHECK(extra.retained().size() == 1);
    CHECK(extra.forget(box));
    CHECK_FALSE(extra.forget(box));
  }
}
