// linalg.cholesky.
#include "linalg.hpp"

namespace {

using tenon::ContextOf;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;

struct Cholesky {
  static constexpr auto schema =
      "linalg.cholesky(Tensor A, *, bool upper=False, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2], "values": [2, 0.5, 0.5, 1.5]}},
          {"A": {"shape": [2, 2, 2], "values": [2, 0.5, 0.5, 1.5, 1, -0.4, -0.4, 2]}, "upper": true},
          {"A": {"shape": [2, 2], "dtype": "c128", "values": [2, 0, 0.5, 0.2, 0.5, -0.2, 1.5, 0]}, "upper": true}])";
  static constexpr auto doc =
      "The lower triangular L with L L^H = A, or L^H with upper, for symmetric (complex: "
      "Hermitian) "
      "positive definite matrices A, [..., n, n]. Of A its symmetric half, (A + A^H) / 2, counts, "
      "so that its gradient is symmetric. A matrix that is not positive definite is an error.";
  static constexpr auto saves = "result";

  static Tensor shape_rule(const Tensor& a, bool) { return blas::empty_square("cholesky", a); }
  static Tensor forward(const Tensor& a, bool upper) {
    blas::check_square("cholesky", "A", a);
    const Tensor copy = blas::column_major_copy(blas::symmetric_half(a));
    blas::factor_symmetric("cholesky", copy);
    // Column-major and lower is row-major and upper.
    return upper ? tenon::conjugate(copy) : blas::from_column_major(copy);
  }
  // arXiv:1602.07527: L^-H lower(L^H g) L^-1, its symmetric half.
  static Tensor backward(ContextOf<Cholesky>& c, const Tensor& g) {
    const bool upper = c["upper"_arg];
    const Tensor factor = upper ? c.result() : blas::adjoint(c.result());
    const Tensor inner = blas::lower_half(blas::product(factor, upper ? blas::adjoint(g) : g));
    const Tensor half = tenon::linalg::solve(factor, inner);
    return blas::symmetric_half(tenon::linalg::solve(factor, blas::adjoint(half)));
  }
  // L lower(L^-1 t L^-H).
  static Tensor jvp(ContextOf<Cholesky>& c, TensorList t) {
    const bool upper = c["upper"_arg];
    const Tensor factor = upper ? blas::adjoint(c.result()) : c.result();
    const Tensor half = tenon::linalg::solve(factor, blas::symmetric_half(t[0]));
    const Tensor inner = tenon::linalg::solve(factor, blas::adjoint(half));
    const Tensor tangent = blas::product(factor, blas::lower_half(inner));
    return upper ? blas::adjoint(tangent) : tangent;
  }
};

}  // namespace
TENON_OP(Cholesky)
