// Attention in blocks against the formula with all scores, over shapes of every kind.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <string>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;
using tenon::f32, tenon::f64;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// With all scores, of ops: softmax(query @ key^T * scale + mask) @ value; zeros where no key counts.
Tensor formula(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
               bool is_causal, double scale) {
  Tensor scores = query.matmul(key.transpose(-2, -1)) * scale;
  if (is_causal) {
    const Tensor seen = tenon::ones({query.size(-2), key.size(-2)}, tenon::boolean).tril();
    scores = tenon::where(seen, scores, -kInfinity);
  }
  if (mask.defined() && mask.dtype() == tenon::boolean)
    scores = tenon::where(mask, scores, -kInfinity);
  else if (mask.defined())
    scores = scores + mask;
  if (key.size(-2) == 0) return functional::softmax(scores, -1).matmul(value);
  const Tensor none = scores.detach().amax({-1}, true).eq(-kInfinity);
  return functional::softmax(scores.masked_fill(none, 0), -1).masked_fill(none, 0).matmul(value);
}

struct Case {
  Tensor query, key, value, mask;
  bool is_causal = false;
  double scale = 1;
};

Case random_case(std::mt19937_64& random, bool small) {
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  const auto length = [&] {
    return small           ? 1 + below(9)
           : below(4) == 0 ? below(3)
           : below(3) == 0 ? 1 + below(40)
                           : 100 + below(260);
  };
  std::vector<int64_t> batch;
  for (int64_t d = below(4); d > 0; --d) batch.push_back(1 + below(small ? 5 : 2));
  const int64_t queries = length(), keys = length(),
                depth = below(8) == 0 ? below(3) : 1 + below(70),
                width = below(8) == 0 ? below(3) : 1 + below(70);
  // A tensor of the batch, some of whose dimensions are 1 or left out, in some layout.
  const auto tensor = [&](int64_t rows, int64_t columns) {
    std::vector<int64_t> shape = batch;
    for (int64_t& size : shape)
      if (below(5) == 0) size = 1;
    if (below(5) == 0) shape.erase(shape.begin(), shape.begin() + below(shape.size() + 1));
    const bool turned = below(3) == 0;
    shape.push_back(turned ? columns : rows);
    shape.push_back(turned ? rows : columns);
    const Tensor made = numbers(shape, f64, random());
    if (turned) return made.transpose(-2, -1);
    // Heads beside each other in each row, as modules have them.
    if (below(2) == 0 && shape.size() > 2)
      return made.transpose(-3, -2).contiguous().transpose(-3, -2);
    return made;
  };
  Case c{tensor(queries, depth), tensor(keys, depth), tensor(keys, width), {}};
  c.scale = below(2) == 0 ? 1 : static_cast<double>(below(100)) * 0.04 - 2;
  switch (below(4)) {
    case 0:
      c.is_causal = true;
      break;
    case 1:
      c.mask = tensor(below(3) == 0 ? 1 : queries, keys) > 0;
      break;
    case 2:
      c.mask = tensor(queries, keys).masked_fill(tensor(1, keys) > 0.5, -kInfinity);
      break;
    default:
      break;
  }
  return c;
}

struct Outcome {
  Tensor result, query, key, value, mask;
};
Outcome outcome_of(const Case& c, DType dtype, bool blocks, const Tensor& gradient,
                   bool mask_gradient) {
  const auto leaf = [&](const Tensor& tensor) {
    return tensor.to(dtype).detach().requires_grad_();
  };
  Outcome o{{}, leaf(c.query), leaf(c.key), leaf(c.value), c.mask};
  if (c.mask.defined() && c.mask.dtype() != tenon::boolean)
    o.mask = mask_gradient ? leaf(c.mask) : c.mask.to(dtype);
  o.result = blocks ? functional::scaled_dot_product_attention(o.query, o.key, o.value, o.mask, 0,
                                                               c.is_causal, c.scale)
                    : formula(o.query, o.key, o.value, o.mask, c.is_causal, c.scale);
  if (gradient.defined()) o.result.backward(gradient.to(dtype));
  return o;
}

// Compares gradients, whose terms add up, relative to the largest of them.
void check_near(const Tensor& found, const Tensor& expected, double tolerance) {
  REQUIRE(found.defined() == expected.defined());
  if (!found.defined()) return;
  REQUIRE(found.sizes() == expected.sizes());
  const auto a = found.to_vector<double>(), b = expected.to_vector<double>();
  double largest = 1;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  CHECK(worst <= tolerance * largest);
}

// Bytes that the process has held at most since `reset`; -1 where the system does not say.
class PeakMemory {
 public:
  PeakMemory() { std::ofstream("/proc/self/clear_refs") << 5 << std::flush; }
  int64_t bytes() const {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      int64_t kilobytes = 0;
      if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
    }
    return -1;
  }
};

}  // namespace

TEST_SUITE("nn/flash_attention") {
  TEST_CASE("results and gradients are those of the formula, to the stated bounds") {
    std::mt19937_64 random(17);
    for (int round = 0; round < 160; ++round) {
      CAPTURE(round);
      const Case c = random_case(random, round % 2 == 0);
      const bool mask_gradient = round % 5 == 0;
      const Outcome plain = outcome_of(c, f64, false, {}, false);
      const Tensor gradient = numbers(plain.result.sizes(), f64, random());
      const Outcome expected = outcome_of(c, f64, false, gradient, mask_gradient);
      const Outcome found = outcome_of(c, f64, true, gradient, mask_gradient);
      CHECK(found.result.dtype() == f64);
      check_near(found.result, expected.result, 1e-13);
      check_near(found.query.grad(), expected.query.grad(), 1e-12);
      check_near(found.key.grad(), expected.key.grad(), 1e-12);
      check_near(found.value.grad(), expected.value.grad(), 1e-12);
      if (mask_gradient && expected.mask.defined() && expected.mask.requires_grad())
        check_near(found.mask.grad(), expected.mask.grad(), 1e-12);
      const Outcome single = outcome_of(c, f32, true, gradient, false);
      CHECK(single.result.dtype() == f32);
      check_near(single.result.to(f64), expected.result, 2e-5);
      check_near(single.query.grad().to(f64), expected.query.grad(), 1e-4);
      check_near(single.key.grad().to(f64), expected.key.grad(), 1e-4);
      check_near(single.value.grad().to(f64), expected.value.grad(), 1e-4);
    }
  }

  TEST_CASE("the same bits for any number of threads") {
    std::mt19937_64 random(5);
    for (int round = 0; round < 12; ++round) {
      const Case c = random_case(random, false);
      const Tensor gradient =
          numbers(outcome_of(c, f32, true, {}, false).result.sizes(), f64, random());
      tenon::set_thread_count(1);
      const Outcome one = outcome_of(c, f32, true, gradient, false);
      for (const int32_t threads : {2, 3}) {
        tenon::set_thread_count(threads);
        const Outcome several = outcome_of(c, f32, true, gradient, false);
        CHECK(several.result.to_vector<float>() == one.result.to_vector<float>());
        CHECK(several.query.grad().to_vector<float>() == one.query.grad().to_vector<float>());
        CHECK(several.key.grad().to_vector<float>() == one.key.grad().to_vector<float>());
        CHECK(several.value.grad().to_vector<float>() == one.value.grad().to_vector<float>());
      }
    }
    tenon::set_thread_count(0);
  }

  TEST_CASE("second derivatives and tangents are those of the formula") {
    std::mt19937_64 random(8);
    for (int round = 0; round < 20; ++round) {
      CAPTURE(round);
      const Case c = random_case(random, true);
      const auto second = [&](bool blocks) {
        const Outcome o = outcome_of(c, f64, blocks, {}, false);
        tenon::GradientOptions graph;
        graph.create_graph = true;
        const std::vector<Tensor> inputs{o.query, o.key, o.value};
        const std::vector<Tensor> first = gradients({(o.result * o.result).sum()}, inputs, graph);
        Tensor total;
        for (const Tensor& one : first) {
          const Tensor part = (one * one).sum();
          total = total.defined() ? total + part : part;
        }
        return gradients({total}, inputs);
      };
      const auto found = second(true), expected = second(false);
      for (size_t i = 0; i < 3; ++i) check_near(found[i], expected[i], 1e-10);
    }
  }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  TEST_CASE("memory is linear in the sequence") {
    if (runs_on_device()) {
      MESSAGE("not on a device: ops compute it there, with all scores at once");
      return;
    }
    constexpr int64_t length = 4096, scores = length * length * 4;
    const auto leaf = [](uint64_t seed) {
      return numbers({length, 16}, f32, seed).requires_grad_();
    };
    const Tensor query = leaf(1), key = leaf(2), value = leaf(3);
    for (const bool causal : {false, true}) {
      const PeakMemory peak;
      const int64_t before = peak.bytes();
      functional::scaled_dot_product_attention(query, key, value, {}, 0, causal).sum().backward();
      if (before < 0) return;
      CHECK(peak.bytes() - before < scores / 2);
    }
  }
#endif

  TEST_CASE("what does not fit is refused by name") {
    const auto flash = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
      return refusal_of("flash_attention",
                        [&] { functional::flash_attention(q, k, v, mask, false, 1.0); });
    };
    const Tensor q = numbers({2, 3, 4}), k = numbers({2, 5, 4});
    CHECK(
        flash(q, numbers({5, 4}), k, {}) ==
        "'query', 'key' and 'value' must be [..., L, E], [..., S, E] and [..., S, V] with the same "
        "dimensions in front, got shapes [2, 3, 4], [5, 4] and [2, 5, 4]");
    CHECK(flash(q, k, k, numbers({4, 5})) ==
          "'attn_mask' of shape [4, 5] cannot be broadcast to the scores of 'query' of shape "
          "[2, 3, 4] and 'key' of shape [2, 5, 4]");
    CHECK(refusal_of("scaled_dot_product_attention",
                     [&] {
                       functional::scaled_dot_product_attention(q, numbers({3, 5, 4}), k);
                     }) ==
          "the dimensions in front of shapes [2, 3, 4] and [3, 5, 4] cannot be broadcast "
          "together");
    CHECK_THROWS_AS(functional::flash_attention(q, k, k, tenon::ones({5}, f64), false, 1.0),
                    tenon::TypeError);
  }
}
