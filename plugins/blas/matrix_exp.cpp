// linalg.matrix_exp: the exponential of square matrices.
#include <algorithm>
#include <cmath>
#include <vector>

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

using Numbers = std::vector<double>;

Numbers numbers(const Tensor& x) { return x.to(tenon::f64).reshape({-1}).to_vector<double>(); }
// The largest sum of a column of each matrix.
Numbers norms_of(const Tensor& matrices) { return numbers(matrices.abs().sum(-2).amax(-1)); }

// A number for each matrix, to multiply its elements by.
Tensor for_each_matrix(const Numbers& values, const Tensor& matrices, tenon::DType dtype) {
  std::vector<int64_t> shape = matrices.sizes();
  shape[shape.size() - 2] = shape.back() = 1;
  return tenon::from_range(values.begin(), values.end()).to(dtype).reshape(shape);
}
Numbers powers_of_half(const std::vector<int>& exponents) {
  Numbers values;
  for (const int exponent : exponents) values.push_back(std::ldexp(1.0, -exponent));
  return values;
}

int halvings(double norm) {
  int exponent = 0;
  std::frexp(norm / kLargestNorm, &exponent);
  return std::max(exponent, 0);
}

// Fewer halvings, where the powers of a matrix are smaller than those of its norm, as of triangular
// ones: each squaring doubles the error (doi:10.1137/09074721X).
void reduce_halvings(const Tensor& a, const Numbers& norms, std::vector<int>& times) {
  const Tensor wide = a.to(tenon::is_complex(a.dtype()) ? tenon::c128 : tenon::f64);
  std::vector<int> exponents;
  for (const double norm : norms) std::frexp(norm, &exponents.emplace_back());
  const Tensor scaled = wide * for_each_matrix(powers_of_half(exponents), a, tenon::f64);
  const Tensor p2 = product(scaled, scaled), p4 = product(p2, p2), p6 = product(p4, p2);
  const Numbers n6 = norms_of(p6), n8 = norms_of(product(p4, p4)), n10 = norms_of(product(p6, p4));
  std::vector<int> fewer;
  for (size_t i = 0; i < times.size(); ++i) {
    const auto root = [&](double norm, double degree) {
      return std::ldexp(std::pow(norm, 1 / degree), exponents[i]);
    };
    const double d6 = root(n6[i], 6), d8 = root(n8[i], 8), d10 = root(n10[i], 10);
    fewer.push_back(std::min(halvings(std::min(std::max(d6, d8), std::max(d8, d10))), times[i]));
  }
  // Again where the approximant would round large elements: its first term that is left out.
  constexpr double kLeftOut = 8.829954e-36;
  const Tensor magnitude = wide.abs() * for_each_matrix(powers_of_half(fewer), a, tenon::f64);
  Tensor row = magnitude.sum(-2, true);
  for (int i = 1; i < 27; ++i) row = product(row, magnitude);
  const Numbers left = norms_of(row), sizes = norms_of(magnitude);
  for (size_t i = 0; i < times.size(); ++i) {
    const double error = kLeftOut * left[i] / sizes[i] * 0x1p53;
    if (!std::isfinite(error)) continue;
    const int more = error > 1 ? static_cast<int>(std::ceil(std::log2(error) / 26)) : 0;
    times[i] = std::min(times[i], fewer[i] + more);
  }
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
    blas::check_finite("matrix_exp", "A", tenon::contiguous_as(a.detach(), a.dtype()));
    const Numbers norms = norms_of(a.detach());
    std::vector<int> times;  // how often each matrix is halved
    for (const double norm : norms) times.push_back(halvings(norm));
    if (*std::max_element(times.begin(), times.end()) > 0)
      reduce_halvings(a.detach(), norms, times);
    Tensor result =
        approximant(a * for_each_matrix(powers_of_half(times), a, tenon::real_dtype(a.dtype())));
    const Tensor squarings = for_each_matrix(Numbers(times.begin(), times.end()), a, tenon::f64);
    for (int i = 0; i < *std::max_element(times.begin(), times.end()); ++i)
      result = tenon::where(squarings.gt(i), product(result, result), result);
    return result.to(matrices.dtype());
  }
};

}  // namespace
TENON_OP(MatrixExp)
