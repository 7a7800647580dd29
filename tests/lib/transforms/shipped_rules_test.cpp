// Batch rules of shipped plugins: which ops have one, and rules that samples of ops do not reach.
#include <functional>

#include <tenon/listing/listing.hpp>
#include <tenon/transforms/grad.hpp>

#include "tests/lib/transforms/support.hpp"

using namespace batching;

namespace {

// How the last call of an op with a batched operand ran.
std::string last_how() {
  const char *how = nullptr, *rule = nullptr, *provider = nullptr;
  transforms::service_table().take_last(&how, &rule, &provider);
  return how == nullptr ? "" : how;
}

using Run = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Calls `run` on a batch and on each sample; operands whose place in `shared` is true have no batch. The way
// in which the batch ran.
std::string compare(const Run& run, const std::vector<Tensor>& operands,
                    const std::vector<bool>& shared, double bound = 1e-10) {
  constexpr int64_t size = 3;
  std::vector<std::vector<Tensor>> expected;  // by result, then by sample
  for (int64_t i = 0; i < size; ++i) {
    std::vector<Tensor> sample;
    for (size_t k = 0; k < operands.size(); ++k)
      sample.push_back(shared[k] ? operands[k].clone() : select(operands[k], 0, i).clone());
    const std::vector<Tensor> results = run(sample);
    expected.resize(results.size());
    for (size_t r = 0; r < results.size(); ++r) expected[r].push_back(results[r]);
  }
  const transforms::vmapped::LevelScope scope(size, Randomness::error);
  std::vector<Tensor> inner;
  for (size_t k = 0; k < operands.size(); ++k)
    inner.push_back(shared[k] ? operands[k].clone()
                              : transforms::batch(operands[k].clone(), scope.level()));
  last_how();
  const std::vector<Tensor> results = run(inner);
  const std::string how = last_how();
  REQUIRE(results.size() == expected.size());
  for (size_t r = 0; r < results.size(); ++r) {
    CAPTURE(r);
    CHECK(difference(transforms::unbatch(results[r], scope.level()), stack(expected[r], 0)) <=
          bound);
  }
  return how;
}

Tensor made(std::vector<int64_t> shape) { return randn(shape).to(f64); }
Tensor classes(std::vector<int64_t> shape, int64_t count) { return randint(0, count, shape); }

}  // namespace

TEST_SUITE("lib/transforms/shipped_rules") {
  TEST_CASE("every shipped op runs without a loop, or is listed with the reason for one") {
    const Json coverage = listing::transform_coverage("vmap");
    int64_t reasons = 0;
    for (int64_t i = 0; i < coverage["ops"].size(); ++i) {
      const Json op = coverage["ops"][i];
      const std::string how = op["how"].text(), name = op["name"].text();
      if (how != "loop" && how != "refused") continue;
      CAPTURE(name);
      CHECK(!op["ways"][int64_t{0}]["reason"].text("").empty());
      ++reasons;
    }
    CHECK(reasons > 10);
    CHECK(reasons < 60);
  }

  TEST_CASE("gradients of convolutions by weights of each sample are one convolution by groups") {
    const std::vector<int64_t> images{2, 4, 5, 5}, filters{6, 2, 3, 3};
    const Run input = [&](const std::vector<Tensor>& t) {
      return std::vector<Tensor>{Op("nn.functional.conv2d_input")
                                     .call<Tensor>(images, t[0], t[1], std::vector<int64_t>{1, 1},
                                                   std::vector<int64_t>{0, 0},
                                                   std::vector<int64_t>{1, 1}, int64_t{2})};
    };
    const Run weight = [&](const std::vector<Tensor>& t) {
      return std::vector<Tensor>{Op("nn.functional.conv2d_weight")
                                     .call<Tensor>(t[0], filters, t[1], std::vector<int64_t>{1, 1},
                                                   std::vector<int64_t>{0, 0},
                                                   std::vector<int64_t>{1, 1}, int64_t{2})};
    };
    for (const auto& [first, second] : {std::pair(false, false), {true, false}, {false, true}}) {
      const Tensor w = first ? made(filters) : made({3, 6, 2, 3, 3});
      const Tensor x = first ? made(images) : made({3, 2, 4, 5, 5});
      const Tensor g = second ? made({2, 6, 3, 3}) : made({3, 2, 6, 3, 3});
      CHECK(compare(input, {w, g}, {first, second}) == "rule");
      CHECK(compare(weight, {x, g}, {first, second}) == "rule");
    }
  }

  TEST_CASE("views by strides, and gradients of adaptive pools, run once for all samples") {
    const Run view = [](const std::vector<Tensor>& t) {
      return std::vector<Tensor>{Op("as_strided")
                                     .call<Tensor>(t[0], std::vector<int64_t>{2, 2},
                                                   std::vector<int64_t>{1, 2}, int64_t{1})};
    };
    CHECK(compare(view, {made({3, 2, 4})}, {false}) == "rule");
    // Samples of a batch that is not contiguous go by their own memory.
    const Tensor turned = transpose(made({3, 4, 2}), 1, 2);
    const Tensor each = vmap([&](const Tensor& t) { return view({t})[0]; })(turned);
    CHECK(difference(select(each, 0, 1), view({select(turned, 0, 1)})[0]) == 0);
    CHECK(last_how() == "loop");
    for (int64_t n = 1; n <= 3; ++n) {
      const auto sizes = [&](int64_t size) {
        std::vector<int64_t> shape{2, 4};
        shape.insert(shape.end(), static_cast<size_t>(n), size);
        return shape;
      };
      const Run pool = [&](const std::vector<Tensor>& t) {
        return std::vector<Tensor>{Op("nn.grad.adaptive_avg_pool").call<Tensor>(t[0], sizes(5), n)};
      };
      std::vector<int64_t> batch = sizes(2);
      batch.insert(batch.begin(), 3);
      CHECK(compare(pool, {made(batch)}, {false}) == "rule");
    }
  }

  TEST_CASE("recurrent layers take a batch beside the one that they have") {
    const Run lstm = [](const std::vector<Tensor>& t) {
      auto [output, hidden, cell] =
          Op("nn.functional.lstm")
              .call<std::tuple<Tensor, Tensor, Tensor>>(t[0], t[1], t[2], t[3], t[4]);
      return std::vector<Tensor>{output, hidden, cell};
    };
    CHECK(compare(lstm,
                  {made({3, 5, 2, 4}), made({3, 2, 6}), made({2, 6}), made({24, 4}), made({24, 6})},
                  {false, false, true, true, true}) == "rule");
  }

  TEST_CASE("losses of each sample have their gradients by rules, whatever the reduction") {
    for (const char* reduction : {"none", "sum", "mean"}) {
      CAPTURE(reduction);
      const bool one = std::string(reduction) != "none";
      const Tensor seed = one ? made({3}) : made({3, 4}), target = classes({3, 4}, 5);
      const Run cross = [&](const std::vector<Tensor>& t) {
        return std::vector<Tensor>{
            Op("nn.grad.cross_entropy")
                .call<Tensor>(t[0], t[1], t[2], none, int64_t{2}, reduction, 0.1)};
      };
      CHECK(compare(cross, {seed, made({3, 4, 5}), target}, {false, false, false}) == "rule");
      const Run likelihood = [&](const std::vector<Tensor>& t) {
        return std::vector<Tensor>{Op("nn.grad.nll_loss")
                                       .call<Tensor>(t[0], t[1], none, std::vector<int64_t>{4, 5},
                                                     int64_t{2}, reduction, 0.1)};
      };
      CHECK(compare(likelihood, {seed, target}, {false, false}) == "rule");
    }
  }

  TEST_CASE("a table's gradient has the rows of each sample") {
    const Run table = [](const std::vector<Tensor>& t) {
      return std::vector<Tensor>{Op("nn.grad.embedding").call<Tensor>(t[0], t[1], int64_t{5})};
    };
    CHECK(compare(table, {made({3, 2, 4, 6}), classes({3, 2, 4}, 5)}, {false, false}) == "rule");
  }

  TEST_CASE("gradients of layer_norm are sums over the rows of one sample") {
    const Run norm = [](const std::vector<Tensor>& t) {
      const auto loss = [](const Tensor& x, const Tensor& w, const Tensor& b) {
        return sum(
            sin(Op("nn.functional.layer_norm").call<Tensor>(x, std::vector<int64_t>{4}, w, b)));
      };
      const auto [x, w, b] = transforms::grad(loss, transforms::argnums<0, 1, 2>)(t[0], t[1], t[2]);
      return std::vector<Tensor>{x, w, b};
    };
    compare(norm, {made({3, 2, 5, 4}), made({4}), made({4})}, {false, true, true});
    compare(norm, {made({3, 2, 5, 4}), made({3, 4}), made({4})}, {false, false, true});
  }

  TEST_CASE("factories beside a batched tensor are one tensor for all samples") {
    CHECK(compare(
              [](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{
                    Op("zeros").call<Tensor>(std::vector<int64_t>{2, 5}, arg("like") = t[0])};
              },
              {made({3, 2})}, {false}) == "rule");
    CHECK(compare(
              [](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{Op("eye").call<Tensor>(int64_t{3}, arg("like") = t[0])};
              },
              {made({3, 2})}, {false}) == "rule");
    // It has memory for each sample.
    const Tensor x = randn({3, 2, 2});
    const Tensor filled = vmap([](const Tensor& row) {
      Tensor sums = Op("eye").call<Tensor>(int64_t{2}, arg("like") = row);
      sums += row;
      return sums;
    })(x);
    CHECK(difference(filled, x + eye(2)) == 0);
  }

  TEST_CASE("an index may be longer than the tensor that it selects from") {
    const Run selected = [](const std::vector<Tensor>& t) {
      return std::vector<Tensor>{index_select(t[0], 0, t[1])};
    };
    CHECK(compare(selected, {made({3, 4}), classes({3, 7}, 4)}, {false, false}) == "rule");
    CHECK(compare(selected, {made({4}), classes({3, 1}, 4)}, {true, false}) == "rule");
  }

  TEST_CASE("a step of an optimizer on lists of parameters is one step of whole batches") {
    const Run steps = [](const std::vector<Tensor>& t) {
      Op("optim.adam_steps_")
          .call<void>(std::vector<Tensor>{t[0], t[1]}, std::vector<Tensor>{t[2], t[3]},
                      std::vector<Tensor>{t[4], t[5]}, std::vector<Tensor>{t[6], t[7]}, int64_t{3},
                      0.1);
      return std::vector<Tensor>{t[0], t[1], t[4], t[7]};
    };
    CHECK(compare(steps,
                  {made({3, 2, 4}), made({3, 5}), made({3, 2, 4}), made({3, 5}), made({3, 2, 4}),
                   made({3, 5}), abs(made({3, 2, 4})), abs(made({3, 5}))},
                  std::vector<bool>(8, false)) == "rule");
  }
}
