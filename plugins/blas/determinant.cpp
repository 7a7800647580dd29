// linalg.det and linalg.slogdet.
#include <algorithm>
#include <cmath>
#include <complex>

#include "lapack.hpp"
#include "linalg.hpp"

namespace {

using tenon::ContextOf;
using tenon::IntList;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;

IntList batch_of(const Tensor& a) { return {a.shape().data(), a.dim() - 2}; }

// A number for each matrix.
Tensor empty_determinants(const char* op, const Tensor& a) {
  blas::check_square(op, "A", a);
  return blas::empty_batch(a, {});
}

// body(index, sign, diagonal: its first element and their distance, n) for each matrix.
template <class Body>
void each_diagonal(const blas::Factors& factors, const Body& body) {
  const int64_t n = factors.lu.size(-1), count = blas::matrix_count(factors.lu);
  const auto* pivots = n == 0 ? nullptr : factors.pivots.data<const int32_t>();
  blas::visit_elements(factors.lu.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* lu = tenon::kernel::elements<const T>(factors.lu);
    for (int64_t i = 0; i < count; ++i) {
      int sign = 1;
      for (int64_t k = 0; k < n; ++k) sign = pivots[i * n + k] != k + 1 ? -sign : sign;
      body(i, sign, lu + i * n * n, n);
    }
  });
}

// The type in which determinants of T are computed.
template <class T>
using Wide = std::conditional_t<blas::lapack::is_complex<T>, std::complex<double>, double>;

// x * 2^-shift with the larger part of x in [0.5, 1), and shift. Zero, NaN and infinities stay.
double scaled(double x, int* shift) { return std::frexp(x, shift); }
std::complex<double> scaled(std::complex<double> x, int* shift) {
  std::frexp(std::max(std::fabs(x.real()), std::fabs(x.imag())), shift);
  return {std::ldexp(x.real(), -*shift), std::ldexp(x.imag(), -*shift)};
}
bool is_finite(double x) { return std::isfinite(x); }
bool is_finite(std::complex<double> x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}
double times_power(double x, int exponent) { return std::ldexp(x, exponent); }
std::complex<double> times_power(std::complex<double> x, int exponent) {
  return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
}
// x / |x|; 0 and NaN stay.
double direction_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
std::complex<double> direction_of(std::complex<double> x) {
  return x == std::complex<double>() ? x : x / std::abs(x);
}

// The derivative of the determinant: the cofactors, [..., n, n]. Through the inverse where all
// determinants are finite and not 0, else by minors.
constexpr int64_t kMostMinors = 32;
Tensor minors(const Tensor& a) {
  const int64_t n = a.size(-1);
  if (n > kMostMinors) {
    throw tenon::ValueError("det(): the gradient at a singular matrix takes at most " +
                            std::to_string(kMostMinors) + " rows, got shape " +
                            blas::shape_text(a));
  }
  const Tensor others = tenon::empty_tensor({n * (n - 1)}, tenon::i64);
  const Tensor signs = tenon::empty_tensor({n, n}, tenon::f64);
  for (int64_t i = 0, at = 0; i < n; ++i) {
    for (int64_t k = 0; k < n; ++k) {
      if (k != i) others.data<int64_t>()[at++] = k;
      signs.data<double>()[i * n + k] = (i + k) % 2 == 0 ? 1 : -1;
    }
  }
  std::vector<int64_t> shape(batch_of(a).begin(), batch_of(a).end());
  const auto batch = static_cast<int64_t>(shape.size());
  for (const int64_t size : {n, n - 1, n, n - 1}) shape.push_back(size);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < batch; ++i) order.push_back(i);
  for (const int64_t i : {0, 2, 1, 3}) order.push_back(batch + i);
  const Tensor all =
      a.index_select(-2, others).index_select(-1, others).reshape(shape).permute(order);
  return tenon::linalg::det(all) * signs.to(a.dtype());
}
Tensor cofactors(const Tensor& a, const Tensor& determinant) {
  if (a.size(-1) == 0) return tenon::zeros_like(a);
  const Tensor values = determinant.detach();
  if (!values.isfinite().logical_and(values.ne(0)).all().item<bool>()) return minors(a);
  return determinant.unsqueeze(-1).unsqueeze(-1) * blas::transposed(tenon::linalg::inv(a));
}

struct Det {
  static constexpr auto schema = "linalg.det(Tensor A, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2]}}, {"A": {"shape": [2, 3, 3]}},
          {"A": {"shape": [2, 2], "values": [1, 2, 2, 4]}},
          {"A": {"shape": [2, 2], "dtype": "c128"}}])";
  static constexpr auto doc =
      "The determinants of square matrices, [..., n, n]: [...]. Singular ones have 0, and a "
      "gradient up to 32 rows. slogdet() does not overflow.";
  static constexpr auto saves = "A, result";

  static Tensor shape_rule(const Tensor& a) { return empty_determinants("det", a); }
  static Tensor forward(const Tensor& a) {
    const Tensor result = shape_rule(a);
    if (result.numel() == 0) return result;
    const blas::Factors factors(a);
    each_diagonal(factors, [&](int64_t i, int sign, auto* lu, int64_t n) {
      using T = std::remove_const_t<std::remove_pointer_t<decltype(lu)>>;
      // The exponent is apart, so that only the result can overflow.
      Wide<T> product = sign;
      int64_t exponent = 0;
      for (int64_t k = 0; k < n; ++k) {
        int shift = 0;
        product = scaled(product * static_cast<Wide<T>>(lu[k * n + k]), &shift);
        exponent += is_finite(product) ? shift : 0;
      }
      const auto clipped =
          static_cast<int>(std::min<int64_t>(std::max<int64_t>(exponent, -4096), 4096));
      tenon::kernel::elements<T>(result)[i] = static_cast<T>(times_power(product, clipped));
    });
    return result;
  }
  static Tensor backward(ContextOf<Det>& c, const Tensor& g) {
    return g.unsqueeze(-1).unsqueeze(-1) * tenon::conjugate(cofactors(c["A"_arg], c.result()));
  }
  static Tensor jvp(ContextOf<Det>& c, TensorList t) {
    return (t[0] * cofactors(c["A"_arg], c.result())).sum({-2, -1});
  }
};

struct Slogdet {
  static constexpr auto schema =
      "linalg.slogdet(Tensor A, *, Tensor(a!)[]? out=None) -> (Tensor sign, Tensor logabsdet)";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2], "values": [2, 0.5, -0.3, 1.5]}},
          {"A": {"shape": [2, 2, 2], "values": [2, 0.5, -0.3, 1.5, 1, 0.2, 0.4, -2]}},
          {"A": {"shape": [2, 2], "dtype": "c128", "values": [2, 0.3, 0.5, -0.2, -0.3, 0.4, 1.5, -0.6]}}])";
  static constexpr auto doc =
      "The sign of the determinants of square matrices, [..., n, n], and the logarithm of their "
      "absolute values, which is real: 0 and -inf for a singular one, whose gradient is an error. "
      "The sign of a complex determinant is the determinant divided by its magnitude.";
  static constexpr auto saves = "A, result0";

  static std::tuple<Tensor, Tensor> shape_rule(const Tensor& a) {
    return {empty_determinants("slogdet", a), blas::empty_real_batch(a, {})};
  }
  static std::tuple<Tensor, Tensor> forward(const Tensor& a) {
    auto [sign, log] = shape_rule(a);
    if (sign.numel() != 0) {
      const blas::Factors factors(a);
      each_diagonal(factors,
                    [&, &sign = sign, &log = log](int64_t i, int start, auto* lu, int64_t n) {
                      using T = std::remove_const_t<std::remove_pointer_t<decltype(lu)>>;
                      using Real = blas::lapack::Real<T>;
                      Wide<T> direction = start;
                      double sum = 0;
                      for (int64_t k = 0; k < n; ++k) {
                        const auto pivot = static_cast<Wide<T>>(lu[k * n + k]);
                        direction *= direction_of(pivot);
                        sum += std::log(std::abs(pivot));
                      }
                      tenon::kernel::elements<T>(sign)[i] = static_cast<T>(direction_of(direction));
                      tenon::kernel::elements<Real>(log)[i] = static_cast<Real>(sum);
                    });
    }
    return {std::move(sign), std::move(log)};
  }
  // The logarithm of the determinant changes by tr(A^-1 dA): its real part is that of the absolute
  // value, its imaginary part turns the sign.
  static Tensor backward(ContextOf<Slogdet>& c, const Tensor& sign_gradient, const Tensor& g) {
    const Tensor& a = c["A"_arg];
    Tensor factor = g;
    if (tenon::is_complex(a.dtype())) {
      const Tensor turn = tenon::imag(tenon::conj(sign_gradient) * c["sign"_result]);
      factor = tenon::complex_of(g, -turn);
    }
    return factor.unsqueeze(-1).unsqueeze(-1) * blas::adjoint(tenon::linalg::inv(a));
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Slogdet>& c, TensorList t) {
    const Tensor& a = c["A"_arg];
    const Tensor change = (t[0] * blas::transposed(tenon::linalg::inv(a))).sum({-2, -1});
    if (!tenon::is_complex(a.dtype())) return {Tensor(), change};
    return {c["sign"_result] * blas::times_i(tenon::imag(change)), tenon::real(change)};
  }
};

}  // namespace
TENON_OPS(Det, Slogdet)
