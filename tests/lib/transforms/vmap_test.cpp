// vmap: functions of one sample, run on batches.
#include <map>
#include <thread>

#include "tests/lib/transforms/support.hpp"

using namespace batching;

namespace {

Tensor dot_of(const Tensor& a, const Tensor& b) { return sum(a * b); }

// `f` of each row, stacked.
template <class F>
Tensor looped(const F& f, const Tensor& rows) {
  std::vector<Tensor> results;
  for (int64_t i = 0; i < rows.size(0); ++i) results.push_back(f(select(rows, 0, i)));
  return stack(results, 0);
}
template <class F>
double against_loop(const F& f, const Tensor& rows) {
  return difference(vmap(f)(rows), looped(f, rows));
}

}  // namespace

TEST_SUITE("lib/transforms/vmap") {
  TEST_CASE("a function of one sample runs on a batch") {
    const Tensor x = randn({5, 3}), y = randn({5, 3});
    const Tensor z = vmap(dot_of)(x, y);
    CHECK(z.sizes() == std::vector<int64_t>{5});
    CHECK(difference(z, sum(x * y, {1})) < 1e-6);
  }

  TEST_CASE("the function gets tensors of the shape of one sample") {
    std::vector<int64_t> seen;
    vmap(
        [&](const Tensor& x) {
          seen = x.sizes();
          return x;
        },
        1)(randn({2, 7, 4}));
    CHECK(seen == std::vector<int64_t>{2, 4});
  }

  TEST_CASE("an argument without a batch dimension is the same for all samples") {
    const Tensor x = randn({4, 3}), w = randn({3});
    CHECK(difference(vmap(dot_of, {0, none})(x, w), mv(x, w)) < 1e-6);
    CHECK(difference(vmap(dot_of, {none, 1})(w, transpose(x, 0, 1)), mv(x, w)) < 1e-6);
  }

  TEST_CASE("calls of vmap nest") {
    const Tensor x = randn({4, 3}), y = randn({5, 3});
    const Tensor table = vmap(vmap(dot_of, {none, 0}), {0, none})(x, y);
    CHECK(table.sizes() == std::vector<int64_t>{4, 5});
    CHECK(difference(table, mm(x, transpose(y, 0, 1))) < 1e-6);
  }

  TEST_CASE("results have the batch where out_dims says") {
    const Tensor x = randn({4, 3, 2});
    const auto same = [](const Tensor& t) { return t * 2; };
    CHECK(vmap(same, 0, 1)(x).sizes() == std::vector<int64_t>{3, 4, 2});
    CHECK(vmap(same, 0, -1)(x).sizes() == std::vector<int64_t>{3, 2, 4});
    CHECK(vmap(same, -1, 0)(x).sizes() == std::vector<int64_t>{2, 4, 3});
  }

  TEST_CASE("a result that no batched argument is part of is expanded") {
    const Tensor ones_of = vmap([](const Tensor&) { return ones({2}); })(randn({3, 4}));
    CHECK(ones_of.sizes() == std::vector<int64_t>{3, 2});
    const Tensor once = vmap([](const Tensor&) { return ones({2}); }, 0, none)(randn({3, 4}));
    CHECK(once.sizes() == std::vector<int64_t>{2});
  }

  TEST_CASE(
      "lists, tuples and maps of tensors, and other values, are arguments and "
      "results") {
    const Tensor x = randn({4, 3}), y = randn({4, 3});
    const auto f = [](const std::vector<Tensor>& pair, const std::map<std::string, Tensor>& named,
                      double factor) {
      return std::make_tuple(pair[0] * factor, std::vector<Tensor>{pair[1] + named.at("bias")});
    };
    const auto [a, b] = vmap(f, {0, none, none})(
        std::vector<Tensor>{x, y}, std::map<std::string, Tensor>{{"bias", x[0]}}, 2.0);
    CHECK(difference(a, x * 2) == 0);
    CHECK(difference(b[0], y + Tensor(x[0])) == 0);
  }

  TEST_CASE("chunks give what the whole batch gives") {
    const Tensor x = randn({7, 3});
    VmapOptions options;
    for (const int64_t chunk : {1, 2, 3, 7, 9}) {
      options.chunk_size = chunk;
      CHECK(difference(vmap([](const Tensor& t) { return cumsum(t, 0); }, 0, 1, options)(x),
                       transpose(cumsum(x, 1), 0, 1)) == 0);
    }
  }

  TEST_CASE("batches of none and of one") {
    for (const int64_t size : {0, 1}) {
      const Tensor x = randn({size, 3, 3});
      const Tensor y =
          vmap([](const Tensor& t) { return sum(nn::functional::softmax(mm(t, t), 1), {0}); })(x);
      CHECK(y.sizes() == std::vector<int64_t>{size, 3});
    }
    CHECK(vmap([](const Tensor& t) { return linalg::inv(t); })(randn({0, 3, 3})).sizes() ==
          std::vector<int64_t>{0, 3, 3});
  }

  TEST_CASE("batched operands change in place") {
    const Tensor x = randn({4, 3});
    const Tensor copy = x.clone();
    const Tensor y = vmap([](const Tensor& t) {
      const Tensor u = t.clone();
      u.add_(1);
      u.mul_(t);
      select(u, 0, 0).zero_();
      return u;
    })(x);
    CHECK(difference(x, copy) == 0);
    const Tensor expected = (x + 1) * x;
    select(expected, 1, 0).zero_();
    CHECK(difference(y, expected) == 0);
    vmap([](const Tensor& t) { return t.exp_(); })(x);
    CHECK(difference(x, exp(copy)) == 0);
  }

  TEST_CASE("a tensor that is not batched is not changed by one that is") {
    const Tensor shared = zeros({3});
    const std::string text = refusal<TypeError>([&] {
      vmap([&](const Tensor& t) {
        shared.add_(t);
        return t;
      })(randn({4, 3}));
    });
    CHECK(text.find("add_(): vmap: 'input' is changed in place and is not batched") !=
          std::string::npos);
    CHECK(difference(shared, zeros({3})) == 0);
  }

  TEST_CASE("gradients go through a vmap") {
    const Tensor x = randn({4, 3}).requires_grad_(), w = randn({3}).requires_grad_();
    const Tensor y =
        vmap([](const Tensor& a, const Tensor& b) { return sum(exp(a * b)); }, {0, none})(x, w);
    sum(y).backward();
    const Tensor e = exp(x * w);
    CHECK(difference(x.grad(), (e * w).detach()) < 1e-6);
    CHECK(difference(w.grad(), sum(e * x, {0}).detach()) < 1e-6);
  }

  TEST_CASE("gradients within a vmap are those of each sample") {
    const Tensor x = randn({4, 3}), w = randn({3});
    const Tensor g = vmap([&](const Tensor& a) {
      const Tensor leaf = transforms::lower(w).detach().requires_grad_();
      const Tensor y = transforms::lower(sum(exp(a * transforms::raise(leaf))));
      sum(y).backward();
      return transforms::raise(leaf.grad());
    })(x);
    CHECK(difference(g, exp(x * w) * x) < 1e-6);
  }

  TEST_CASE("random ops follow the policy") {
    const auto noise = [](const Tensor& t) { return t + rand({3}); };
    const Tensor x = zeros({4, 3});
    CHECK(refusal<RuntimeError>([&] {
            vmap(noise)(x);
          }).find("rand(): vmap: it draws random numbers") != std::string::npos);
    VmapOptions options;
    options.randomness = Randomness::same;
    const Tensor same = vmap(noise, 0, 0, options)(x);
    CHECK(difference(same[0], same[3]) == 0);
    options.randomness = Randomness::different;
    const Tensor different = vmap(noise, 0, 0, options)(x);
    CHECK(difference(different[0], different[3]) > 0);
    const auto drop = [](const Tensor& t) {
      return tenon::Op("nn.functional.dropout").call<Tensor>(t);
    };
    CHECK(refusal<RuntimeError>([&] { vmap(drop)(x); }).find("nn.functional.dropout(): vmap") !=
          std::string::npos);
    const Tensor ones_of = ones({4, 50});
    const Tensor dropped = vmap(drop, 0, 0, options)(ones_of);
    CHECK(difference(dropped[0], dropped[3]) > 0);
    options.randomness = Randomness::same;
    const Tensor dropped_alike = vmap(drop, 0, 0, options)(ones_of);
    CHECK(difference(dropped_alike[0], dropped_alike[3]) == 0);
  }

  TEST_CASE("ops whose shapes or values depend on elements are refused by name") {
    const Tensor x = randn({4, 3});
    CHECK(refusal<RuntimeError>([&] {
            vmap([](const Tensor& t) { return nonzero(t); })(x);
          }).find("nonzero(): vmap") != std::string::npos);
    CHECK(refusal<RuntimeError>([&] {
            vmap([](const Tensor& t) { return masked_select(t, t > 0); })(x);
          }).find("masked_select(): vmap") != std::string::npos);
    CHECK(refusal<Error>([&] { vmap([](const Tensor& t) { return t * t.item(); })(randn({4})); }) !=
          "no error");
    CHECK(refusal<Error>([&] { vmap([](const Tensor& t) { return equal(t, t) ? t : t; })(x); }) !=
          "no error");
  }

  TEST_CASE("a batched tensor that outlives its vmap is refused") {
    Tensor kept;
    vmap([&](const Tensor& t) { return kept = t; })(randn({4, 3}));
    CHECK(refusal<RuntimeError>([&] { kept + 1; }).find("used after its vmap has returned") !=
          std::string::npos);
  }

  TEST_CASE("dimensions that do not fit are refused") {
    const Tensor x = randn({4, 3}), y = randn({5, 3});
    CHECK(refusal<ValueError>([&] { vmap(dot_of)(x, y); }) ==
          "vmap: the batch sizes differ: argument 0 has 4 samples at dimension 0, argument 1 has 5 "
          "samples at dimension 0");
    CHECK(refusal<ValueError>([&] { vmap(dot_of, {0})(x, y); }) ==
          "vmap: in_dims has 1 entries, and the function is called with 2 arguments; give one for "
          "each");
    CHECK(refusal<ValueError>([&] {
            vmap(dot_of, {none, none})(x, x);
          }) == "vmap: no argument is batched: give a tensor and its batch dimension in in_dims");
    CHECK(refusal<IndexError>([&] {
            vmap(dot_of, {2, 0})(x, x);
          }) == "vmap: in_dims has 2 for argument 0, a tensor of 2 dimensions");
    CHECK(refusal<ValueError>([&] {
            vmap([](const Tensor& t, double) { return t; }, {0, 0})(x, 1.0);
          }) == "vmap: in_dims has 0 for argument 1, which holds no tensor; give none for it");
    CHECK(refusal<IndexError>([&] { vmap(dot_of, 0, 1)(x, x); }) ==
          "vmap: out_dims has 1 for result 0, which has 1 dimensions with the batch");
    CHECK(
        refusal<ValueError>([&] { vmap(dot_of, 0, none)(x, x); }) ==
        "vmap: out_dims has none for result 0, which differs between samples; give its dimension");
    CHECK(refusal<TypeError>([&] { vmap([](const Tensor&) { return Tensor(); })(x); }) ==
          "vmap: result 0 is an undefined tensor");
  }

  TEST_CASE("views, products, reductions and shapes of samples") {
    const Tensor x = randn({4, 3, 3});
    CHECK(against_loop([](const Tensor& t) { return transpose(t, 0, 1); }, x) == 0);
    CHECK(against_loop([](const Tensor& t) { return reshape(t, {-1}); }, x) == 0);
    CHECK(against_loop(
              [](const Tensor& t) {
                return expand(unsqueeze(t, 0), {2, -1, 3});
              },
              x) == 0);
    CHECK(against_loop([](const Tensor& t) { return matmul(t, select(t, 0, 1)); }, x) < 1e-6);
    CHECK(against_loop([](const Tensor& t) { return matmul(select(t, 0, 1), t); }, x) < 1e-6);
    CHECK(against_loop([](const Tensor& t) { return argmax(t); }, x) == 0);
    CHECK(against_loop([](const Tensor& t) { return tenon::std(t); }, x) < 1e-6);
    CHECK(against_loop([](const Tensor& t) { return cat({t, t * 2}, 1); }, x) == 0);
    CHECK(against_loop([](const Tensor& t) { return sum(select(select(t, 0, 0), 0, 0), {0}); },
                       x) == 0);
  }

  TEST_CASE("several threads run vmap at the same time") {
    const Tensor x = randn({6, 3});
    const Tensor expected = sum(x * x, {1});
    std::vector<double> found(4, 1);
    std::vector<std::thread> threads;
    for (double& result : found)
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) result = difference(vmap(dot_of)(x, x), expected);
      });
    for (std::thread& thread : threads) thread.join();
    for (const double result : found) CHECK(result < 1e-6);
  }
}
