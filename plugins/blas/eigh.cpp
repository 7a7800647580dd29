// linalg.eigh and linalg.eigvalsh.
#include <algorithm>
#include <memory>

#include "lapack.hpp"
#include "linalg.hpp"

namespace {

using blas::adjoint, blas::along_columns, blas::product;
using tenon::Context;
using tenon::ContextOf;
using tenon::is_complex;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;
namespace lapack = blas::lapack;

struct Eigenvalues {
  Tensor values, vectors;  // vectors are undefined unless asked for

  Eigenvalues(const char* op, const Tensor& matrices, bool with_vectors) {
    blas::check_square(op, "A", matrices);
    const int64_t n = matrices.size(-1), count = blas::matrix_count(matrices);
    const Tensor a = blas::symmetric_copy(op, "A", matrices);
    values = blas::empty_real_batch(matrices, {n});
    if (with_vectors) vectors = blas::from_column_major(a);
    if (a.numel() == 0) return;
    const int size = blas::lapack_size(n);
    blas::each_matrix(a, count, n, [&](auto zero, int64_t i) {
      using T = decltype(zero);
      const int info =
          solve(with_vectors ? "V" : "N", size, tenon::kernel::elements<T>(a) + i * n * n,
                tenon::kernel::elements<lapack::Real<T>>(values) + i * n);
      blas::check_converged(op, info, i, count);
    });
  }

 private:
  template <class T>
  static int solve(const char* job, int n, T* a, lapack::Real<T>* values) {
    using Real = lapack::Real<T>;
    int integers_size = -1, best_integers = 0, reals_size = -1, info = 0;
    Real best_reals = 0;
    int* integers = &best_integers;
    Real* reals = &best_reals;
    std::unique_ptr<int[]> held_integers;
    std::unique_ptr<Real[]> held_reals;
    return lapack::with_workspace<T>([&](T* work, const int* size) {
      const auto eigh =
          lapack::routine<T>(lapack::ssyevd_, lapack::dsyevd_, lapack::cheevd_, lapack::zheevd_);
      if constexpr (lapack::is_complex<T>) {
        eigh(job, "L", &n, a, &n, values, work, size, reals, &reals_size, integers, &integers_size,
             &info, 1, 1);
      } else {
        eigh(job, "L", &n, a, &n, values, work, size, integers, &integers_size, &info, 1, 1);
      }
      if (integers_size == -1) {
        integers_size = std::max(1, best_integers);
        held_integers.reset(new int[static_cast<size_t>(integers_size)]);
        integers = held_integers.get();
        reals_size = lapack::workspace_size(best_reals);
        held_reals.reset(new Real[static_cast<size_t>(reals_size)]);
        reals = held_reals.get();
      }
      return info;
    });
  }
};

struct Eigh {
  static constexpr auto schema =
      "linalg.eigh(Tensor A, *, Tensor(a!)[]? out=None) -> (Tensor eigenvalues, Tensor "
      "eigenvectors)";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2], "values": [2, 0.5, 0.5, 1]}},
          {"A": {"shape": [2, 3, 3]}},
          {"A": {"shape": [2, 2], "dtype": "c128", "requires_grad": false}}])";
  static constexpr auto doc =
      "The eigenvalues, [..., n] in ascending order, and orthonormal eigenvectors, the columns of "
      "[..., n, n], of symmetric (complex: Hermitian) matrices A [..., n, n]. Of A its symmetric "
      "half, (A + A^H) / 2, counts, so that its gradient is symmetric; there is no UPLO. The "
      "values "
      "are real. A vector may change its sign; a complex one is determined up to a phase, and the "
      "gradient of a loss that depends on it is an error. "
      "Where eigenvalues are equal (within their rounding), the gradient of their vectors is NaN. "
      "Elements "
      "that are not finite are an error. eigvalsh() is faster.";
  static constexpr auto saves = "result0, result1";
  static constexpr bool twice_differentiable = true;

  static std::tuple<Tensor, Tensor> shape_rule(const Tensor& a) {
    Tensor vectors = blas::empty_square("eigh", a);
    return {blas::empty_real_batch(a, {a.size(-1)}), std::move(vectors)};
  }
  static std::tuple<Tensor, Tensor> forward(Context& c, const Tensor& a) {
    c.set_materialize_grads(false);
    const Eigenvalues found("eigh", a, true);
    return {found.values, found.vectors};
  }
  // doi:10.1007/978-3-540-68942-3_4, 3.1: V (diag(l) + (V^H v) F) V^H, where F has 1 / (l_j - l_i).
  static Tensor backward(ContextOf<Eigh>& c, const Tensor& values, const Tensor& vectors) {
    const Tensor v = c["eigenvectors"_result];
    Tensor left;
    if (values.defined()) left = v * along_columns(values);
    if (vectors.defined()) {
      const Tensor inner = product(adjoint(v), vectors);
      if (is_complex(v.dtype()))
        blas::check_phases("eigh", tenon::imag(inner.diagonal(0, -2, -1)), vectors);
      const Tensor gaps = blas::differences(c["eigenvalues"_result]);
      const Tensor pairs = blas::used_pairs(blas::used_columns(vectors));
      const Tensor part = product(v, blas::ratio_where_used(blas::skew(inner) * 0.5, gaps, pairs));
      left = left.defined() ? left + part : part;
    }
    return left.defined() ? blas::symmetric_half(product(left, adjoint(v))) : Tensor();
  }
  // With P = V^H t V: diag(P), which is real, and V (P F).
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Eigh>& c, TensorList t) {
    const Tensor v = c["eigenvectors"_result];
    const Tensor p = product(adjoint(v), product(blas::symmetric_half(t[0]), v));
    const Tensor values = p.diagonal(0, -2, -1), gaps = blas::differences(c["eigenvalues"_result]);
    const Tensor apart = p - tenon::eye(p.size(-1), tenon::none, p.dtype()) * values.unsqueeze(-1);
    const Tensor all = tenon::ones({p.size(-1)}, tenon::boolean);
    return {blas::real_part(values),
            product(v, blas::ratio_where_used(apart, gaps, blas::used_pairs(all)))};
  }
};

struct Eigvalsh {
  static constexpr auto schema = "linalg.eigvalsh(Tensor A, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2], "values": [2, 0.5, 0.5, 1]}}, {"A": {"shape": [2, 3, 3]}},
          {"A": {"shape": [2, 2], "dtype": "c128"}}])";
  static constexpr auto doc =
      "The eigenvalues of symmetric (complex: Hermitian) matrices A [..., n, n] in ascending "
      "order, "
      "[..., n]; they are real. Of A its "
      "symmetric half counts. Elements that are not finite are an error. The rules compute the "
      "vectors: eigh().";
  static constexpr auto saves = "A";

  static Tensor shape_rule(const Tensor& a) {
    blas::check_square("eigvalsh", "A", a);
    return blas::empty_real_batch(a, {a.size(-1)});
  }
  static Tensor forward(const Tensor& a) { return Eigenvalues("eigvalsh", a, false).values; }
  static Tensor backward(ContextOf<Eigvalsh>& c, const Tensor& g) {
    const Tensor v = std::get<1>(tenon::linalg::eigh(c["A"_arg]));
    return product(v * along_columns(g), adjoint(v));
  }
  static Tensor jvp(ContextOf<Eigvalsh>& c, TensorList t) {
    const Tensor v = std::get<1>(tenon::linalg::eigh(c["A"_arg]));
    return blas::column_dots(v, product(blas::symmetric_half(t[0]), v));
  }
};

}  // namespace
TENON_OPS(Eigh, Eigvalsh)
