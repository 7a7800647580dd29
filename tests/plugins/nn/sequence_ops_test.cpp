// Ops of sequences against plain loops: attention, rotary_embedding, ctc_loss, embedding_bag; bilinear,
// gumbel_softmax, and losses of distributions.
#include <algorithm>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

using Shape = std::vector<int64_t>;

// Whether a query of attention may see a key.
bool sees(bool causal, int64_t past, int64_t query, int64_t key) {
  return !causal || key <= query + past;
}

// The weighted mean of values for one query, zeros where it sees no key.
std::vector<double> attended(const std::vector<double>& q,
                             const std::vector<std::vector<double>>& keys,
                             const std::vector<std::vector<double>>& values,
                             const std::vector<double>& mask, double scale, double softcap) {
  std::vector<double> result(values[0].size());
  double total = 0;
  for (size_t s = 0; s < keys.size(); ++s) {
    double score = 0;
    for (size_t e = 0; e < q.size(); ++e) score += q[e] * keys[s][e];
    score *= scale;
    if (softcap > 0) score = softcap * std::tanh(score / softcap);
    const double weight = std::exp(score + mask[s]);
    total += weight;
    for (size_t v = 0; v < result.size(); ++v) result[v] += weight * values[s][v];
  }
  for (double& x : result) x = total == 0 ? 0 : x / total;
  return result;
}

std::vector<double> row(const std::vector<double>& all, int64_t at, int64_t size) {
  return {all.begin() + at * size, all.begin() + (at + 1) * size};
}

// The labels that a path spells: without repeats and blanks.
Shape spelled(const Shape& path, int64_t blank) {
  Shape labels;
  for (size_t t = 0; t < path.size(); ++t) {
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  }
  return labels;
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("attention weighs values as a loop over queries and keys does") {
    for (uint64_t round = 0; round < 48; ++round) {
      const bool causal = round % 2 == 0, flat = round % 3 == 0, masked = round % 4 < 2;
      const int64_t heads = 4, kv_heads = round % 5 == 0 ? 4 : 2,
                    past = static_cast<int64_t>(round % 3), steps = 3, now = 2, features = 2,
                    width = 3, keys = past + now;
      const double softcap = round % 7 == 0 ? 1.5 : 0;
      const Tensor q = numbers({1, heads, steps, features}, tenon::f64, round),
                   k = numbers({1, kv_heads, now, features}, tenon::f64, round + 1),
                   v = numbers({1, kv_heads, now, width}, tenon::f64, round + 2),
                   past_k = numbers({1, kv_heads, past, features}, tenon::f64, round + 3),
                   past_v = numbers({1, kv_heads, past, width}, tenon::f64, round + 4);
      const Tensor all_k = tenon::cat({past_k, k}, 2), all_v = tenon::cat({past_v, v}, 2);
      Tensor mask;
      if (masked) {
        mask = numbers({steps, keys}, tenon::f64, round + 5);
        // A query without any key has zeros.
        if (round % 8 == 0) mask = mask.index_fill(0, tenon::tensor({1}, tenon::i64), -HUGE_VAL);
      }
      const auto qs = q.to_vector<double>(), ks = all_k.to_vector<double>(),
                 vs = all_v.to_vector<double>();
      const auto added = masked ? mask.to_vector<double>() : std::vector<double>();
      std::vector<double> expected;
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t own = h / (heads / kv_heads);
        for (int64_t i = 0; i < steps; ++i) {
          std::vector<std::vector<double>> seen_keys, seen_values;
          std::vector<double> weights;
          for (int64_t s = 0; s < keys; ++s) {
            seen_keys.push_back(row(ks, own * keys + s, features));
            seen_values.push_back(row(vs, own * keys + s, width));
            const double one = masked ? added[static_cast<size_t>(i * keys + s)] : 0;
            weights.push_back(sees(causal, past, i, s) ? one : -HUGE_VAL);
          }
          for (const double x : attended(row(qs, h * steps + i, features), seen_keys, seen_values,
                                         weights, 1 / std::sqrt(2.0), softcap))
            expected.push_back(x);
        }
      }
      const auto in = [&](const Tensor& x) { return flat ? x.transpose(1, 2).flatten(2) : x; };
      const auto [output, present_k, present_v, scores] =
          functional::attention(in(q), in(k), in(v), mask, past_k, past_v, Tensor(), causal,
                                tenon::none, softcap, heads, kv_heads);
      CAPTURE(round);
      const Tensor found = flat ? output.reshape({1, steps, heads, width}).transpose(1, 2) : output;
      check_values(found, {1, heads, steps, width}, expected, 1e-12);
      check_close(present_k, all_k, 0);
      check_close(present_v, all_v, 0);
      CHECK(!scores.defined());
    }
  }

  TEST_CASE("attention returns scores of each stage, and counts the keys of each sequence") {
    const Tensor q = numbers({2, 1, 2, 3}, tenon::f64, 1), k = numbers({2, 1, 3, 3}, tenon::f64, 2);
    const Tensor lengths = tenon::tensor({3, 1}, tenon::i64);
    const auto scores = [&](const char* stage) {
      return std::get<3>(functional::attention(q, k, k, Tensor(), Tensor(), Tensor(), lengths,
                                               false, 0.5, 2, 0, 0, stage));
    };
    const Tensor product = scores("product"), capped = scores("capped"),
                 weights = scores("weights");
    check_close(product, q.matmul(k.transpose(-2, -1)) * 0.5, 1e-12);
    check_close(capped, (product / 2).tanh() * 2, 1e-12);
    check_close(weights.sum(-1), tenon::ones({2, 1, 2}, tenon::f64), 1e-12);
    check_values(weights.select(0, 1), {1, 2, 3}, {1, 0, 0, 1, 0, 0});
    CHECK(scores("masked").select(0, 1).select(-1, 2).to_vector<double>()[0] == -HUGE_VAL);
    // A mask shorter than the keys hides those behind it.
    const Tensor two = tenon::ones({2, 2}, tenon::boolean);
    check_close(std::get<0>(functional::attention(q, k, k, two)),
                std::get<0>(functional::attention(q, k.narrow(2, 0, 2), k.narrow(2, 0, 2))), 1e-12);
    CHECK(refusal_of("attention", [&] { functional::attention(q, k, k, Tensor(), k); }) ==
          "'past_key' and 'past_value' must be given together");
    CHECK_THROWS_AS(functional::attention(tenon::ones({1, 3, 2, 2}), tenon::ones({1, 2, 2, 2}),
                                          tenon::ones({1, 2, 2, 2})),
                    tenon::ValueError);
  }

  TEST_CASE("queries that are causal in a cache of key_lengths keys are of the last of them") {
    const Tensor k = tenon::zeros({2, 1, 5, 2}, tenon::f64);
    const Tensor v = tenon::arange(5).to(tenon::f64).reshape({1, 1, 5, 1}).expand({2, 1, 5, 1});
    const Tensor lengths = tenon::tensor({4, 3}, tenon::i64);
    const Tensor output = std::get<0>(functional::attention(k.narrow(2, 0, 2), k, v, Tensor(),
                                                            Tensor(), Tensor(), lengths, true));
    // Means of the first 3 and 4 numbers, and of the first 2 and 3.
    check_values(output, {2, 1, 2, 1}, {1, 1.5, 0.5, 1}, 1e-12);
  }

  TEST_CASE("rotary_embedding turns each pair by its angle") {
    for (const bool interleaved : {false, true}) {
      const Tensor x = numbers({2, 3, 4, 6}, tenon::f64),
                   angles = numbers({5, 2}, tenon::f64, 9) * 3;
      const Tensor places = tenon::tensor({0, 4, 2, 1, 3, 3, 0, 1}, tenon::i64).reshape({2, 4});
      const auto xs = x.to_vector<double>(), turns = angles.to_vector<double>();
      const auto at = places.to_vector<int64_t>();
      std::vector<double> expected = xs;
      for (size_t i = 0; i < xs.size(); i += 6) {
        const size_t step = i / 6 % 4, batch = i / 72;
        for (size_t pair = 0; pair < 2; ++pair) {
          const double angle = turns[static_cast<size_t>(at[batch * 4 + step]) * 2 + pair];
          const size_t a = i + (interleaved ? 2 * pair : pair), b = a + (interleaved ? 1 : 2);
          expected[a] = xs[a] * std::cos(angle) - xs[b] * std::sin(angle);
          expected[b] = xs[a] * std::sin(angle) + xs[b] * std::cos(angle);
        }
      }
      const Tensor found =
          functional::rotary_embedding(x, angles.cos(), angles.sin(), places, interleaved, 0, 4);
      check_values(found, {2, 3, 4, 6}, expected, 1e-12);
      const Tensor flat = functional::rotary_embedding(x.transpose(1, 2).flatten(2), angles.cos(),
                                                       angles.sin(), places, interleaved, 3, 4);
      check_close(flat, found.transpose(1, 2).flatten(2), 0);
    }
    CHECK(refusal_of("rotary_embedding", [] {
            functional::rotary_embedding(tenon::ones({1, 1, 1, 3}), tenon::ones({1, 1, 1}),
                                         tenon::ones({1, 1, 1}));
          }) == "rotary_dim must be even and at most the 3 features of a head, got 3");
  }

  TEST_CASE("ctc_loss is the probability of all paths that spell the target") {
    for (uint64_t round = 0; round < 24; ++round) {
      const int64_t steps = 4, classes = 3, blank = static_cast<int64_t>(round % 3);
      const Tensor logs =
          functional::log_softmax(numbers({steps, 2, classes}, tenon::f64, round), -1);
      const Shape in{4, static_cast<int64_t>(round % 5)},
          lengths{2, static_cast<int64_t>(round % 3)};
      Shape targets;
      for (int64_t i = 0; i < lengths[0] + lengths[1]; ++i)
        targets.push_back(
            (blank + 1 + static_cast<int64_t>((round + static_cast<uint64_t>(i)) / 2 % 2)) % 3);
      const auto values = logs.to_vector<double>();
      std::vector<double> expected;
      for (int64_t n = 0; n < 2; ++n) {
        const auto from = targets.begin() + (n == 0 ? 0 : lengths[0]);
        const Shape target(from, from + lengths[static_cast<size_t>(n)]);
        const int64_t length = in[static_cast<size_t>(n)];
        double sum = 0;
        for (int64_t code = 0; code < std::lround(std::pow(3, length)); ++code) {
          Shape path;
          double log = 0;
          for (int64_t t = 0, rest = code; t < length; ++t, rest /= 3) {
            path.push_back(rest % 3);
            log += values[static_cast<size_t>((t * 2 + n) * classes + rest % 3)];
          }
          if (spelled(path, blank) == target) sum += std::exp(log);
        }
        expected.push_back(-std::log(sum));
      }
      const Tensor joined = tenon::from_range(targets.begin(), targets.end()),
                   in_lengths = tenon::from_range(in.begin(), in.end()),
                   out_lengths = tenon::from_range(lengths.begin(), lengths.end());
      CAPTURE(round);
      check_values(functional::ctc_loss(logs, joined, in_lengths, out_lengths, blank, "none"), {2},
                   expected, 1e-11);
      for (double& loss : expected) loss = std::isinf(loss) ? 0 : loss;
      check_values(functional::ctc_loss(logs, joined, in_lengths, out_lengths, blank, "none", true),
                   {2}, expected, 1e-11);
    }
    CHECK(refusal_of("ctc_loss", [] {
            functional::ctc_loss(tenon::zeros({2, 1, 3}), tenon::tensor({0}, tenon::i64),
                                 tenon::tensor({2}, tenon::i64), tenon::tensor({1}, tenon::i64));
          }) == "'targets' has 0, expected classes from 0 to 2 but the blank, 0");
  }

  TEST_CASE("embedding_bag reduces the rows of each bag") {
    const Tensor table = numbers({5, 2}, tenon::f64);
    const Tensor index = tenon::tensor({4, 0, 1, 1, 3}, tenon::i64),
                 offsets = tenon::tensor({0, 2, 2}, tenon::i64);
    const Tensor rows = functional::embedding(index, table);
    const auto bag = [&](int64_t from, int64_t count) { return rows.narrow(0, from, count); };
    const Tensor nothing = tenon::zeros({2}, tenon::f64);
    const auto call = [&](const char* mode) {
      return functional::embedding_bag(index, table, offsets, mode);
    };
    check_close(call("sum"), tenon::stack({bag(0, 2).sum(0), nothing, bag(2, 3).sum(0)}), 1e-12);
    check_close(call("mean"), tenon::stack({bag(0, 2).mean(0), nothing, bag(2, 3).mean(0)}), 1e-12);
    check_close(call("max"), tenon::stack({bag(0, 2).amax(0), nothing, bag(2, 3).amax(0)}), 1e-12);
    const Tensor weights = numbers({5}, tenon::f64, 4);
    check_close(functional::embedding_bag(index, table, offsets, "sum", weights).select(0, 2),
                (bag(2, 3) * weights.narrow(0, 2, 3).unsqueeze(1)).sum(0), 1e-12);
    // Index 1 does not count.
    check_close(
        functional::embedding_bag(index, table, offsets, "mean", Tensor(), false, 1).select(0, 2),
        table.select(0, 3), 1e-12);
    check_close(functional::embedding_bag(index.narrow(0, 0, 4).reshape({2, 2}), table),
                tenon::stack({bag(0, 2).mean(0), bag(2, 2).mean(0)}), 1e-12);
    CHECK(refusal_of("embedding_bag", [&] {
            functional::embedding_bag(index, table, tenon::tensor({0, 3, 2}, tenon::i64));
          }) == "'offsets' must ascend up to the 5 indices, got 3 before 2");
  }

  TEST_CASE("bilinear sums over pairs of features") {
    const Tensor a = numbers({2, 3}, tenon::f64, 1), b = numbers({2, 4}, tenon::f64, 2),
                 weight = numbers({5, 3, 4}, tenon::f64, 3), bias = numbers({5}, tenon::f64, 4);
    check_close(functional::bilinear(a, b, weight, bias),
                tenon::einsum("ni,oij,nj->no", std::vector<Tensor>{a, weight, b}) + bias, 1e-12);
    CHECK_THROWS_AS(functional::bilinear(a, b, weight.transpose(1, 2)), tenon::ValueError);
  }

  TEST_CASE("gumbel_softmax draws each class as often as its probability") {
    tenon::seed_generator(5);
    const Tensor probabilities = tenon::tensor({0.6, 0.3, 0.1}, tenon::f64);
    const Tensor draws =
        functional::gumbel_softmax(probabilities.log().expand({20000, 3}), 1, true);
    check_close(draws.sum(-1), tenon::ones({20000}, tenon::f64), 1e-12);
    check_close(draws.mean(0), probabilities, 0.02);
  }

  TEST_CASE("gaussian and Poisson losses are logarithms of probabilities") {
    const Tensor mean = numbers({2, 3}, tenon::f64, 1), x = numbers({2, 3}, tenon::f64, 2),
                 var = numbers({2, 3}, tenon::f64, 3).square() + 0.1;
    const Tensor density =
        (-(x - mean).square() / (var * 2)).exp() / (var * 6.283185307179586).pow(0.5);
    check_close(functional::gaussian_nll_loss(mean, x, var, true, 1e-6, "none"), -density.log(),
                1e-12);
    check_close(functional::gaussian_nll_loss(mean, x, var * 0, false, 0.5),
                ((x - mean).square() * 2 + std::log(0.5)).mean() * 0.5, 1e-12);
    CHECK(refusal_of("gaussian_nll_loss", [&] { functional::gaussian_nll_loss(mean, x, -var); }) ==
          "'var' has a negative element");
    const Tensor rate = var, count = tenon::full({2, 3}, 9.0, tenon::f64);
    const Tensor probability = rate - count * rate.log() + std::lgamma(10.0);
    check_close(functional::poisson_nll_loss(rate.log(), count, true, true, 0, "none"), probability,
                1e-2);
    check_close(functional::poisson_nll_loss(rate, count, false, true, 0, "none"),
                functional::poisson_nll_loss(rate.log(), count, true, true, 0, "none"), 1e-12);
    check_close(functional::poisson_nll_loss(rate, count * 0 + 0.5, false, true, 0),
                functional::poisson_nll_loss(rate, count * 0 + 0.5, false, false, 0), 0);
  }

  TEST_CASE("gaussian_nll_loss of an infinite variance is infinite, without a gradient") {
    Tensor mean = tenon::ones({1}), var = tenon::full({1}, HUGE_VAL);
    mean.requires_grad_();
    var.requires_grad_();
    const Tensor loss = functional::gaussian_nll_loss(mean, mean.detach() + 3, var);
    check_values(loss, {}, {HUGE_VAL});
    loss.backward();
    check_values(mean.grad(), {1}, {0});
    check_values(var.grad(), {1}, {0});
  }

  TEST_CASE("poisson_nll_loss of no events at a rate of 0 is 0") {
    Tensor rate = tenon::full({1}, -HUGE_VAL);
    rate.requires_grad_();
    const Tensor loss = functional::poisson_nll_loss(rate, tenon::zeros({1}));
    check_values(loss, {}, {0});
    loss.backward();
    check_values(rate.grad(), {1}, {0});
    check_values(functional::poisson_nll_loss(rate, tenon::ones({1})), {}, {HUGE_VAL});
    check_values(functional::poisson_nll_loss(rate.exp(), tenon::zeros({1}), false, false, 0), {},
                 {0});
  }

  TEST_CASE("mean_variance_norm of a constant is 0") {
    const Tensor x = numbers({2, 3, 4}, tenon::f64);
    const Tensor found = functional::mean_variance_norm(x, Shape{0, 2});
    const Tensor variance = x.var(Shape{0, 2}, true, 0);
    check_close(found, (x - x.mean(Shape{0, 2}, true)) / (variance.pow(0.5) + 1e-9), 1e-12);
    check_values(functional::mean_variance_norm(tenon::full({3}, 5.0), Shape{0}), {3}, {0, 0, 0});
  }
}
