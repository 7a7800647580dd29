// linalg.svd and linalg.svdvals.
#include <algorithm>
#include <memory>

#include "lapack.hpp"
#include "linalg.hpp"

namespace blas {

namespace {
// info of LAPACK for a column-major m x n matrix at `a`, which is overwritten.
template <class T>
int decompose(const char* job, int m, int n, T* a, lapack::Real<T>* s, T* u, T* vt,
              int vt_leading) {
  const int few = std::min(m, n);
  const std::unique_ptr<int[]> integers(new int[static_cast<size_t>(few) * 8]);
  // The work space that zgesdd's documentation asks for.
  const auto k = static_cast<size_t>(few), most = static_cast<size_t>(std::max(m, n));
  using Reals = std::unique_ptr<lapack::Real<T>[]>;
  const Reals reals(lapack::is_complex<T>
                        ? new lapack::Real<T>[k * std::max(5 * k + 7, 2 * most + 2 * k + 1)]
                        : nullptr);
  int info = 0;
  return lapack::with_workspace<T>([&](T* work, const int* size) {
    const auto gesdd =
        lapack::routine<T>(lapack::sgesdd_, lapack::dgesdd_, lapack::cgesdd_, lapack::zgesdd_);
    if constexpr (lapack::is_complex<T>) {
      gesdd(job, &m, &n, a, &m, s, u, &m, vt, &vt_leading, work, size, reals.get(), integers.get(),
            &info, 1);
    } else {
      gesdd(job, &m, &n, a, &m, s, u, &m, vt, &vt_leading, work, size, integers.get(), &info, 1);
    }
    return info;
  });
}
}  // namespace

SingularValues::SingularValues(const Tensor& matrices, Vectors vectors) {
  const int64_t rows = matrices.size(-2), columns = matrices.size(-1);
  const int64_t few = std::min(rows, columns);
  s = empty_real_batch(matrices, {few});
  if (vectors == none) return;
  u = empty_batch(matrices, {rows, vectors == full ? rows : few});
  vh = empty_batch(matrices, {vectors == full ? columns : few, columns});
}

// Row-major matrices are LAPACK's transposed, whose factors are those of A the other way around:
// all of them are row-major again.
SingularValues::SingularValues(const char* op, const char* name, const Tensor& matrices,
                               Vectors vectors)
    : SingularValues(matrices, vectors) {
  const int64_t rows = matrices.size(-2), columns = matrices.size(-1);
  const int64_t few = std::min(rows, columns), count = matrix_count(matrices);
  const int64_t left = vectors == full ? rows : few, right = vectors == full ? columns : few;
  if (matrices.numel() == 0) {
    if (vectors == none) return;
    tenon::copy_elements(u, tenon::eye(rows, left, matrices.dtype()));
    tenon::copy_elements(vh, tenon::eye(right, columns, matrices.dtype()));
    return;
  }
  const int m = lapack_size(columns), n = lapack_size(rows),
            vt_leading = lapack_size(std::max<int64_t>(1, left));
  const Tensor a = tenon::empty_tensor(matrices.shape(), matrices.dtype());
  tenon::copy_elements(a, matrices);
  check_finite(op, name, a);
  const char* job = vectors == full ? "A" : vectors == reduced ? "S" : "N";
  each_matrix(a, count, std::max(rows, columns), [&](auto zero, int64_t i) {
    using T = decltype(zero);
    using tenon::kernel::elements;
    T* at = elements<T>(a) + i * rows * columns;
    T* to_u = vectors == none ? nullptr : elements<T>(u) + i * rows * left;
    T* to_vh = vectors == none ? nullptr : elements<T>(vh) + i * right * columns;
    const int info =
        decompose(job, m, n, at, elements<lapack::Real<T>>(s) + i * few, to_vh, to_u, vt_leading);
    check_converged(op, info, i, count);
  });
}

Tensor smallest_singular_value(const Tensor& matrices, const Tensor& s, std::optional<double> atol,
                               std::optional<double> rtol) {
  const auto larger = static_cast<double>(std::max(matrices.size(-2), matrices.size(-1)));
  const double least = atol.value_or(0),
               part = rtol.value_or(least > 0 ? 0 : larger * epsilon_of(s));
  if (s.size(-1) == 0) return s.sum(-1);
  return (s.amax(-1) * part).clamp(least);
}

}  // namespace blas

namespace {

using blas::adjoint, blas::along_columns, blas::along_rows, blas::product, blas::ratio_where_used;
using blas::SingularValues;
using tenon::Context;
using tenon::ContextOf;
using tenon::is_complex;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;

struct Svd {
  static constexpr auto schema =
      "linalg.svd(Tensor A, bool full_matrices=True, *, Tensor(a!)[]? out=None) -> (Tensor U, "
      "Tensor S, Tensor Vh)";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2]}}, {"A": {"shape": [3, 2]}, "full_matrices": false},
          {"A": {"shape": [2, 2, 3]}, "full_matrices": false},
          {"A": {"shape": [3, 2], "requires_grad": false}},
          {"A": {"shape": [3, 2], "dtype": "c128", "requires_grad": false}}])";
  static constexpr auto doc =
      "The singular value decomposition A = U diag(S) Vh of matrices A [..., m, n]: orthonormal "
      "columns U [..., m, m], S [..., k] with k = min(m, n) in descending order, orthonormal rows "
      "Vh [..., n, n]; without full_matrices [..., m, k] and [..., k, n]. S is real. A column of U "
      "and the row of Vh may both change their sign; complex ones are determined up to a phase, "
      "and "
      "the gradient of a loss that depends on it is an error. The gradient of the columns and rows "
      "beyond the first k "
      "is an error; where singular values are equal (within their rounding), the gradient of their "
      "columns and rows is NaN, and so is that of a rectangular U or Vh where they are 0. Elements "
      "that are not finite are an error. svdvals() is faster.";
  static constexpr auto saves = "shape(A), result0, result1, result2";
  static constexpr bool twice_differentiable = true;

  static SingularValues::Vectors vectors_of(bool full_matrices) {
    return full_matrices ? SingularValues::full : SingularValues::reduced;
  }
  static std::tuple<Tensor, Tensor, Tensor> shape_rule(const Tensor& a, bool full_matrices) {
    blas::check_matrices("svd", "A", a);
    const SingularValues empty(a, vectors_of(full_matrices));
    return {empty.u, empty.s, empty.vh};
  }
  static std::tuple<Tensor, Tensor, Tensor> forward(Context& c, const Tensor& a,
                                                    bool full_matrices) {
    c.set_materialize_grads(false);
    blas::check_matrices("svd", "A", a);
    const SingularValues found("svd", "A", a, vectors_of(full_matrices));
    return {found.u, found.s, found.vh};
  }

  // The vectors of the k singular values; further vectors span what is orthogonal to these.
  struct Reduced {
    Tensor u, s, vh;
    explicit Reduced(ContextOf<Svd>& c) : u(c["U"_result]), s(c["S"_result]), vh(c["Vh"_result]) {
      u = u.narrow(-1, 0, s.size(-1));
      vh = vh.narrow(-2, 0, s.size(-1));
    }
    // s_j^2 - s_i^2
    Tensor gaps() const { return blas::differences(s) * (along_columns(s) + along_rows(s)); }
  };
  [[noreturn]] static void refuse_full(const Tensor& u, const Tensor& vh) {
    throw tenon::ValueError(
        "svd(): singular vectors beyond the first min(m, n) have no derivative, in U of shape " +
        blas::shape_text(u) + " and Vh of shape " + blas::shape_text(vh) +
        "; use full_matrices=False");
  }
  // A gradient of the first vectors alone.
  static Tensor reduced(ContextOf<Svd>& c, const Tensor& g, int64_t dim, int64_t k) {
    if (!g.defined() || g.size(dim) == k) return g;
    const Tensor further = g.narrow(dim, k, g.size(dim) - k);
    if (further.detach().ne(0).any().item<bool>()) refuse_full(c["U"_result], c["Vh"_result]);
    return g.narrow(dim, 0, k);
  }
  // arXiv:1909.02659: U (skew(U^H u) F S + S skew(V^H v) F + diag(s)) V^H, where F has
  // 1 / (s_j^2 - s_i^2), and what u and v have beyond the spaces of U and V, divided by S. The
  // phases of complex vectors have i Im(diag(U^H u)) / S, where the loss does not depend on them.
  static Tensor backward(ContextOf<Svd>& c, const Tensor& u_full, const Tensor& s_gradient,
                         const Tensor& vh_full) {
    const Reduced of(c);
    const int64_t k = of.s.size(-1);
    const Tensor u = reduced(c, u_full, -1, k), vh = reduced(c, vh_full, -2, k);
    Tensor left;   // the factor in front of Vh
    Tensor turns;  // the change of the phases, which u and v must agree about
    const auto add = [](Tensor& sum, const Tensor& part) {
      sum = sum.defined() ? sum + part : part;
    };
    if (s_gradient.defined()) add(left, of.u * along_columns(s_gradient));
    if (u.defined()) {
      const Tensor inner = product(adjoint(of.u), u);
      const Tensor used = blas::used_columns(u);
      const Tensor turned = ratio_where_used(blas::skew(inner), of.gaps(), blas::used_pairs(used));
      add(left, product(of.u, turned * along_columns(of.s)));
      if (of.u.size(-2) > k)
        add(left,
            ratio_where_used(u - product(of.u, inner), along_columns(of.s), along_columns(used)));
      if (is_complex(u.dtype())) {
        turns = tenon::imag(inner.diagonal(0, -2, -1));
        add(left, of.u * along_columns(blas::times_i(ratio_where_used(turns, of.s, used))));
      }
    }
    Tensor beyond;
    if (vh.defined()) {
      const Tensor inner = product(of.vh, adjoint(vh));
      const Tensor used = blas::used_columns(blas::transposed(vh));
      const Tensor turned = ratio_where_used(blas::skew(inner), of.gaps(), blas::used_pairs(used));
      add(left, product(of.u, turned * along_rows(of.s)));
      if (of.vh.size(-1) > k) {
        beyond = product(of.u, ratio_where_used(vh - product(adjoint(inner), of.vh),
                                                along_rows(of.s), along_rows(used)));
      }
      if (is_complex(vh.dtype())) add(turns, tenon::imag(inner.diagonal(0, -2, -1)));
    }
    if (!left.defined()) return {};
    if (turns.defined()) check_turns(turns, u, vh);
    const Tensor result = product(left, of.vh);
    return beyond.defined() ? result + beyond : result;
  }
  static void check_turns(const Tensor& turns, const Tensor& u, const Tensor& vh) {
    if (turns.numel() == 0) return;
    Tensor gradients = u.defined() ? u.detach().abs().amax() : vh.detach().abs().amax();
    if (u.defined() && vh.defined()) gradients = gradients.maximum(vh.detach().abs().amax());
    blas::check_phases("svd", turns, gradients);
  }
  // With P = U^H t V: ds = diag(P), dU = U ((P S + S P^H) F) and dV = V ((S P + P^H S) F), and what
  // t has beyond the spaces of U and V, divided by S. Where P has imaginary numbers on its diagonal,
  // U and V turn by half of them each.
  static std::tuple<Tensor, Tensor, Tensor> jvp(ContextOf<Svd>& c, TensorList t) {
    const Reduced of(c);
    const Tensor full_u = c["U"_result], full_vh = c["Vh"_result];
    const int64_t k = of.s.size(-1), m = of.u.size(-2), n = of.vh.size(-1);
    const bool further = full_u.size(-1) > k || full_vh.size(-2) > k;
    if (further && full_u.numel() + full_vh.numel() > 0) refuse_full(full_u, full_vh);
    if (further) return {full_u, of.s, full_vh};  // without elements
    const Tensor v = adjoint(of.vh), tv = product(t[0], v), p = product(adjoint(of.u), tv);
    const Tensor values = p.diagonal(0, -2, -1), gaps = of.gaps();
    const Tensor rows = along_rows(of.s), columns = along_columns(of.s);
    const Tensor apart = p - tenon::eye(k, tenon::none, p.dtype()) * along_rows(values);
    const Tensor all = tenon::ones({k}, tenon::boolean), pairs = blas::used_pairs(all);
    const auto turn = [&](const Tensor& a, const Tensor& b) {
      return ratio_where_used(a + b, gaps, pairs);
    };
    Tensor u = product(of.u, turn(apart * columns, rows * adjoint(apart)));
    Tensor dv = product(v, turn(rows * apart, adjoint(apart) * columns));
    if (m > k) u = u + ratio_where_used(tv - product(of.u, p), columns, all);
    if (n > k) {
      const Tensor tu = product(adjoint(t[0]), of.u);
      dv = dv + ratio_where_used(tu - product(v, adjoint(p)), columns, all);
    }
    if (!is_complex(p.dtype())) return {u, values, adjoint(dv)};
    const Tensor phases = blas::times_i(ratio_where_used(tenon::imag(values) * 0.5, of.s, all));
    u = u + of.u * along_columns(phases);
    dv = dv - v * along_columns(phases);
    return {u, tenon::real(values), adjoint(dv)};
  }
};

struct Svdvals {
  static constexpr auto schema = "linalg.svdvals(Tensor A, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples = R"([{"A": {"shape": [3, 2]}}, {"A": {"shape": [2, 2, 3]}},
          {"A": {"shape": [2, 3], "dtype": "c128"}}])";
  static constexpr auto doc =
      "The singular values of matrices [..., m, n] in descending order, [..., min(m, n)]. Elements "
      "that are not finite are an error. The rules compute the vectors: svd().";
  static constexpr auto saves = "A";

  static Tensor shape_rule(const Tensor& a) {
    blas::check_matrices("svdvals", "A", a);
    return SingularValues(a, SingularValues::none).s;
  }
  static Tensor forward(const Tensor& a) {
    blas::check_matrices("svdvals", "A", a);
    return SingularValues("svdvals", "A", a, SingularValues::none).s;
  }
  static Tensor backward(ContextOf<Svdvals>& c, const Tensor& g) {
    const auto [u, s, vh] = tenon::linalg::svd(c["A"_arg], false);
    return product(u * along_columns(g), vh);
  }
  static Tensor jvp(ContextOf<Svdvals>& c, TensorList t) {
    const auto [u, s, vh] = tenon::linalg::svd(c["A"_arg], false);
    return blas::column_dots(u, product(t[0], adjoint(vh)));
  }
};

}  // namespace
TENON_OPS(Svd, Svdvals)
