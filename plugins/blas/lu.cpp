// linalg.lu: triangular factors with row exchanges.
#include <algorithm>
#include <numeric>

#include "lapack.hpp"
#include "linalg.hpp"

namespace {

using blas::adjoint, blas::product;
using tenon::ContextOf;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;
namespace lapack = blas::lapack;

// b with a X = b, or X a = b on the left side: a is triangular and quadratic.
Tensor solved(const Tensor& a, const Tensor& b) { return tenon::linalg::solve(a, b); }
Tensor solved_from_right(const Tensor& a, const Tensor& b) {
  return tenon::linalg::solve(a, b, /*left*/ false);
}
// Rows or columns [from, to) of matrices.
Tensor rows(const Tensor& x, int64_t from, int64_t to) { return x.narrow(-2, from, to - from); }
Tensor columns(const Tensor& x, int64_t from, int64_t to) { return x.narrow(-1, from, to - from); }

struct Lu {
  static constexpr auto schema =
      "linalg.lu(Tensor A, *, Tensor(a!)[]? out=None) -> (Tensor P, Tensor L, Tensor U)";
  static constexpr auto samples =
      R"([{"A": {"shape": [3, 3]}}, {"A": {"shape": [2, 2, 4]}}, {"A": {"shape": [4, 2]}},
          {"A": {"shape": [2, 2], "dtype": "c128"}}])";
  static constexpr auto doc =
      "The factors P L U of matrices A [..., m, n]: the permutation P [..., m, m], L [..., m, k] "
      "with ones on the diagonal and nothing above it, and the upper triangular U [..., k, n], "
      "with "
      "k = min(m, n). Rows are exchanged for the largest pivot. The gradient needs independent "
      "first "
      "k columns.";
  static constexpr auto saves = "shape(A), result0, result1, result2";
  static constexpr bool twice_differentiable = true;

  static std::tuple<Tensor, Tensor, Tensor> shape_rule(const Tensor& a) {
    blas::check_matrices("lu", "A", a);
    const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
    return {blas::empty_batch(a, {m, m}), blas::empty_batch(a, {m, k}),
            blas::empty_batch(a, {k, n})};
  }
  static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& a) {
    std::tuple<Tensor, Tensor, Tensor> factors = shape_rule(a);
    Tensor &p = std::get<0>(factors), &l = std::get<1>(factors), &u = std::get<2>(factors);
    const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
    for (const Tensor* each : {&p, &l, &u}) tenon::fill_elements(*each, 0);
    const Tensor copy = blas::column_major_copy(a);
    const int row_count = blas::lapack_size(m), column_count = blas::lapack_size(n),
              leading = std::max(1, row_count);
    blas::each_matrix(copy, blas::matrix_count(a), std::max(m, n), [&](auto zero, int64_t i) {
      using T = decltype(zero);
      T* at = tenon::kernel::elements<T>(copy) + i * m * n;
      std::vector<int> pivots(static_cast<size_t>(k));
      int info = 0;  // a pivot of 0 is a part of U
      if (m * n != 0) {
        lapack::routine<T>(lapack::sgetrf_, lapack::dgetrf_, lapack::cgetrf_, lapack::zgetrf_)(
            &row_count, &column_count, at, &leading, pivots.data(), &info);
      }
      std::vector<int64_t> order(static_cast<size_t>(m));
      std::iota(order.begin(), order.end(), 0);
      for (size_t r = 0; r < pivots.size(); ++r)
        std::swap(order[r], order[static_cast<size_t>(pivots[r] - 1)]);
      T* to_p = tenon::kernel::elements<T>(p) + i * m * m;
      T* to_l = tenon::kernel::elements<T>(l) + i * m * k;
      T* to_u = tenon::kernel::elements<T>(u) + i * k * n;
      for (int64_t r = 0; r < m; ++r) {
        to_p[order[static_cast<size_t>(r)] * m + r] = T{1};
        for (int64_t c = 0; c < std::min(r, k); ++c) to_l[r * k + c] = at[c * m + r];
        if (r >= k) continue;
        to_l[r * k + r] = T{1};
        for (int64_t c = r; c < n; ++c) to_u[r * n + c] = at[c * m + r];
      }
    });
    return factors;
  }

  // Through the quadratic factors L1 and U1: P L1^-H (tril(L1^H gL1, -1) + triu(gU1 U1^H)) U1^-H. Rows
  // of L below are L2 = B2 U1^-1, columns of U beside are U2 = L1^-1 B2, whose gradients come first.
  static Tensor backward(ContextOf<Lu>& c, const Tensor&, const Tensor& l_gradient,
                         const Tensor& u_gradient) {
    const Tensor p = c["P"_result], l = c["L"_result], u = c["U"_result];
    const int64_t m = l.size(-2), k = l.size(-1), n = u.size(-1);
    const Tensor l1 = rows(l, 0, k), u1 = columns(u, 0, k);
    Tensor gl = rows(l_gradient, 0, k), gu = columns(u_gradient, 0, k), rest;
    if (m > k) {
      const Tensor below = rows(l_gradient, k, m);
      rest = solved_from_right(adjoint(u1), below);
      gu = gu - product(adjoint(rows(l, k, m)), rest);
    }
    if (n > k) {
      const Tensor beside = columns(u_gradient, k, n);
      rest = solved(adjoint(l1), beside);
      gl = gl - product(rest, adjoint(columns(u, k, n)));
    }
    const Tensor inner = product(adjoint(l1), gl).tril(-1) + product(gu, adjoint(u1)).triu();
    Tensor result = solved_from_right(adjoint(u1), solved(adjoint(l1), inner));
    if (m > k) result = tenon::cat({result, rest}, -2);
    if (n > k) result = tenon::cat({result, rest}, -1);
    return product(p, result);
  }
  // With F = L1^-1 t1 U1^-1 of the rows and columns of the quadratic factors: L1 tril(F, -1) and
  // triu(F) U1.
  static std::tuple<Tensor, Tensor, Tensor> jvp(ContextOf<Lu>& c, TensorList tangents) {
    const Tensor p = c["P"_result], l = c["L"_result], u = c["U"_result];
    const int64_t m = l.size(-2), k = l.size(-1), n = u.size(-1);
    const Tensor t = product(adjoint(p), tangents[0]);
    const Tensor l1 = rows(l, 0, k), u1 = columns(u, 0, k);
    const Tensor f = solved_from_right(u1, solved(l1, columns(rows(t, 0, k), 0, k)));
    Tensor dl = product(l1, f.tril(-1)), du = product(f.triu(), u1);
    if (m > k) {
      const Tensor below = rows(t, k, m) - product(rows(l, k, m), du);
      dl = tenon::cat({dl, solved_from_right(u1, below)}, -2);
    }
    if (n > k) {
      const Tensor beside = columns(t, k, n) - product(dl, columns(u, k, n));
      du = tenon::cat({du, solved(l1, beside)}, -1);
    }
    return {tenon::zeros_like(p), dl, du};
  }
};

}  // namespace
TENON_OP(Lu)
