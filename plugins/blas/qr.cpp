// linalg.qr.
#include <algorithm>
#include <memory>

#include "lapack.hpp"
#include "linalg.hpp"

namespace {

using blas::adjoint, blas::product;
using tenon::ContextOf;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;
namespace lapack = blas::lapack;

enum class Mode { reduced, complete, r };
Mode mode_of(std::string_view text) {
  if (text == "reduced") return Mode::reduced;
  if (text == "complete") return Mode::complete;
  if (text == "r") return Mode::r;
  throw tenon::ValueError("qr(): mode is '" + std::string(text) +
                          "', expected 'reduced', 'complete' or 'r'");
}

// Householder reflectors of column-major copies of the matrices: R is in and above the diagonal,
// Q is made of what is below it.
struct Reflectors {
  Tensor a;  // [..., columns, rows], of as many columns as A or Q has, whichever are more
  int64_t rows, columns, count;

  Reflectors(const Tensor& matrices, int64_t q_columns)
      : rows(matrices.size(-2)), columns(matrices.size(-1)), count(blas::matrix_count(matrices)) {
    const int64_t held = std::max(columns, q_columns);
    a = blas::empty_batch(matrices, {held, rows});
    tenon::copy_elements(leading_columns(columns), matrices);
  }
  // The first columns as matrices [..., rows, n].
  Tensor leading_columns(int64_t n) const {
    const Tensor view = blas::from_column_major(a);
    blas::Shape shape(view.shape());
    shape[shape.rank - 1] = n;
    return tenon::alias_tensor(view, shape, view.strides(), 0);
  }
  // The upper triangle of a matrix, row by row, in tiles that stay in the cache.
  template <class T>
  void copy_upper(const T* from, T* to, int64_t to_rows) const {
    constexpr int64_t kSide = 32;
    for (int64_t top = 0; top < to_rows; top += kSide) {
      const int64_t bottom = std::min(to_rows, top + kSide);
      for (int64_t row = top; row < bottom; ++row)
        std::fill_n(to + row * columns, std::min(row, columns), T{0});
      for (int64_t left = top; left < columns; left += kSide) {
        const int64_t right = std::min(columns, left + kSide);
        for (int64_t row = top; row < bottom; ++row) {
          for (int64_t column = std::max(left, row); column < right; ++column)
            to[row * columns + column] = from[column * rows + row];
        }
      }
    }
  }
  // Copies R, whose size says how many rows it has, and makes Q of the reflectors, unless it has no
  // columns.
  void factor(const Tensor& r, int64_t q_columns) {
    const int m = blas::lapack_size(rows), n = blas::lapack_size(columns),
              q = blas::lapack_size(q_columns), leading = std::max(1, m), k = std::min(m, n);
    const int64_t stride = a.size(-1) * a.size(-2), r_size = r.size(-1) * r.size(-2);
    blas::each_matrix(a, count, std::max(rows, columns), [&](auto zero, int64_t i) {
      using T = decltype(zero);
      T* at = tenon::kernel::elements<T>(a) + i * stride;
      const std::unique_ptr<T[]> tau(new T[static_cast<size_t>(std::max(1, k))]);
      int info = 0;
      lapack::with_workspace<T>([&](T* work, const int* size) {
        lapack::routine<T>(lapack::sgeqrf_, lapack::dgeqrf_, lapack::cgeqrf_, lapack::zgeqrf_)(
            &m, &n, at, &leading, tau.get(), work, size, &info);
        return info;
      });
      copy_upper(at, tenon::kernel::elements<T>(r) + i * r_size, r.size(-2));
      if (q == 0) return;
      lapack::with_workspace<T>([&](T* work, const int* size) {
        lapack::routine<T>(lapack::sorgqr_, lapack::dorgqr_, lapack::cungqr_, lapack::zungqr_)(
            &m, &q, &k, at, &leading, tau.get(), work, size, &info);
        return info;
      });
    });
  }
};

struct Qr {
  static constexpr auto schema =
      "linalg.qr(Tensor A, str mode='reduced', *, Tensor(a!)[]? out=None) -> (Tensor Q, Tensor R)";
  static constexpr auto samples =
      R"([{"A": {"shape": [3, 2]}}, {"A": {"shape": [2, 2, 3]}},
          {"A": {"shape": [2, 2]}, "mode": "complete"},
          {"A": {"shape": [3, 2], "requires_grad": false}, "mode": "complete"},
          {"A": {"shape": [3, 2], "requires_grad": false}, "mode": "r"},
          {"A": {"shape": [3, 2], "dtype": "c128"}}])";
  static constexpr auto doc =
      "Q with orthonormal columns and the upper triangular R with Q R = A, for matrices A [..., m, "
      "n]. mode 'reduced': Q [..., m, k] and R [..., k, n] with k = min(m, n); 'complete': Q [..., "
      "m, m] and R [..., m, n]; 'r': R of 'reduced', and an empty Q. By Householder reflections, "
      "so "
      "that the diagonal of R is real and may be negative, as NumPy has it. Gradients need "
      "independent first k "
      "columns, and Q of as many columns as R has rows that are not 0: mode 'r', and 'complete' of "
      "more rows than columns, have none.";
  static constexpr auto saves = "shape(A), result0, result1";

  // An empty R, and how many columns Q has.
  static std::pair<Tensor, int64_t> factors_of(const Tensor& a, Mode mode) {
    blas::check_matrices("qr", "A", a);
    const int64_t m = a.size(-2), n = a.size(-1);
    const int64_t r_rows = mode == Mode::complete ? m : std::min(m, n);
    return {blas::empty_batch(a, {r_rows, n}), mode == Mode::r ? 0 : r_rows};
  }
  static std::tuple<Tensor, Tensor> shape_rule(const Tensor& a, std::string_view mode_text) {
    const Mode mode = mode_of(mode_text);
    const auto [r, q_columns] = factors_of(a, mode);
    if (mode == Mode::r) return {tenon::empty_tensor({0}, a.dtype()), r};
    return {blas::empty_batch(a, {a.size(-2), q_columns}), r};
  }
  static std::tuple<Tensor, Tensor> forward(const Tensor& a, std::string_view mode_text) {
    const Mode mode = mode_of(mode_text);
    const auto [r, q_columns] = factors_of(a, mode);
    Reflectors reflectors(a, q_columns);
    if (reflectors.a.numel() != 0) reflectors.factor(r, q_columns);
    if (mode == Mode::r) return {tenon::empty_tensor({0}, a.dtype()), r};
    return {reflectors.leading_columns(q_columns), r};
  }

  static void check_differentiable(ContextOf<Qr>& c) {
    const Mode mode = mode_of(c["mode"_arg]);
    const auto& a = c["A"_arg];
    if (mode == Mode::reduced || (mode == Mode::complete && a.size(-2) <= a.size(-1))) return;
    throw tenon::ValueError("qr(): mode '" + std::string(c["mode"_arg]) +
                            "' has no derivative for matrices of shape " +
                            tenon::kernel::shape_text(a.shape()) + "; use mode='reduced'");
  }
  // arXiv:2009.10071: (g + Q sym(R r^H - g^H Q)) R^-H for the first k columns, where sym repeats
  // the lower triangle above the diagonal. Further columns are Q^H A: their gradients reach them and
  // Q.
  static Tensor backward(ContextOf<Qr>& c, const Tensor& q_gradient, const Tensor& r_gradient) {
    check_differentiable(c);
    const Tensor q = c["Q"_result], r = c["R"_result];
    const int64_t n = r.size(-1), k = r.size(-2);
    Tensor g = q_gradient, rest;
    if (n > k) {
      const Tensor r_rest = r_gradient.narrow(-1, k, n - k);
      g = g + product(product(q, r.narrow(-1, k, n - k)), adjoint(r_rest));
      rest = product(q, r_rest);
    }
    const Tensor square = r.narrow(-1, 0, k), r_square = r_gradient.narrow(-1, 0, k);
    const Tensor inner = product(square, adjoint(r_square)) - product(adjoint(g), q);
    const Tensor half = blas::lower_half(inner), mirrored = half + adjoint(half);
    const Tensor first =
        tenon::linalg::solve(adjoint(square), g + product(q, mirrored), /*left*/ false);
    return n > k ? tenon::cat({first, rest}, -1) : first;
  }
  // With B = Q^H t R^-1 of the first columns and W = L - L^H for the lower half L of B, which is
  // Q^H dQ: dQ = Q W + (t R^-1 - Q B), dR = Q^H t - W R.
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Qr>& c, TensorList t) {
    check_differentiable(c);
    const Tensor q = c["Q"_result], r = c["R"_result];
    const int64_t k = r.size(-2);
    const Tensor square = r.narrow(-1, 0, k);
    const Tensor ratio = tenon::linalg::solve(square, t[0].narrow(-1, 0, k), /*left*/ false);
    const Tensor inner = product(adjoint(q), ratio);
    const Tensor half = blas::lower_half(inner), turn = half - adjoint(half);
    return {product(q, turn) + (ratio - product(q, inner)),
            product(adjoint(q), t[0]) - product(turn, r)};
  }
};

}  // namespace
TENON_OP(Qr)
