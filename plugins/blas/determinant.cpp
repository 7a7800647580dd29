// linalg.det and linalg.slogdet.
#include <cmath>
#include <limits>

#include <tenon/kernel/view.hpp>

#include "linalg.hpp"

namespace {

using tenon::ContextOf;
using tenon::IntList;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;
using tenon::kernel::Shape;

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
  tenon::kernel::visit<tenon::floating_dtypes>(factors.lu.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* lu = tenon::kernel::elements<const T>(factors.lu);
    for (int64_t i = 0; i < count; ++i) {
      int sign = 1;
      for (int64_t k = 0; k < n; ++k) sign = pivots[i * n + k] != k + 1 ? -sign : sign;
      body(i, sign, lu + i * n * n, n);
    }
  });
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
  const std::vector<double> values = determinant.detach().to_vector<double>();
  bool regular = true;
  for (const double value : values) regular = regular && value != 0 && std::isfinite(value);
  if (!regular) return minors(a);
  return determinant.unsqueeze(-1).unsqueeze(-1) * blas::transposed(tenon::linalg::inv(a));
}

struct Det {
  static constexpr auto schema = "linalg.det(Tensor A) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2]}}, {"A": {"shape": [2, 3, 3]}},
          {"A": {"shape": [2, 2], "values": [1, 2, 2, 4]}}])";
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
      double product = sign;
      int64_t exponent = 0;
      for (int64_t k = 0; k < n; ++k) {
        int shift = 0;
        product = std::frexp(product * static_cast<double>(lu[k * n + k]), &shift);
        exponent += std::isfinite(product) ? shift : 0;
      }
      const auto clipped =
          static_cast<int>(std::min<int64_t>(std::max<int64_t>(exponent, -4096), 4096));
      tenon::kernel::elements<T>(result)[i] = static_cast<T>(std::ldexp(product, clipped));
    });
    return result;
  }
  static Tensor backward(ContextOf<Det>& c, const Tensor& g) {
    return g.unsqueeze(-1).unsqueeze(-1) * cofactors(c["A"_arg], c.result());
  }
  static Tensor jvp(ContextOf<Det>& c, TensorList t) {
    return (t[0] * cofactors(c["A"_arg], c.result())).sum({-2, -1});
  }
};

struct Slogdet {
  static constexpr auto schema = "linalg.slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2], "values": [2, 0.5, -0.3, 1.5]}},
          {"A": {"shape": [2, 2, 2], "values": [2, 0.5, -0.3, 1.5, 1, 0.2, 0.4, -2]}}])";
  static constexpr auto doc =
      "The sign of the determinants of square matrices, [..., n, n], and the logarithm of their "
      "absolute values: 0 and -inf for a singular one, whose gradient is an error.";
  static constexpr auto saves = "A";

  static std::tuple<Tensor, Tensor> shape_rule(const Tensor& a) {
    return {empty_determinants("slogdet", a), blas::empty_batch(a, {})};
  }
  static std::tuple<Tensor, Tensor> forward(const Tensor& a) {
    Tensor sign = empty_determinants("slogdet", a), log = blas::empty_batch(a, {});
    if (sign.numel() != 0) {
      const blas::Factors factors(a);
      each_diagonal(factors, [&](int64_t i, int start, auto* lu, int64_t n) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(lu)>>;
        double direction = start, sum = 0;
        for (int64_t k = 0; k < n; ++k) {
          const auto pivot = static_cast<double>(lu[k * n + k]);
          direction *= pivot > 0 ? 1 : pivot < 0 ? -1 : pivot;  // 0 and NaN stay
          sum += std::log(std::fabs(pivot));
        }
        tenon::kernel::elements<T>(sign)[i] = static_cast<T>(direction);
        tenon::kernel::elements<T>(log)[i] = static_cast<T>(sum);
      });
    }
    return {std::move(sign), std::move(log)};
  }
  static Tensor backward(ContextOf<Slogdet>& c, const Tensor&, const Tensor& g) {
    return g.unsqueeze(-1).unsqueeze(-1) * blas::transposed(tenon::linalg::inv(c["A"_arg]));
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Slogdet>& c, TensorList t) {
    const Tensor part = t[0] * blas::transposed(tenon::linalg::inv(c["A"_arg]));
    return {Tensor(), part.sum({-2, -1})};
  }
};

}  // namespace
TENON_OP(Det)
TENON_OP(Slogdet)
