// Functions that run again when backward needs what they saved.
#include <tenon/nn_ops.hpp>
#include <tenon/saved_tensors.hpp>
#include <tenon/transforms/checkpoint.hpp>
#include <tenon/transforms/jacobian.hpp>

#include "tests/lib/transforms/derivative_support.hpp"

namespace {

using namespace transforming;

Tensor deep(const Tensor& x) { return tanh(exp(x * x).sin() * x); }

}  // namespace

TEST_SUITE("lib/transforms/checkpoint") {
  TEST_CASE("values and gradients are those without a checkpoint, bit for bit") {
    const Tensor x = row({0.3, -0.5, 1.2});
    const auto plain = [](const Tensor& a) { return sum(deep(deep(a))); };
    const auto kept = [](const Tensor& a) { return sum(checkpoint(deep, checkpoint(deep, a))); };
    CHECK(numbers(value_and_grad(kept)(x).second) == numbers(grad(plain)(x)));
    CHECK(value_and_grad(kept)(x).first.item() == plain(x).item());
    CHECK(numbers(hessian(kept)(x)) == numbers(hessian(plain)(x)));
    CHECK(numbers(jacrev(jacrev(kept))(x)) == numbers(jacrev(jacrev(plain))(x)));
    CHECK(numbers(hvp(kept, x, row({1, 2, 3}))) == numbers(hvp(plain, x, row({1, 2, 3}))));
    CHECK(numbers(jvp(kept, x, row({1, 2, 3})).second) ==
          numbers(jvp(plain, x, row({1, 2, 3})).second));
  }

  TEST_CASE("the function runs again once, at the first use, and after the graph was kept") {
    int runs = 0;
    const auto counted = [&](const Tensor& a) {
      ++runs;
      return deep(a);
    };
    Tensor x = row({0.3, -0.5}).requires_grad_();
    const Tensor y = sum(checkpoint(counted, x));
    CHECK(runs == 1);
    const Tensor first = gradients({y}, {x}, {{}, true})[0];
    CHECK(runs == 2);
    CHECK(numbers(gradients({y}, {x})[0]) == numbers(first));
    CHECK(runs == 3);
    const NoGrad off;
    checkpoint(counted, x);
    CHECK(runs == 4);
  }

  TEST_CASE("random numbers are those of the first run, and those after are not changed") {
    seed_generator(7);
    const Tensor x = ones({1000}, f64);
    const auto noisy = [](const Tensor& a) { return sum(nn::functional::dropout(a, 0.5) * a); };
    const Tensor plain = grad(noisy)(x), next = rand({3});
    seed_generator(7);
    const auto kept = [&](const Tensor& a) { return checkpoint(noisy, a); };
    CHECK(numbers(grad(kept)(x)) == numbers(plain));
    CHECK(numbers(rand({3})) == numbers(next));
  }

  TEST_CASE("checkpoints nest, and inner arguments are not kept") {
    int inner_runs = 0, outer_runs = 0;
    const auto inner = [&](const Tensor& a) {
      ++inner_runs;
      return deep(a);
    };
    const auto outer = [&](const Tensor& a) {
      ++outer_runs;
      return checkpoint(inner, checkpoint(inner, a) * 2);
    };
    const Tensor x = row({0.3, -0.5});
    const auto plain = [](const Tensor& a) { return sum(deep(deep(a) * 2)); };
    CHECK(numbers(grad([&](const Tensor& a) { return sum(checkpoint(outer, a)); })(x)) ==
          numbers(grad(plain)(x)));
    CHECK(outer_runs == 2);
    CHECK(inner_runs == 6);  // twice in each run of the outer one, and once each for themselves
    CHECK(numbers(hessian([&](const Tensor& a) { return sum(checkpoint(outer, a)); })(x)) ==
          numbers(hessian(plain)(x)));
  }

  TEST_CASE("another second run is refused, with the op that differs") {
    int run = 0;
    Tensor x = row({0.5, 0.25}).requires_grad_();
    const auto fails = [&](const auto& second) {
      run = 0;
      const Tensor y =
          checkpoint([&](const Tensor& a) { return ++run == 1 ? sum(exp(a) * a) : second(a); }, x);
      return refused([&] { y.backward(); });
    };
    Refused error = fails([](const Tensor& a) { return sum(sin(a) * a); });
    CHECK(error.kind == TENON_ERROR_RUNTIME);
    CHECK(has(error.text, "of exp in the first run"));
    CHECK(has(error.text, "of sin in the second"));
    error = fails([](const Tensor& a) { return sum(exp(narrow(a, 0, 0, 1)) * a); });
    CHECK(has(error.text, "was f64 [2] of exp in the first run, and is f64 [1] of exp"));
    error = fails([](const Tensor& a) { return sum(exp(a)); });
    CHECK(has(error.text, "f64 [2] of mul is missing"));
    const Tensor y = checkpoint([](const Tensor& a) { return sum(a * a); }, x * 1);
    Tensor changed = x * 1;
    const Tensor z = checkpoint([](const Tensor& a) { return sum(a * a); }, changed);
    changed.mul_(2);
    error = refused([&] { z.backward(); });
    CHECK(error.kind == TENON_ERROR_INPLACE);
    CHECK(has(error.text, "argument tensor 0"));
    y.backward();
  }

  TEST_CASE("statistics of a module are counted once") {
    const auto make = [] {
      Module norm = create_module(Json::parse(R"({"type": "BatchNorm1d", "num_features": 2})"));
      norm.to(f64);
      return norm;
    };
    const Module plain = make(), kept = make();
    const Tensor x = row({1, 2, 3, 4, 5, 7}).view({3, 2});
    const auto run = [&](const Module& module, bool checked) {
      Tensor input = x.clone().requires_grad_();
      const Tensor y = checked ? checkpoint(module, input) : module(input);
      sum(y * y * y).backward();
      return input.grad();
    };
    CHECK(numbers(run(kept, true)) == numbers(run(plain, false)));
    CHECK(numbers(kept.tensor("running_mean")) == numbers(plain.tensor("running_mean")));
    CHECK(numbers(kept.tensor("weight").grad()) == numbers(plain.tensor("weight").grad()));
  }

  TEST_CASE("every call of a module is computed again where it is asked for, inner ones too") {
    const auto make = [] {
      seed_generator(3);
      Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
        {"type": "Sequential", "layers": [{"type": "Linear", "in_features": 2, "out_features": 2},
                                          {"type": "Dropout"}, {"type": "Tanh"}]},
        {"type": "Linear", "in_features": 2, "out_features": 2}]})"));
      model.to(f64);
      return model;
    };
    const Module plain = make(), kept = make();
    recompute::recompute_calls(kept);
    recompute::recompute_calls(kept.child("0"));
    const Tensor x = row({1, 2, 3, 4}).view({2, 2});
    for (const Module& model : {plain, kept}) {
      seed_generator(5);
      sum(model(x) * model(x)).backward();
    }
    for (const auto& [name, parameter] : plain.named_parameters())
      CHECK_MESSAGE(numbers(parameter.grad()) == numbers(kept.tensor(name.c_str()).grad()), name);
    CHECK(refused([&] { kept(row({1})); }).kind != TENON_OK);
    CHECK(sum(kept(x)).requires_grad());
  }

  TEST_CASE("hooks that lose the tangent of what they keep are refused in a level") {
    const auto hooked = [](const Tensor& x) {
      const SavedTensorsHooks hooks([](const Tensor& saved) { return numbers(saved); },
                                    [](const Numbers& saved) { return row(saved); });
      return sum(exp(x) * x);
    };
    CHECK(close(grad(hooked)(row({1, 2})),
                grad([](const Tensor& x) { return sum(exp(x) * x); })(row({1, 2}))));
    const Refused error = refused([&] { hvp(hooked, row({1, 2}), row({1, 1})); });
    CHECK(error.kind == TENON_ERROR_RUNTIME);
    CHECK(has(error.text, "without the tangent"));
  }
}
