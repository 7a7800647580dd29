// Small products, of random sizes in random layouts, against sums in f64.
#include <limits>
#include <random>

#include "../compare.hpp"

using namespace compare;
using tenon::f32, tenon::f64;

namespace {

using Random = std::mt19937_64;
int64_t below(Random& random, uint64_t n) { return static_cast<int64_t>(random() % n); }

Tensor matrix_of(DType dtype, int64_t rows, int64_t columns, uint64_t seed) {
  return numbers({rows, columns}, dtype, seed);
}
// The numbers in a random memory layout, between NaN.
Tensor laid_out(Random& random, const Tensor& matrix) {
  const int64_t rows = matrix.size(0), columns = matrix.size(1);
  const int64_t above = below(random, 3), left = below(random, 3), step = 1 + below(random, 2);
  const bool turned = below(random, 2) == 0, whole = below(random, 3) == 0;
  if (whole) return turned ? matrix.t().clone().t() : matrix.clone();
  std::vector<int64_t> around = {above + rows + below(random, 3),
                                 (left + columns + below(random, 3)) * step};
  if (turned) around = {around[1], around[0]};
  Tensor memory = tenon::full(around, std::numeric_limits<double>::quiet_NaN()).to(matrix.dtype());
  if (turned) memory = memory.t();
  const Tensor part = memory.narrow(0, above, rows)
                          .slice(1, tenon::none, tenon::none, step)
                          .narrow(1, left, columns);
  part.copy_(matrix);
  return part;
}

// alpha a b + beta c, and how large its terms are.
struct Reference {
  std::vector<double> values, sizes;
};
Reference reference_of(const Tensor& a, const Tensor& b, const Tensor& c, double alpha,
                       double beta) {
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  const auto x = a.to_vector<double>(), y = b.to_vector<double>(), z = c.to_vector<double>();
  Reference reference;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double term =
            x[static_cast<size_t>(i * k + l)] * y[static_cast<size_t>(l * n + j)] * alpha;
        sum += term;
        size += std::abs(term);
      }
      const double added = beta == 0 ? 0 : beta * z[static_cast<size_t>(i * n + j)];
      reference.values.push_back(sum + added);
      reference.sizes.push_back(size + std::abs(added));
    }
  }
  return reference;
}
void check_near(const Tensor& found, const Reference& reference, int64_t depth) {
  const double unit = found.dtype() == f32 ? 0x1p-24 : 0x1p-53;
  const auto values = found.to_vector<double>();
  REQUIRE(values.size() == reference.values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    // Written so that NaN fails.
    CHECK(std::abs(values[i] - reference.values[i]) <=
          static_cast<double>(depth + 3) * unit * reference.sizes[i]);
  }
}

}  // namespace

TEST_SUITE("blas") {
  TEST_CASE("small products of any size and layout are sums in f64 but for rounding") {
    Random random(1);
    for (int round = 0; round < 1500; ++round) {
      const DType dtype = below(random, 2) == 0 ? f32 : f64;
      const auto size = [&] {
        return below(random, 8) == 0 ? 33 + below(random, 40) : 1 + below(random, 34);
      };
      const int64_t m = size(), k = size(), n = size();
      CAPTURE(round);
      CAPTURE(m);
      CAPTURE(k);
      CAPTURE(n);
      const Tensor a = laid_out(random, matrix_of(dtype, m, k, random())),
                   b = laid_out(random, matrix_of(dtype, k, n, random()));
      const Tensor c = matrix_of(dtype, m, n, random());
      check_near(a.mm(b), reference_of(a, b, c, 1, 0), k);

      const Tensor out = laid_out(random, c);
      a.mm(b, out);
      check_near(out, reference_of(a, b, c, 1, 0), k);

      const double alpha = static_cast<double>(below(random, 5)) - 2,
                   beta = static_cast<double>(below(random, 3)) - 1;
      const Tensor added =
          beta == 0 ? tenon::full({m, n}, std::numeric_limits<double>::quiet_NaN()).to(dtype) : c;
      check_near(tenon::addmm(added, a, b, beta, alpha), reference_of(a, b, c, alpha, beta), k);
    }
  }

  TEST_CASE("a small product with an expanded or reversed operand") {
    const Tensor row = numbers({1, 12}, f32, 1), square = numbers({12, 12}, f32, 2),
                 none = tenon::zeros({12, 12});
    const auto check = [&](const Tensor& a, const Tensor& b) {
      check_near(a.mm(b), reference_of(a, b, none, 1, 0), 12);
    };
    check(row.expand({12, 12}), square);
    check(square, row.expand({12, 12}));
    check(square, row.expand({12, 12}).t());
    check(square, row.expand({12, 12}).clone().t().expand({12, 12}));
    check(row.t().expand({12, 12}), row.expand({12, 12}));
  }

  TEST_CASE("a batch of small products is its products one by one, to the bit") {
    Random random(2);
    for (int round = 0; round < 60; ++round) {
      const int64_t count = 1 + below(random, round % 10 == 0 ? 2000 : 9),
                    m = 1 + below(random, 20), k = 1 + below(random, 20), n = 1 + below(random, 20);
      CAPTURE(round);
      Tensor a = numbers({count, m, k}, f32, random()), b = numbers({count, k, n}, f32, random());
      if (below(random, 2) == 0) a = a.transpose(0, 2).clone().transpose(0, 2);
      if (below(random, 3) == 0) b = b.transpose(1, 2).clone().transpose(1, 2);
      if (below(random, 4) == 0) b = b.narrow(0, 0, 1).expand({count, k, n});
      const Tensor products = a.bmm(b);
      for (int64_t i = 0; i < count; i += 1 + count / 7) {
        CHECK(products.select(0, i).to_vector<float>() ==
              a.select(0, i).mm(b.select(0, i)).to_vector<float>());
      }
    }
  }

  TEST_CASE("what a small product's operands are beside is not read into its result") {
    // Vectors are wider than three columns.
    const Tensor memory = tenon::full({8, 9}, std::numeric_limits<float>::infinity());
    const Tensor b = memory.narrow(1, 3, 3);
    b.copy_(numbers({8, 3}, f32, 2));
    const Tensor a = numbers({9, 8}, f32, 1), out = tenon::full({9, 6}, 7.0);
    a.mm(b, out.narrow(1, 1, 3));
    check_near(out.narrow(1, 1, 3), reference_of(a, b, tenon::zeros({9, 3}), 1, 0), 8);
    check_close(out.narrow(1, 4, 2), tenon::full({9, 2}, 7.0));
    check_close(out.narrow(1, 0, 1), tenon::full({9, 1}, 7.0));
  }
}
