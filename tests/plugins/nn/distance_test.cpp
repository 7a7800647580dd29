// Distances and norms of vectors against sums written out here; extremes; refusals.
#include <algorithm>
#include <limits>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

double norm(const std::vector<double>& v, double p) {
  double sum = 0;
  for (const double x : v) {
    const double size = std::abs(x);
    sum = p == 0          ? sum + (x != 0 ? 1 : 0)
          : std::isinf(p) ? std::max(sum, size)
                          : sum + std::pow(size, p);
  }
  return p == 0 || std::isinf(p) ? sum : std::pow(sum, 1 / p);
}
std::vector<double> row(const Tensor& x, int64_t i) { return x.select(0, i).to_vector<double>(); }
std::vector<double> minus(std::vector<double> a, const std::vector<double>& b, double eps = 0) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] - b[i] + eps;
  return a;
}

constexpr double kOrders[] = {0, 0.5, 1, 2, 3, inf};

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("normalize, pairwise_distance and cdist agree with their definition") {
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      const double tolerance = dtype == tenon::f32 ? 1e-5 : 1e-13;
      const Tensor a = numbers({4, 5}, dtype), b = numbers({3, 5}, dtype, 2);
      for (const double p : kOrders) {
        CAPTURE(p);
        std::vector<double> lengths, pairs, all;
        for (int64_t i = 0; i < 4; ++i) {
          const double length = norm(row(a, i), p);
          for (const double x : row(a, i)) lengths.push_back(x / length);
          pairs.push_back(norm(minus(row(a, i), row(b, 0), 1e-6), p));
          for (int64_t k = 0; k < 3; ++k) all.push_back(norm(minus(row(a, i), row(b, k)), p));
        }
        check_values(functional::normalize(a, p), {4, 5}, lengths, tolerance);
        check_close(functional::normalize(a.t(), p, -2), functional::normalize(a, p).t(),
                    tolerance);
        check_values(functional::pairwise_distance(a, b.select(0, 0), p), {4}, pairs, tolerance);
        CHECK(functional::pairwise_distance(a, a, p, 1e-6, true).sizes() ==
              std::vector<int64_t>{4, 1});
        check_values(tenon::cdist(a, b, p), {4, 3}, all, tolerance);
      }
    }
  }

  TEST_CASE("cdist broadcasts batches, and takes what is empty") {
    const Tensor a = numbers({2, 1, 4, 3}), b = numbers({5, 2, 3}, tenon::f32, 2);
    const Tensor all = tenon::cdist(a, b);
    CHECK(all.sizes() == std::vector<int64_t>{2, 5, 4, 2});
    check_close(all.select(0, 1).select(0, 3),
                tenon::cdist(a.select(0, 1).select(0, 0), b.select(0, 3)));
    CHECK(tenon::cdist(tenon::ones({0, 3}), b.select(0, 0)).sizes() == std::vector<int64_t>{0, 2});
    check_values(tenon::cdist(tenon::ones({2, 0}), tenon::ones({1, 0})), {2, 1}, {0, 0});
  }

  TEST_CASE("lengths neither overflow nor underflow, and a vector of zeros has no gradient") {
    for (const double size : {1e-30, 1e30}) {
      const Tensor x = tenon::tensor({{3.0, 4.0}}, tenon::f32) * size;
      check_values(functional::normalize(x, 2, 1, 0), {1, 2}, {0.6, 0.8}, 1e-6);
      check_values(functional::cosine_similarity(x, x, 1, 0), {1}, {1}, 1e-6);
      check_values(tenon::cdist(x, x * 0), {1, 1}, {5 * size}, 1e-6);
    }
    for (const double p : kOrders) {
      const Tensor a = tenon::ones({2, 3}, tenon::f64).requires_grad_();
      tenon::cdist(a, a.detach(), p).sum().backward();
      check_values(a.grad(), {2, 3}, std::vector<double>(6, 0));
    }
    const Tensor zero = tenon::zeros({2, 3}, tenon::f64).requires_grad_();
    functional::cosine_similarity(zero, tenon::ones({3}, tenon::f64)).sum().backward();
    CHECK(std::isfinite(zero.grad().sum().item<double>()));
  }

  TEST_CASE("cosine_similarity is the product over the lengths, each at least eps") {
    const Tensor a = numbers({4, 3, 2}, tenon::f64), b = numbers({3, 2}, tenon::f64, 2);
    for (const int64_t dim : {0, 1, -1}) {
      const Tensor whole = b.expand({4, 3, 2});
      const auto length = [&](const Tensor& x) { return (x * x).sum(dim).sqrt(); };
      check_close(functional::cosine_similarity(a, b, dim),
                  (a * whole).sum(dim) / length(a) / length(whole), 1e-14);
    }
    check_values(functional::cosine_similarity(tenon::tensor({{3.0, 4.0}}),
                                               tenon::tensor({{3.0, 4.0}}), 1, 10),
                 {1}, {0.25});
    CHECK_THROWS_AS(functional::cosine_similarity(a, tenon::ones({5}, tenon::f64)),
                    tenon::ValueError);
    CHECK_THROWS_AS(functional::cosine_similarity(a, b, 3), tenon::IndexError);
  }

  TEST_CASE("distances refuse what has none") {
    const Tensor x = tenon::ones({2, 3});
    CHECK(refusal_of("cdist",
                     [&] {
                       tenon::cdist(x, tenon::ones({2, 4}));
                     }) ==
          "'x1' and 'x2' must be matrices, or batches of them, with rows of one length, got shapes "
          "[2, 3] and [2, 4]");
    CHECK(refusal_of("cdist", [&] { tenon::cdist(x, x, -1); }) == "p must be 0 or more, got -1");
    CHECK(refusal_of("normalize", [&] { functional::normalize(x, 2, 1, -1); }) ==
          "eps must be 0 or more, got -1");
    CHECK_THROWS_AS(functional::normalize(x.to(tenon::i64)), tenon::TypeError);
    CHECK_THROWS_AS(functional::pairwise_distance(x, tenon::ones({2})), tenon::ValueError);
  }
}
