// linalg.eig and linalg.eigvals: eigenvalues of matrices that need not be symmetric.
#include <algorithm>
#include <complex>

#include "lapack.hpp"
#include "linalg.hpp"

namespace {

using blas::adjoint, blas::along_columns, blas::product;
using tenon::Context;
using tenon::ContextOf;
using tenon::DType;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;
namespace lapack = blas::lapack;

DType complex_of(DType dtype) {
  if (tenon::is_complex(dtype)) return dtype;
  return dtype == tenon::f64 ? tenon::c128 : tenon::c64;
}

struct Eigen {
  Tensor values, vectors;  // vectors are undefined unless asked for

  Eigen(const char* op, const Tensor& matrices, bool with_vectors) {
    blas::check_square(op, "A", matrices);
    const int64_t n = matrices.size(-1), count = blas::matrix_count(matrices);
    // A real matrix has complex eigenvalues.
    const Tensor a = blas::column_major_copy(matrices.to(complex_of(matrices.dtype())));
    blas::check_finite(op, "A", a);
    values = blas::empty_batch(a, {n});
    const Tensor columns = tenon::empty_tensor(a.shape(), a.dtype());
    if (with_vectors) vectors = blas::from_column_major(columns);
    if (a.numel() == 0) return;
    const int size = blas::lapack_size(n);
    tenon::kernel::visit_complex(a.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const tenon::kernel::OneOpenmpThread serial;
      for (int64_t i = 0; i < count; ++i) {
        const int info = solve(with_vectors, size, tenon::kernel::elements<T>(a) + i * n * n,
                               tenon::kernel::elements<T>(values) + i * n,
                               tenon::kernel::elements<T>(columns) + i * n * n);
        blas::check_converged(op, info, i, count);
      }
    });
  }

 private:
  template <class T>
  static int solve(bool with_vectors, int n, T* a, T* values, T* vectors) {
    std::vector<lapack::Real<T>> reals(static_cast<size_t>(2 * n));
    return lapack::with_workspace<T>([&](T* work, const int* size) {
      int info = 0;
      const int least = 1;
      const auto call = [&](auto* geev) {
        geev("N", with_vectors ? "V" : "N", &n, a, &n, values, vectors, &least, vectors, &n, work,
             size, reals.data(), &info, 1, 1);
      };
      if constexpr (std::is_same_v<lapack::Real<T>, float>)
        call(lapack::cgeev_);
      else
        call(lapack::zgeev_);
      return info;
    });
  }
};

// The real part of a gradient of complex numbers, for a matrix of real ones.
Tensor for_matrix(const Tensor& gradient, DType dtype) {
  return tenon::is_complex(dtype) ? gradient : tenon::real(gradient);
}

struct Eig {
  static constexpr auto schema =
      "linalg.eig(Tensor A, *, Tensor(a!)[]? out=None) -> (Tensor eigenvalues, Tensor "
      "eigenvectors)";
  static constexpr auto samples =
      R"([{"A": {"values": [[1, 2], [3, 5]], "requires_grad": false}},
          {"A": {"shape": [2, 3, 3], "requires_grad": false}},
          {"A": {"shape": [2, 2], "dtype": "c128", "requires_grad": false}}])";
  static constexpr auto doc =
      "The complex eigenvalues [..., n], in LAPACK's order, and eigenvectors of length 1, the "
      "columns of [..., n, n], of square matrices A [..., n, n]. A vector is determined up to a "
      "phase: the gradient of a loss that depends on it is an error. Where eigenvalues are equal, "
      "a "
      "gradient of their vectors is not finite. Elements that are not finite are an error. eigh() "
      "is "
      "for symmetric matrices, and faster.";
  static constexpr auto saves = "A, result0, result1";
  static constexpr bool twice_differentiable = true;

  static std::tuple<Tensor, Tensor> shape_rule(const Tensor& a) {
    blas::check_square("eig", "A", a);
    const DType dtype = complex_of(a.dtype());
    return {tenon::empty_tensor(blas::batch_shape(a, {a.size(-1)}), dtype),
            tenon::empty_tensor(a.shape(), dtype)};
  }
  static std::tuple<Tensor, Tensor> forward(Context& c, const Tensor& a) {
    c.set_materialize_grads(false);
    const Eigen found("eig", a, true);
    return {found.values, found.vectors};
  }
  // arXiv:1701.00392, 4.18, with vectors of length 1: V^-H (diag(l) + (W - V^H V diag(re W)) / E) V^H,
  // where W is V^H v, diag its diagonal, and E has conj(l_j - l_i).
  static Tensor backward(ContextOf<Eig>& c, const Tensor& values, const Tensor& vectors) {
    const Tensor v = c["eigenvectors"_result], l = c["eigenvalues"_result];
    const Tensor one = tenon::eye(v.size(-1), tenon::none, tenon::real_dtype(v.dtype()));
    Tensor inner;
    if (values.defined()) inner = one * along_columns(values);
    if (vectors.defined()) {
      const Tensor along = product(adjoint(v), vectors), diagonal = along.diagonal(0, -2, -1);
      blas::check_phases("eig", tenon::imag(diagonal), vectors);
      const Tensor turned = along - product(adjoint(v), v * along_columns(tenon::real(diagonal)));
      const Tensor gaps = tenon::conjugate(blas::differences(l)) + one;
      const Tensor part = turned / gaps * (1 - one);
      inner = inner.defined() ? inner + part : part;
    }
    if (!inner.defined()) return Tensor();
    const Tensor result = tenon::linalg::solve(adjoint(v), product(inner, adjoint(v)));
    return for_matrix(result, c["A"_arg].dtype());
  }
  // With P = V^-1 t V: its diagonal, and V Q - V diag(re(V^H V Q)), where Q has P_ij / (l_j - l_i).
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Eig>& c, TensorList t) {
    const Tensor v = c["eigenvectors"_result], l = c["eigenvalues"_result];
    const Tensor one = tenon::eye(v.size(-1), tenon::none, tenon::real_dtype(v.dtype()));
    const Tensor p = tenon::linalg::solve(v, product(t[0].to(v.dtype()), v));
    const Tensor q = p / (blas::differences(l) + one) * (1 - one);
    const Tensor moved = product(v, q);
    return {p.diagonal(0, -2, -1), moved - v * along_columns(blas::column_dots(v, moved))};
  }
};

struct Eigvals {
  static constexpr auto schema = "linalg.eigvals(Tensor A, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"values": [[1, 2], [3, 5]], "requires_grad": false}},
          {"A": {"shape": [2, 2], "dtype": "c128", "requires_grad": false}}])";
  static constexpr auto doc =
      "The complex eigenvalues [..., n] of square matrices A [..., n, n], in LAPACK's order. The "
      "rules compute the vectors: eig().";
  static constexpr auto saves = "A";

  static Tensor shape_rule(const Tensor& a) { return std::get<0>(Eig::shape_rule(a)); }
  static Tensor forward(const Tensor& a) { return Eigen("eigvals", a, false).values; }
  static Tensor backward(ContextOf<Eigvals>& c, const Tensor& g) {
    const Tensor v = std::get<1>(tenon::linalg::eig(c["A"_arg]));
    const Tensor result = tenon::linalg::solve(adjoint(v), adjoint(v) * g.unsqueeze(-1));
    return for_matrix(result, c["A"_arg].dtype());
  }
  static Tensor jvp(ContextOf<Eigvals>& c, TensorList t) {
    const Tensor v = std::get<1>(tenon::linalg::eig(c["A"_arg]));
    return tenon::linalg::solve(v, product(t[0].to(v.dtype()), v)).diagonal(0, -2, -1);
  }
};

}  // namespace
TENON_OPS(Eig, Eigvals)
