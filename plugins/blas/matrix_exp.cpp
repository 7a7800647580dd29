// linalg.matrix_exp: the exponential of square matrices.
#include <cmath>

#include "linalg.hpp"

namespace {

using blas::product;
using tenon::Tensor;

// Pade's approximant of degree 13, good for norms up to 5.37 (doi:10.1137/04061101X).
constexpr double kDegree13[] = {64764752532480000,
                                32382376266240000,
                                7771770303897600,
                                1187353796428800,
                                129060195264000,
                                10559470521600,
                                670442572800,
                                33522128640,
                                1323241920,
                                40840800,
                                960960,
                                16380,
                                182,
                                1};
constexpr double kLargestNorm = 5.371920351148152;

Tensor approximant(const Tensor& a) {
  const auto& b = kDegree13;
  const Tensor one = tenon::eye(a.size(-1), tenon::none, a.dtype());
  const Tensor a2 = product(a, a), a4 = product(a2, a2), a6 = product(a4, a2);
  const Tensor odd = product(a6, a6 * b[13] + a4 * b[11] + a2 * b[9]) + a6 * b[7] + a4 * b[5] +
                     a2 * b[3] + one * b[1];
  const Tensor even = product(a6, a6 * b[12] + a4 * b[10] + a2 * b[8]) + a6 * b[6] + a4 * b[4] +
                      a2 * b[2] + one * b[0];
  const Tensor u = product(a, odd);
  return tenon::linalg::solve(even - u, even + u);
}

struct MatrixExp {
  static constexpr auto schema = "linalg.matrix_exp(Tensor A) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [3, 3]}}, {"A": {"shape": [2, 2, 2], "low": -9, "high": 9},
           "check": {"atol": 1, "rtol": 1e-4}},
          {"A": {"shape": [2, 2], "dtype": "c128"}}])";
  static constexpr auto doc =
      "The sum of A^k / k! for square matrices [..., n, n]: scaled until the approximant is exact, "
      "and squared as often. Elements that are not finite are an error.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& matrices) {
    blas::check_square("matrix_exp", "A", matrices);
    if (matrices.numel() == 0) return matrices.clone();
    // The coefficients are too large for halves.
    const Tensor a = matrices.to(tenon::compute_dtype(matrices.dtype()));
    const Tensor norms = a.detach().abs().sum(-2).amax({-1}).to(tenon::f64);
    blas::check_finite("matrix_exp", "A", tenon::contiguous_as(a.detach(), a.dtype()));
    // How often each matrix is halved.
    std::vector<double> factors;
    std::vector<int64_t> halvings;
    int64_t most = 0;
    for (const double norm : norms.reshape({-1}).to_vector<double>()) {
      int exponent = 0;
      std::frexp(norm / kLargestNorm, &exponent);
      halvings.push_back(std::max(exponent, 0));
      factors.push_back(std::ldexp(1.0, -std::max(exponent, 0)));
      most = std::max(most, halvings.back());
    }
    std::vector<int64_t> shape = norms.sizes();
    shape.insert(shape.end(), {1, 1});
    const Tensor scale = tenon::from_range(factors.begin(), factors.end())
                             .to(tenon::real_dtype(a.dtype()))
                             .reshape(shape);
    const Tensor times = tenon::from_range(halvings.begin(), halvings.end()).reshape(shape);
    Tensor result = approximant(a * scale);
    for (int64_t i = 0; i < most; ++i)
      result = tenon::where(times.gt(i), product(result, result), result);
    return result.to(matrices.dtype());
  }
};

}  // namespace
TENON_OP(MatrixExp)
