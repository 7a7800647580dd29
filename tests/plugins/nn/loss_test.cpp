// The losses: values for every reduction, weights, ignored targets, smoothing; refusals.
#include <algorithm>
#include <limits>

#include "../compare.hpp"
#include "tests/support/logged.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor targets(const std::vector<int64_t>& values) {
  return tenon::from_range(values.begin(), values.end());
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("a loss warns once of an input and a target that are broadcast to more elements") {
    const Tensor column = tenon::ones({2, 1}), row = tenon::ones({2});
    const auto loss = [&] { functional::soft_margin_loss(column, row); };
    const std::string text = tenon_test::logged(loss);
    CHECK(text.find("soft_margin_loss(): 'input' of shape [2, 1] and 'target' of shape [2] are "
                    "broadcast to [2, 2], which is likely to give a wrong loss; reshape one of "
                    "them") != std::string::npos);
    CHECK(tenon_test::logged(loss) == "");
    // Each op warns for itself, and none of equal shapes.
    CHECK(tenon_test::logged([&] { functional::huber_loss(row, row); }) == "");
    CHECK(tenon_test::logged([&] { functional::huber_loss(column, row); }).find("huber_loss()") !=
          std::string::npos);
    CHECK(tenon_test::logged([&] {
            functional::poisson_nll_loss(column, row);
          }).find("poisson_nll_loss()") != std::string::npos);
    CHECK(tenon_test::logged([&] {
            functional::gaussian_nll_loss(column, row, column);
          }).find("gaussian_nll_loss()") != std::string::npos);
  }

  TEST_CASE("mse_loss and l1_loss reduce the differences") {
    const Tensor a = tenon::tensor({1.0, 2.0, 4.0}), b = tenon::tensor({0.0, 4.0, 4.0});
    check_values(functional::mse_loss(a, b), {}, {5.0 / 3});
    check_values(functional::mse_loss(a, b, "sum"), {}, {5});
    check_values(functional::mse_loss(a, b, "none"), {3}, {1, 4, 0});
    check_values(functional::l1_loss(a, b), {}, {1});
    check_values(functional::l1_loss(a, b, "none"), {3}, {1, 2, 0});
    CHECK(refusal([&] { functional::mse_loss(a, b, "avg"); }) ==
          "mse_loss(): 'avg' is not a valid reduction; choose none, mean or sum");
  }

  TEST_CASE("mse_loss and l1_loss broadcast before dtypes are chosen, and name themselves") {
    const Tensor x = tenon::tensor({1.0, 2.0}), zero_dim = tenon::full({}, 0.5, tenon::f64);
    CHECK(functional::mse_loss(x, zero_dim).dtype() == tenon::f64);
    CHECK(functional::l1_loss(x, zero_dim).dtype() == tenon::f64);
    check_values(functional::l1_loss(x, zero_dim), {}, {1});
    CHECK(
        refusal([&] { functional::mse_loss(x, tenon::zeros({3})); }) ==
        "mse_loss(): 'input' of shape [2] and 'target' of shape [3] cannot be broadcast together");
  }

  TEST_CASE("losses of elements agree with their definition, whatever the layout") {
    const auto each = [](const Tensor& a, const Tensor& b,
                         const std::function<double(double, double)>& loss) {
      std::vector<double> result;
      const auto x = a.to_vector<double>(), y = b.to_vector<double>();
      for (size_t i = 0; i < x.size(); ++i) result.push_back(loss(x[i], y[i]));
      return result;
    };
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      const double tolerance = dtype == tenon::f32 ? 1e-5 : 1e-12;
      const Tensor a = (numbers({5, 7}, dtype) * 3).t(), b = numbers({7, 5}, dtype, 2) * 3;
      const Tensor p = numbers({7, 5}, dtype, 3) * 0.5 + 0.5,
                   t = numbers({5, 7}, dtype, 4).t().abs();
      const auto check = [&](const std::function<Tensor(const char*)>& call,
                             const std::vector<double>& losses) {
        double sum = 0;
        for (const double loss : losses) sum += loss;
        check_values(call("none"), {7, 5}, losses, tolerance);
        check_values(call("sum"), {}, {sum}, tolerance);
        check_values(call("mean"), {}, {sum / 35}, tolerance);
      };
      check([&](const char* how) { return functional::huber_loss(a, b, how, 0.7); },
            each(a, b, [](double x, double y) {
              const double d = std::abs(x - y);
              return d < 0.7 ? d * d / 2 : 0.7 * (d - 0.35);
            }));
      check([&](const char* how) { return functional::smooth_l1_loss(a, b, how, 0.7); },
            each(a, b, [](double x, double y) {
              const double d = std::abs(x - y);
              return d < 0.7 ? d * d / 1.4 : d - 0.35;
            }));
      check([&](const char* how) { return functional::smooth_l1_loss(a, b, how, 0); },
            each(a, b, [](double x, double y) { return std::abs(x - y); }));
      check([&](const char* how) { return functional::binary_cross_entropy(p, t, {}, how); },
            each(p, t,
                 [](double x, double y) { return -y * std::log(x) - (1 - y) * std::log(1 - x); }));
      check(
          [&](const char* how) {
            return functional::binary_cross_entropy_with_logits(a, t, {}, how,
                                                                tenon::tensor(2.5, dtype));
          },
          each(a, t, [](double x, double y) {
            const double s = 1 / (1 + std::exp(-x));
            return -2.5 * y * std::log(s) - (1 - y) * std::log(1 - s);
          }));
      check([&](const char* how) { return functional::kl_div(a, t, how); },
            each(a, t, [](double x, double y) { return y * (std::log(y) - x); }));
      check([&](const char* how) { return functional::kl_div(a, b, how, true); },
            each(a, b, [](double x, double y) { return std::exp(y) * (y - x); }));
      check([&](const char* how) { return functional::soft_margin_loss(a, b, how); },
            each(a, b, [](double x, double y) { return std::log1p(std::exp(-x * y)); }));
      const Tensor sign = b.sign();
      check([&](const char* how) { return functional::hinge_embedding_loss(a, sign, 0.5, how); },
            each(a, sign, [](double x, double y) { return y == 1 ? x : std::max(0.0, 0.5 - x); }));
      check([&](const char* how) { return functional::margin_ranking_loss(a, p, sign, 0.25, how); },
            each(a - p, sign, [](double d, double y) { return std::max(0.0, 0.25 - y * d); }));
      check_close(functional::kl_div(a, t, "batchmean"), functional::kl_div(a, t, "sum") / 7,
                  tolerance);
    }
  }

  TEST_CASE("losses of vectors: cosines and triplets") {
    const Tensor a = numbers({4, 3}, tenon::f64), b = numbers({4, 3}, tenon::f64, 2),
                 c = numbers({4, 3}, tenon::f64, 3);
    const Tensor cosine = functional::cosine_similarity(a, b);
    const Tensor sign = tenon::tensor({1, -1, -1, 1});
    check_close(functional::cosine_embedding_loss(a, b, sign, -0.2, "none"),
                tenon::where(sign.eq(1), 1 - cosine, (cosine + 0.2).clamp(0)), 1e-14);
    const auto far = [](const Tensor& x, const Tensor& y) {
      return functional::pairwise_distance(x, y);
    };
    check_close(functional::triplet_margin_loss(a, b, c, 0.5, 2, 1e-6, false, "none"),
                (far(a, b) - far(a, c) + 0.5).clamp(0), 1e-14);
    check_close(functional::triplet_margin_loss(a, b, c, 0.5, 2, 1e-6, true, "none"),
                (far(a, b) - far(a, c).minimum(far(b, c)) + 0.5).clamp(0), 1e-14);
  }

  TEST_CASE("losses at the ends of their range have finite gradients") {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const auto gradient = [](const Tensor& at, const std::function<Tensor(const Tensor&)>& loss) {
      const Tensor x = at.clone().requires_grad_();
      loss(x).sum().backward();
      return x.grad();
    };
    const Tensor ends = tenon::tensor({0.0, 1.0, 0.0, 1.0}, tenon::f64),
                 right = tenon::tensor({0.0, 1.0, 1.0, 0.0}, tenon::f64);
    check_values(functional::binary_cross_entropy(ends, right, {}, "none"), {4}, {0, 0, 100, 100});
    check_values(gradient(ends,
                          [&](const Tensor& x) {
                            return functional::binary_cross_entropy(x, right, {}, "sum");
                          }),
                 {4}, {0, 0, -1e12, 1e12});
    check_values(gradient(tenon::tensor({inf, -inf, 2.0}, tenon::f64),
                          [](const Tensor& x) {
                            return functional::huber_loss(x, tenon::zeros({3}, tenon::f64), "sum",
                                                          0.5);
                          }),
                 {3}, {0.5, -0.5, 0.5});
    check_values(functional::kl_div(tenon::zeros({2}), tenon::zeros({2}), "none"), {2}, {0, 0});
    check_values(gradient(tenon::zeros({2}, tenon::f64),
                          [](const Tensor& t) {
                            return functional::kl_div(tenon::ones({2}, tenon::f64), t, "sum");
                          }),
                 {2}, {-1, -1});
    check_values(functional::binary_cross_entropy_with_logits(
                     tenon::tensor({1000.0, -1000.0}), tenon::tensor({0.0, 1.0}), {}, "none"),
                 {2}, {1000, 1000});
  }

  TEST_CASE("losses of elements and vectors refuse what does not fit") {
    const Tensor x = tenon::full({2, 3}, 0.5), y = tenon::full({3}, 0.5);
    CHECK(refusal_of("huber_loss", [&] { functional::huber_loss(x, x, "mean", 0); }) ==
          "delta must be above 0, got 0");
    CHECK(refusal_of("smooth_l1_loss", [&] { functional::smooth_l1_loss(x, x, "mean", -1); }) ==
          "beta must be 0 or more, got -1");
    CHECK(refusal_of("huber_loss", [&] { functional::huber_loss(x, tenon::ones({2})); }) ==
          "'input' of shape [2, 3] and 'target' of shape [2] cannot be broadcast together");
    CHECK(refusal_of("binary_cross_entropy", [&] { functional::binary_cross_entropy(x, y); }) ==
          "'input' of shape [2, 3] does not fit 'target' of shape [3]");
    CHECK(refusal_of("binary_cross_entropy", [&] { functional::binary_cross_entropy(x * 3, x); }) ==
          "the elements of 'input' must be from 0 to 1, got 1.5 at position 0; "
          "binary_cross_entropy_with_logits() takes any number");
    CHECK(refusal_of("binary_cross_entropy", [&] {
            functional::binary_cross_entropy(x, x, tenon::ones({2}));
          }) == "'weight' of shape [2] cannot be broadcast to the shape of 'input', [2, 3]");
    CHECK(refusal_of("kl_div", [&] { functional::kl_div(x, x, "batch"); }) ==
          "'batch' is not a valid reduction; choose none, batchmean, mean or sum");
    CHECK(refusal_of("triplet_margin_loss", [&] {
            functional::triplet_margin_loss(x, x, x, 1, -2);
          }) == "p must be 0 or more, got -2");
    CHECK_THROWS_AS(functional::cosine_embedding_loss(x, x, tenon::ones({3})), tenon::ValueError);
    CHECK_THROWS_AS(functional::huber_loss(x.to(tenon::i64), x), tenon::TypeError);
    CHECK_THROWS_AS(functional::margin_ranking_loss(x, tenon::ones({2}), x), tenon::ValueError);
  }

  TEST_CASE("label_smoothing is checked for probabilities, too") {
    const Tensor x = numbers({2, 3}), p = tenon::full({2, 3}, 0.25);
    CHECK(refusal([&] {
            functional::cross_entropy(x, p, {}, -100, "mean", 1.5);
          }).find("label_smoothing must be between 0 and 1, got 1.5") != std::string::npos);
  }

  TEST_CASE("scores without classes have a loss of probabilities") {
    const Tensor none = tenon::zeros({2, 0});
    check_values(functional::cross_entropy(none, none), {}, {0});
    CHECK_THROWS_AS(functional::cross_entropy(none, none, tenon::zeros({2, 0})), tenon::ValueError);
  }

  TEST_CASE("nll_loss picks the score of the target class") {
    const Tensor scores = tenon::tensor({{-1.0, -2.0, -3.0}, {-4.0, -5.0, -6.0}});
    const Tensor weight = tenon::tensor({1.0, 2.0, 4.0});
    check_values(functional::nll_loss(scores, targets({0, 2})), {}, {3.5});
    check_values(functional::nll_loss(scores, targets({0, 2}), {}, -100, "none"), {2}, {1, 6});
    check_values(functional::nll_loss(scores, targets({0, 2}), weight, -100, "sum"), {}, {25});
    check_values(functional::nll_loss(scores, targets({0, 2}), weight), {}, {5});
    check_values(functional::nll_loss(scores, targets({0, 2}), weight, 2), {}, {1});
    check_values(functional::nll_loss(scores, targets({-100, -100})), {}, {kNan});
    check_values(functional::nll_loss(scores.select(0, 1), tenon::full({}, 1)), {}, {5});
    const Tensor image =
        scores.t().clone().unsqueeze(0);  // one image of two pixels with three classes
    check_values(functional::nll_loss(image, targets({0, 2}).unsqueeze(0), {}, -100, "none"),
                 {1, 2}, {1, 6});
  }

  TEST_CASE("cross_entropy is nll_loss of log_softmax, in values and in gradients") {
    const Tensor weight = numbers({10}).abs() + 0.1;
    for (const bool pixels : {false, true}) {
      for (const bool weighted : {false, true}) {
        for (const char* reduction : {"none", "mean", "sum"}) {
          const Tensor x =
              (numbers(pixels ? std::vector<int64_t>{7, 10, 5} : std::vector<int64_t>{35, 10}) * 8);
          std::vector<int64_t> labels;
          for (int64_t i = 0; i < 35; ++i) labels.push_back(i % 6 == 5 ? 3 : (i * 7) % 10);
          Tensor target = targets(labels);
          if (pixels) target = target.reshape({7, 5});
          const Tensor a = x.clone().requires_grad_(), b = x.clone().requires_grad_();
          const Tensor w = weighted ? weight : Tensor();
          const Tensor found = functional::cross_entropy(a, target, w, 3, reduction);
          const Tensor expected =
              functional::nll_loss(functional::log_softmax(b, 1), target, w, 3, reduction);
          check_close(found, expected);
          found.sum().backward();
          expected.sum().backward();
          check_close(a.grad(), b.grad());
        }
      }
    }
  }

  TEST_CASE("cross_entropy of long rows and of many rows") {
    for (const auto& [rows, classes] :
         std::vector<std::pair<int64_t, int64_t>>{{3, 5000}, {700, 11}, {1, 1}}) {
      const Tensor x = (numbers({rows, classes}) * 5), a = x.clone().requires_grad_(),
                   b = x.clone().requires_grad_();
      std::vector<int64_t> labels;
      for (int64_t i = 0; i < rows; ++i) labels.push_back((i * 13) % classes);
      functional::cross_entropy(a, targets(labels)).backward();
      functional::nll_loss(functional::log_softmax(b, 1), targets(labels)).backward();
      check_close(a.grad(), b.grad());
    }
  }

  TEST_CASE("cross_entropy smooths labels") {
    const Tensor x = numbers({4, 3}) * 3, weight = tenon::tensor({0.5, 1.0, 2.0});
    const Tensor target = targets({0, 2, 1, 2});
    const Tensor logs = functional::log_softmax(x, 1);
    const Tensor sharp = functional::nll_loss(logs, target, weight, -100, "none");
    const Tensor smooth = -(logs * weight).sum({1});
    check_close(functional::cross_entropy(x, target, weight, -100, "none", 0.3),
                sharp * 0.7 + smooth * 0.1);
    const Tensor total = weight.index_select(0, target).sum();
    check_close(functional::cross_entropy(x, target, weight, -100, "mean", 0.3),
                (sharp * 0.7 + smooth * 0.1).sum() / total);
    check_values(
        functional::cross_entropy(tenon::zeros({2, 4}), targets({1, 3}), {}, -100, "mean", 1), {},
        {std::log(4.0)});
  }

  TEST_CASE("cross_entropy takes probabilities") {
    const Tensor x = numbers({4, 3}) * 3,
                 q = functional::softmax(numbers({4, 3}, tenon::f32, 2), 1);
    const Tensor each = -(functional::log_softmax(x, 1) * q).sum({1});
    check_close(functional::cross_entropy(x, q, {}, -100, "none"), each);
    check_close(functional::cross_entropy(x, q), each.mean());
    check_close(
        functional::cross_entropy(x, tenon::one_hot(targets({0, 2, 1, 2}), 3).to(tenon::f32)),
        functional::cross_entropy(x, targets({0, 2, 1, 2})));
  }

  TEST_CASE("cross_entropy of ignored targets alone is NaN, and large scores are fine") {
    check_values(functional::cross_entropy(tenon::zeros({2, 3}), targets({-100, -100})), {},
                 {kNan});
    check_values(functional::cross_entropy(tenon::tensor({{1e30, 0.0}}), targets({0})), {}, {0});
    const Tensor x = tenon::zeros({2, 3}).requires_grad_();
    functional::cross_entropy(x, targets({-100, 1}), {}, -100, "sum").backward();
    check_values(x.grad(), {2, 3}, {0, 0, 0, 1.0 / 3, -2.0 / 3, 1.0 / 3});
  }

  TEST_CASE("class weights are constants") {
    Tensor x = numbers({2, 3}).requires_grad_(), weight = tenon::ones({3}).requires_grad_();
    CHECK(refusal([&] {
            functional::cross_entropy(x, targets({0, 1}), weight).backward();
          }).find("cross_entropy(): 'weight' requires grad, expected a constant; detach it") !=
          std::string::npos);
    CHECK_THROWS_AS(functional::nll_loss(x, targets({0, 1}), weight).backward(),
                    tenon::NotImplementedError);
  }

  TEST_CASE("losses over classes refuse what does not fit") {
    const Tensor x = tenon::zeros({2, 3});
    CHECK(refusal([&] {
            functional::cross_entropy(x, targets({0, 3}));
          }) == "cross_entropy(): target 3 at position 1 is out of range for 3 classes");
    CHECK(refusal([&] {
            functional::nll_loss(x, targets({-1, 0}));
          }) == "nll_loss(): target -1 at position 0 is out of range for 3 classes");
    CHECK(refusal([&] { functional::cross_entropy(x, targets({0})); }) ==
          "cross_entropy(): 'target' of shape [1] does not fit 'input' of shape [2, 3]; "
          "expected [2]");
    CHECK(refusal([&] { functional::cross_entropy(x, tenon::zeros({2})); }) ==
          "cross_entropy(): class-index targets must be integers, got f32 of shape [2]; convert "
          "them with to(i64)");
    CHECK(
        refusal([&] {
          functional::cross_entropy(x, targets({0, 1}), tenon::ones({2}));
        }) ==
        "cross_entropy(): 'weight' must have one element for each of the 3 classes, got shape [2]");
    CHECK_THROWS_AS(functional::cross_entropy(x, targets({0, 1}), {}, -100, "mean", 1.5),
                    tenon::ValueError);
    CHECK_THROWS_AS(functional::cross_entropy(x, targets({0, 1}), {}, -100, "best"),
                    tenon::ValueError);
    CHECK_THROWS_AS(functional::cross_entropy(x.to(tenon::i64), targets({0, 1})), tenon::TypeError);
    CHECK_THROWS_AS(functional::nll_loss(tenon::zeros({}), targets({0})), tenon::ValueError);
  }
}
