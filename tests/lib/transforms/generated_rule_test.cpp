// Functions with generate_batch_rule: their forward, backward and jvp run on batched tensors.
#include <functional>
#include <tuple>

#include <tenon/transforms/forward.hpp>
#include <tenon/transforms/grad.hpp>
#include <tenon/transforms/jacobian.hpp>

#include "tests/lib/transforms/support.hpp"

using namespace batching;

namespace {

Op planted(const char* op) {
  static const bool loaded = (load_plugin(TENON_FIXTURES "/planted/planted_batches.so"), true);
  static_cast<void>(loaded);
  return Op("planted_batches." + std::string(op));
}
Tensor rows() { return randn({4, 3}).to(f64); }

// exp(x * y / 2), by ops and as a Function.
Tensor by_ops(const Tensor& x, const Tensor& y) { return exp(x * y * 0.5); }
Tensor by_function(const Tensor& x, const Tensor& y) {
  static const Op op = planted("right_generated");
  return op.call<Tensor>(x, y);
}
const auto sum_by_ops = [](const Tensor& x, const Tensor& y) { return sum(by_ops(x, y)); };
const auto sum_by_function = [](const Tensor& x, const Tensor& y) {
  return sum(by_function(x, y));
};

}  // namespace

TEST_SUITE("lib/transforms/generated_rule") {
  TEST_CASE("a Function runs on a batch by the ops that its forward calls") {
    const Tensor x = rows(), y = rows(), one = randn({3}).to(f64);
    CHECK(difference(vmap(by_function)(x, y), by_ops(x, y)) < 1e-12);
    CHECK(difference(vmap(by_function, {0, none})(x, one), by_ops(x, one)) < 1e-12);
    CHECK(difference(vmap(vmap(by_function, {none, 0}), {0, none})(x, y),
                     by_ops(unsqueeze(x, 1), unsqueeze(y, 0))) < 1e-12);
    CHECK(vmap(by_function)(narrow(x, 0, 0, 0), narrow(y, 0, 0, 0)).sizes() ==
          std::vector<int64_t>{0, 3});
  }

  TEST_CASE("gradients and tangents of each sample are those of the rules of the Function") {
    const Tensor x = rows(), y = rows(), t = rows();
    const auto slopes = [](const auto& f) { return vmap(transforms::grad(f)); };
    CHECK(difference(slopes(sum_by_function)(x, y), slopes(sum_by_ops)(x, y)) < 1e-12);
    const auto tangents = [&](const auto& f) {
      return vmap([&](const Tensor& a, const Tensor& b, const Tensor& da) {
        return transforms::jvp([&](const Tensor& v) { return f(v, b); }, a, da).second;
      })(x, y, t);
    };
    CHECK(difference(tangents(by_function), tangents(by_ops)) < 1e-12);
  }

  TEST_CASE("a gradient is taken after the vmap has returned, also of nested ones") {
    const Tensor y = rows();
    const auto gradient = [&](const auto& f) {
      const Tensor x = y.mul(0.5).detach().requires_grad_();
      const Tensor once = vmap(f)(x, y), twice = vmap(vmap(f, {none, 0}), {0, none})(x, y);
      (sum(once) + sum(twice * twice)).backward();
      return x.grad();
    };
    CHECK(difference(gradient(by_function), gradient(by_ops)) < 1e-12);
  }

  TEST_CASE("second derivatives go through the result that backward reads") {
    const Tensor x = rows(), y = rows();
    const auto second = [&](const auto& f) {
      return vmap([&](const Tensor& a, const Tensor& b) {
        const auto slope = transforms::grad(f);
        return transforms::grad([&](const Tensor& v) { return sum(slope(v, b) * b); })(a);
      })(x, y);
    };
    CHECK(difference(second(sum_by_function), second(sum_by_ops)) < 1e-12);
    const auto matrix = [&](const auto& f) {
      return vmap(transforms::hessian([&](const Tensor& v) { return f(v, v); }))(x);
    };
    CHECK(difference(matrix(sum_by_function), matrix(sum_by_ops)) < 1e-12);
  }

  TEST_CASE("the gradient is that of backward where forward has another one") {
    static const Op op = planted("straight_through");
    const Tensor x = rows();
    const auto f = [&](const Tensor& v) { return sum(op.call<Tensor>(v) * v); };
    CHECK(difference(vmap(transforms::grad(f))(x), round(x) + x) < 1e-12);
  }

  TEST_CASE("of several results one may be whole numbers") {
    static const Op op = planted("generated_sort");
    const Tensor x = rows();
    const auto sorted = [&](const Tensor& v) { return op.call<std::tuple<Tensor, Tensor>>(v); };
    const auto [values, order] = vmap(sorted)(x);
    CHECK(difference(values, gather(x, -1, argsort(x, -1))) == 0);
    CHECK(difference(order, argsort(x, -1)) == 0);
    const auto f = [&](const Tensor& v) {
      return sum(std::get<0>(sorted(v)) * tensor({1, 10, 100}).to(f64));
    };
    const Tensor expected =
        gather(expand(tensor({1, 10, 100}).to(f64), {4, 3}), -1, argsort(argsort(x, -1), -1));
    CHECK(difference(vmap(transforms::grad(f))(x), expected) == 0);
  }

  TEST_CASE("a forward that reads elements is refused") {
    static const Op op = planted("generated_reads");
    const std::string text =
        refusal<Error>([&] { vmap([&](const Tensor& v) { return op.call<Tensor>(v); })(rows()); });
    CHECK(text == "generated_reads(): Batched has no conversion to Tensor");
  }

  TEST_CASE("numbers drawn within follow the policy of each level") {
    for (const char* name : {"right_noise", "generated_noise"}) {
      CAPTURE(name);
      const Op op = planted(name);
      const auto noise = [&](const Tensor& v) { return op.call<Tensor>(v); };
      const Tensor x = zeros({4, 3});
      CHECK(refusal<RuntimeError>([&] { vmap(noise)(x); }).find("rand(): vmap: it draws random") !=
            std::string::npos);
      VmapOptions same, different;
      same.randomness = Randomness::same;
      different.randomness = Randomness::different;
      const Tensor alike = vmap(noise, 0, 0, same)(x), each = vmap(noise, 0, 0, different)(x);
      CHECK(difference(alike[0], alike[3]) == 0);
      CHECK(difference(each[0], each[3]) > 0);
      const auto of_both = vmap(vmap(noise, 0, 0, same), 0, 0, different);
      const Tensor both = zeros({2, 4, 3});
      if (op.name() == "planted_batches.generated_noise") {  // it runs once for all levels
        CHECK(refusal<RuntimeError>([&] { of_both(both); }) != "no error");
        continue;
      }
      const Tensor drawn = of_both(both);
      CHECK(difference(drawn[0][0], drawn[0][3]) == 0);
      CHECK(difference(drawn[0][0], drawn[1][0]) > 0);
    }
  }

  TEST_CASE("numbers drawn for operands of two levels have the shape of both") {
    const auto attention = [](const Tensor& row) {
      const Tensor query = row.reshape({1, 2, 2});
      return Op("nn.functional.scaled_dot_product_attention")
          .call<Tensor>(query, query, query, none, 0.5);
    };
    const auto kept = [](const Tensor& row) {
      return Op("bernoulli").call<Tensor>(row * 0.5).reshape({1, 2, 2});
    };
    const std::function<Tensor(const Tensor&)> draws[] = {attention, kept};
    for (const auto& draw : draws) {
      for (const Randomness outer : {Randomness::same, Randomness::different}) {
        for (const Randomness inner : {Randomness::same, Randomness::different}) {
          VmapOptions around, within;
          around.randomness = outer;
          within.randomness = inner;
          const Tensor drawn = vmap(vmap(draw, 0, 0, within), 0, 0, around)(ones({2, 3, 4}));
          CHECK(drawn.sizes() == std::vector<int64_t>{2, 3, 1, 2, 2});
        }
      }
    }
  }
}
