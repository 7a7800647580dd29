// linalg.solve and linalg.inv.
#include "linalg.hpp"

namespace {

using tenon::ContextOf;
using tenon::IntList;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;
using tenon::kernel::Shape;

struct Solve {
  static constexpr auto schema =
      "linalg.solve(Tensor A, Tensor B, *, bool left=True, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2], "values": [2, 0.5, -0.3, 1.5]}, "B": {"shape": [2, 3]}},
          {"A": {"shape": [2, 2, 2], "values": [2, 0.5, -0.3, 1.5, 1, 0.2, 0.4, -2]}, "B": {"shape": [2]}},
          {"A": {"shape": [2, 2], "values": [2, 0.5, -0.3, 1.5]}, "B": {"shape": [3, 2, 2]}, "left": false},
          {"A": {"shape": [2, 2], "dtype": "c128", "values": [2, 0.3, 0.5, -0.2, -0.3, 0.4, 1.5, -0.6]},
           "B": {"shape": [2, 1], "dtype": "c128"}}])";
  static constexpr auto doc =
      "X with A X = B, or X A = B without left, for square matrices A [..., n, n] and matrices B "
      "[..., n, k], whose batch dimensions are broadcast. B of shape [n], or of the shape of A "
      "without its last dimension, is vectors. By elimination with row exchanges; a singular A is "
      "an error.";
  static constexpr auto saves = "A, shape(B), result";

  // The right sides as columns, and their shape after broadcasting.
  struct RightSides {
    bool vectors;
    Tensor columns;
    Shape shape;
  };
  static RightSides right_sides(const Tensor& a, const Tensor& b, bool left) {
    blas::check_square("solve", "A", a);
    blas::check_dtypes("solve", "A", a, "B", b);
    const bool vectors = blas::is_vectors(a, b);
    if (vectors && !left) {
      throw tenon::ValueError("solve(): 'B' of shape " + blas::shape_text(b) +
                              " is vectors, which need left=True");
    }
    const int64_t n = a.size(-1);
    if (b.dim() == 0 || (!vectors && b.dim() < 2) || b.size(vectors || !left ? -1 : -2) != n) {
      throw tenon::ValueError("solve(): 'A' of shape " + blas::shape_text(a) +
                              " does not fit 'B' of shape " + blas::shape_text(b));
    }
    Tensor columns = vectors ? b.unsqueeze(-1) : left ? b : blas::transposed(b);
    const Shape shape = blas::common_batch_shape("solve", a, columns, n, columns.size(-1));
    return {vectors, std::move(columns), shape};
  }
  static Tensor shape_rule(const Tensor& a, const Tensor& b, bool left) {
    RightSides right = right_sides(a, b, left);
    Shape& shape = right.shape;
    if (right.vectors) --shape.rank;
    if (!left) std::swap(shape[shape.rank - 1], shape[shape.rank - 2]);
    return tenon::empty_tensor(shape, a.dtype());
  }

  static Tensor forward(const Tensor& a, const Tensor& b, bool left) {
    const auto [vectors, right, shape] = right_sides(a, b, left);
    Shape square = shape;
    square[square.rank - 1] = a.size(-1);
    const Tensor matrix = left ? a : blas::transposed(a);
    // One matrix is factored once, for however many right sides.
    const blas::Factors factors(blas::matrix_count(a) == 1 ? matrix
                                                           : matrix.expand(IntList(square)));
    factors.check_invertible("solve");
    constexpr int64_t few = 16;  // right sides that are turned at no cost
    if (left && right.size(-1) >= few) {
      const Tensor rows = tenon::empty_tensor(shape, a.dtype());
      tenon::copy_elements(rows, right);
      factors.solve_rows(rows);
      return rows;
    }
    const Tensor solved = blas::column_major_copy(right.expand(IntList(shape)));
    factors.solve(solved);
    if (!left) return solved;
    const Tensor result = blas::from_column_major(solved);
    return vectors ? result.squeeze(-1) : result;
  }
  static std::tuple<Tensor, Tensor> backward(ContextOf<Solve>& c, const Tensor& g) {
    const Tensor& a = c["A"_arg];
    const bool left = c["left"_arg], vectors = blas::is_vectors(a, c["B"_arg]);
    const auto columns = [&](const Tensor& x) { return vectors ? x.unsqueeze(-1) : x; };
    const Tensor right = tenon::linalg::solve(blas::adjoint(a), columns(g), left);
    Tensor matrix, result;
    if (c.needs_input_grad("A"_arg)) {
      const Tensor x = columns(c.result());
      const Tensor product =
          left ? blas::product(right, blas::adjoint(x)) : blas::product(blas::adjoint(x), right);
      matrix = -product.sum_to_size(a.shape());
    }
    if (c.needs_input_grad("B"_arg))
      result = (vectors ? right.squeeze(-1) : right).sum_to_size(c["B"_arg].shape());
    return {std::move(matrix), std::move(result)};
  }
  static Tensor jvp(ContextOf<Solve>& c, TensorList t) {
    const Tensor& a = c["A"_arg];
    const bool left = c["left"_arg], vectors = blas::is_vectors(a, c["B"_arg]);
    const auto columns = [&](const Tensor& x) { return vectors ? x.unsqueeze(-1) : x; };
    const Tensor x = columns(c.result());
    Tensor right;
    if (t[1].defined()) right = columns(t[1]).expand(x.shape());
    if (t[0].defined()) {
      const Tensor part = left ? blas::product(t[0], x) : blas::product(x, t[0]);
      right = right.defined() ? right - part : -part;
    }
    const Tensor tangent = tenon::linalg::solve(a, right, left);
    return vectors ? tangent.squeeze(-1) : tangent;
  }
};

struct Inv {
  static constexpr auto schema = "linalg.inv(Tensor A, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2], "values": [2, 0.5, -0.3, 1.5]}},
          {"A": {"shape": [2, 2, 2], "values": [2, 0.5, -0.3, 1.5, 1, 0.2, 0.4, -2]}},
          {"A": {"shape": [2, 2], "dtype": "c128", "values": [2, 0.3, 0.5, -0.2, -0.3, 0.4, 1.5, -0.6]}}])";
  static constexpr auto doc =
      "The inverses of square matrices, [..., n, n]; a singular one is an error. solve() is faster "
      "and more exact where they would be multiplied.";
  static constexpr auto saves = "result";

  static Tensor shape_rule(const Tensor& a) { return blas::empty_square("inv", a); }
  static Tensor forward(const Tensor& a) {
    blas::check_square("inv", "A", a);
    const blas::Factors factors(a);
    factors.check_invertible("inv");
    factors.invert();
    return blas::from_column_major(factors.lu);
  }
  static Tensor backward(ContextOf<Inv>& c, const Tensor& g) {
    const Tensor turned = blas::adjoint(c.result());
    return -blas::product(turned, blas::product(g, turned));
  }
  static Tensor jvp(ContextOf<Inv>& c, TensorList t) {
    const Tensor& result = c.result();
    return -blas::product(result, blas::product(t[0], result));
  }
};

}  // namespace
TENON_OPS(Solve, Inv)
