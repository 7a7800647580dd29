// linalg.lstsq.
#include <algorithm>
#include <memory>

#include "lapack.hpp"
#include "linalg.hpp"

namespace {

using blas::adjoint, blas::along_columns, blas::product;
using tenon::Context;
using tenon::ContextOf;
using tenon::IntList;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;
namespace lapack = blas::lapack;

struct Solved {
  Tensor solution, rank, singular_values;
};

struct Sizes {
  int rows, columns, right_sides, leading;
};
// info of LAPACK for one matrix at `a`, which is overwritten; `b` has the right sides and then the
// solutions.
template <class T>
int solve_one(const Sizes& sizes, T* a, T* b, lapack::Real<T>* s, double rcond, int* rank) {
  using Real = lapack::Real<T>;
  const auto limit = static_cast<Real>(rcond);
  int info = 0, best_integers = 0;
  Real best_reals = 0;
  int* integers = &best_integers;
  Real* reals = &best_reals;
  std::unique_ptr<int[]> held_integers;
  std::unique_ptr<Real[]> held_reals;
  return lapack::with_workspace<T>([&](T* work, const int* size) {
    const auto& [rows, columns, right_sides, leading] = sizes;
    const auto gelsd =
        lapack::routine<T>(lapack::sgelsd_, lapack::dgelsd_, lapack::cgelsd_, lapack::zgelsd_);
    if constexpr (lapack::is_complex<T>) {
      gelsd(&rows, &columns, &right_sides, a, &rows, b, &leading, s, &limit, rank, work, size,
            reals, integers, &info);
    } else {
      gelsd(&rows, &columns, &right_sides, a, &rows, b, &leading, s, &limit, rank, work, size,
            integers, &info);
    }
    if (held_integers == nullptr) {
      held_integers.reset(new int[static_cast<size_t>(std::max(1, best_integers))]);
      integers = held_integers.get();
      held_reals.reset(new Real[static_cast<size_t>(lapack::workspace_size(best_reals))]);
      reals = held_reals.get();
    }
    return info;
  });
}

// `right` and the result have the batch dimensions of `a`.
Solved solve_by_singular_values(const Tensor& a, const Tensor& right, double rcond) {
  const int64_t rows = a.size(-2), columns = a.size(-1), sides = right.size(-1),
                few = std::min(rows, columns), held = std::max(rows, columns),
                count = blas::matrix_count(a);
  Solved result{blas::empty_batch(a, {columns, sides}),
                tenon::empty_tensor(blas::batch_shape(a, {}), tenon::i64),
                blas::empty_real_batch(a, {few})};
  if (count == 0 || few == 0) {
    tenon::fill_elements(result.solution, 0);
    tenon::fill_elements(result.rank, 0);
    return result;
  }
  const Tensor matrix = blas::column_major_copy(a);
  blas::check_finite("lstsq", "A", blas::from_column_major(matrix));
  // LAPACK replaces the right sides by the solutions, which may be the longer ones.
  // It has to have one.
  const int64_t solved = std::max<int64_t>(1, sides);
  const Tensor sides_copy = blas::empty_batch(a, {solved, held});
  if (sides == 0) tenon::fill_elements(sides_copy, 0);
  const auto leading_rows = [&](int64_t n) {
    const Tensor view = blas::from_column_major(sides_copy);
    return tenon::alias_tensor(view, blas::batch_shape(a, {n, sides}), view.strides(), 0);
  };
  tenon::copy_elements(leading_rows(rows), right);
  const int m = blas::lapack_size(rows), n = blas::lapack_size(columns),
            k = blas::lapack_size(solved), leading = blas::lapack_size(held);
  auto* ranks = result.rank.data<int64_t>();
  blas::each_matrix(matrix, count, held, [&](auto zero, int64_t i) {
    using T = decltype(zero);
    using tenon::kernel::elements;
    int rank = 0;
    const int info =
        solve_one<T>({m, n, k, leading}, elements<T>(matrix) + i * rows * columns,
                     elements<T>(sides_copy) + i * held * solved,
                     elements<lapack::Real<T>>(result.singular_values) + i * few, rcond, &rank);
    blas::check_converged("lstsq", info, i, count);
    ranks[i] = rank;
  });
  tenon::copy_elements(result.solution, leading_rows(columns));
  return result;
}

struct Lstsq {
  static constexpr auto schema =
      "linalg.lstsq(Tensor A, Tensor B, float? rcond=None) -> (Tensor solution, Tensor residuals, "
      "Tensor rank, Tensor singular_values)";
  static constexpr auto samples =
      R"([{"A": {"shape": [3, 2]}, "B": {"shape": [3, 2]}}, {"A": {"shape": [2, 3]}, "B": {"shape": [2]}},
          {"A": {"shape": [2, 2, 3]}, "B": {"shape": [2, 1]}},
          {"A": {"shape": [3, 2, 1]}, "B": {"shape": [3, 2]}},
          {"A": {"shape": [3, 2], "dtype": "c128"}, "B": {"shape": [3, 1], "dtype": "c128"}}])";
  // The residuals are there for matrices of full rank alone.
  static constexpr bool data_dependent_shape = true;
  static constexpr auto doc =
      "The X of least norm among those with the least |A X - B|, for matrices A [..., m, n] and "
      "matrices B [..., m, k], whose batch dimensions are broadcast: [..., n, k]. B of shape [m], "
      "or of the shape of A without its last dimension, is vectors. residuals is the square of "
      "|A X - B| for each column, a real number, empty unless m > n and every A has rank n; rank "
      "is i64 [...], "
      "singular_values [..., min(m, n)] in descending order. Singular values up to rcond times the "
      "largest one count as 0, by default max(m, n) times the dtype's epsilon. Gradients are "
      "those of matrices of constant rank. Elements of A that are not finite are an error.";
  static constexpr auto saves = "A, B, result0, result1, result3";
  static constexpr bool twice_differentiable = true;

  static double limit_of(const Tensor& a, std::optional<double> rcond) {
    return rcond.value_or(blas::epsilon_of(a) *
                          static_cast<double>(std::max(a.size(-2), a.size(-1))));
  }

  static std::tuple<Tensor, Tensor, Tensor, Tensor> forward(Context& c, const Tensor& a,
                                                            const Tensor& b,
                                                            std::optional<double> rcond) {
    c.set_materialize_grads(false);
    blas::check_matrices("lstsq", "A", a);
    blas::check_dtypes("lstsq", "A", a, "B", b);
    const bool vectors = blas::is_vectors(a, b);
    const int64_t m = a.size(-2), n = a.size(-1);
    if (b.dim() == 0 || (!vectors && b.dim() < 2) || b.size(vectors ? -1 : -2) != m) {
      throw tenon::ValueError("lstsq(): 'A' of shape " + blas::shape_text(a) +
                              " does not fit 'B' of shape " + blas::shape_text(b));
    }
    const Tensor right = vectors ? b.unsqueeze(-1) : b;
    const blas::Shape right_shape = blas::common_batch_shape("lstsq", a, right, m, right.size(-1));
    blas::Shape shape = right_shape;
    shape[shape.rank - 1] = n;
    const Tensor matrices = a.expand(IntList(shape)), sides = right.expand(IntList(right_shape));
    Solved found = solve_by_singular_values(matrices, sides, limit_of(a, rcond));
    Tensor residuals = tenon::empty_tensor({0}, tenon::real_dtype(a.dtype()));
    if (m > n && found.rank.eq(n).all().item<bool>()) {
      const Tensor rest = product(matrices, found.solution) - sides;
      residuals = blas::column_dots(rest, rest);
      if (vectors) residuals = residuals.squeeze(-1);
    }
    if (vectors) found.solution = found.solution.squeeze(-1);
    return {found.solution, residuals, found.rank, found.singular_values};
  }

  // A, B and the solution as matrices.
  struct Terms {
    Tensor a, b, x, p;
    bool vectors;
    explicit Terms(ContextOf<Lstsq>& c)
        : a(c["A"_arg]), b(c["B"_arg]), x(c["solution"_result]), vectors(blas::is_vectors(a, b)) {
      b = columns(b);
      x = columns(x);
      p = tenon::linalg::pinv(a, tenon::none, limit_of(a, c["rcond"_arg]));
    }
    Tensor columns(const Tensor& t) const { return vectors && t.defined() ? t.unsqueeze(-1) : t; }
    Tensor rows(const Tensor& t) const { return vectors ? t.squeeze(-1) : t; }
    Tensor rest() const { return b - product(a, x); }
  };
  // X is P B. What is left over is orthogonal to A, so that X does not change it in first order.
  static std::tuple<Tensor, Tensor> backward(ContextOf<Lstsq>& c, const Tensor& solution,
                                             const Tensor& residuals, const Tensor&,
                                             const Tensor& singular_values) {
    const Terms of(c);
    const Tensor g = of.columns(solution);
    Tensor a, b;
    if (g.defined()) {
      b = product(adjoint(of.p), g);
      if (c.needs_input_grad("A"_arg))
        a = blas::pinv_gradient("lstsq", of.a, of.p, product(g, adjoint(of.b)));
    }
    if (residuals.defined() && residuals.numel() != 0) {
      const Tensor part = of.rest() * along_columns(of.columns(residuals)) * 2;
      b = b.defined() ? b + part : part;
      const Tensor other = product(part, adjoint(of.x));
      a = a.defined() ? a - other : -other;
    }
    if (singular_values.defined()) {
      const auto [u, s, vh] = tenon::linalg::svd(of.a, false);
      const Tensor part = product(u * along_columns(singular_values), vh);
      a = a.defined() ? a + part : part;
    }
    if (a.defined()) a = a.sum_to_size(of.a.shape());
    if (b.defined()) b = of.rows(b.sum_to_size(of.b.shape()));
    return {std::move(a), std::move(b)};
  }
  static std::tuple<Tensor, Tensor, Tensor, Tensor> jvp(ContextOf<Lstsq>& c, TensorList t) {
    const Terms of(c);
    Tensor solution, change;
    if (t[0].defined()) {
      solution = product(blas::pinv_tangent("lstsq", of.a, of.p, t[0]), of.b);
      change = -product(t[0], of.x);
    }
    if (t[1].defined()) {
      const Tensor b = of.columns(t[1]), part = product(of.p, b);
      solution = solution.defined() ? solution + part : part;
      change = change.defined() ? change + b : b;
    }
    const Tensor residuals = c.result(1);
    Tensor rest = residuals;
    if (residuals.numel() != 0) rest = of.rows(blas::column_dots(of.rest(), change) * 2);
    Tensor singular_values;
    if (t[0].defined()) {
      const auto [u, s, vh] = tenon::linalg::svd(of.a, false);
      singular_values = blas::column_dots(u, product(t[0], adjoint(vh)));
      singular_values = singular_values.expand(c.result(3).shape());
    }
    return {of.rows(solution), rest, Tensor(), singular_values};
  }
};

}  // namespace
TENON_OP(Lstsq)
