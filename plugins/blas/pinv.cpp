// linalg.pinv and linalg.matrix_rank, which count singular values as 0 by one rule.
#include "linalg.hpp"

namespace blas {

namespace {
// P is that of A, but for rounding.
void check_constant_rank(const char* op, const Tensor& given, const Tensor& pseudoinverse) {
  const Tensor a = given.detach(), p = pseudoinverse.detach();
  if (a.numel() == 0) return;
  const Tensor rest = (a - product(a, product(p, a))).abs().amax({-2, -1});
  const Tensor limit = a.abs().amax({-2, -1}) * std::sqrt(epsilon_of(a));
  if (!rest.gt(limit).any().item<bool>()) return;
  throw tenon::ValueError(std::string(op) +
                          "(): singular values that are not 0 count as 0, which has no "
                          "derivative; lower the limits");
}
}  // namespace

// doi:10.1137/0710036 (Golub and Pereyra 1973), of constant rank:
// dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P.
Tensor pinv_gradient(const char* op, const Tensor& a, const Tensor& p, const Tensor& gradient) {
  check_constant_rank(op, a, p);
  const Tensor g = adjoint(gradient), pt = adjoint(p);
  const Tensor along = product(product(g, p), pt), across = product(pt, product(p, g));
  return along - product(a, product(p, along)) + across - product(product(across, p), a) -
         product(pt, product(gradient, pt));
}
Tensor pinv_tangent(const char* op, const Tensor& a, const Tensor& p, const Tensor& tangent) {
  check_constant_rank(op, a, p);
  const Tensor t = adjoint(tangent), pt = adjoint(p);
  const Tensor along = product(p, product(pt, t)), across = product(product(t, pt), p);
  return along - product(product(along, a), p) + across - product(p, product(a, across)) -
         product(p, product(tangent, p));
}

}  // namespace blas

namespace {

using blas::SingularValues;
using tenon::ContextOf;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;

// The values that pinv() and matrix_rank() count, and vectors with A = left diag(values) right.
struct Counted {
  Tensor left, values, right;  // the vectors are undefined unless asked for
  Tensor counts;               // which values count

  Counted(const char* op, const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
          bool hermitian, bool with_vectors) {
    if (hermitian) {
      blas::check_square(op, "A", a);
      if (with_vectors) {
        std::tie(values, left) = tenon::linalg::eigh(a);
        right = blas::adjoint(left);
      } else {
        values = tenon::linalg::eigvalsh(a);
      }
    } else {
      blas::check_matrices(op, "A", a);
      const SingularValues found(op, "A", a,
                                 with_vectors ? SingularValues::reduced : SingularValues::none);
      left = found.u, values = found.s, right = found.vh;
    }
    const Tensor sizes = hermitian ? values.abs() : values;
    const Tensor least = blas::smallest_singular_value(a, sizes, atol, rtol);
    counts = sizes.gt(least.unsqueeze(-1));
  }
};
void check_shape(const char* op, const Tensor& a, bool hermitian) {
  if (hermitian)
    blas::check_square(op, "A", a);
  else
    blas::check_matrices(op, "A", a);
}

struct Pinv {
  static constexpr auto schema =
      "linalg.pinv(Tensor A, *, float? atol=None, float? rtol=None, bool hermitian=False, "
      "Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [3, 2]}}, {"A": {"shape": [2, 2, 3]}},
          {"A": {"shape": [3, 3], "values": [1, 2, 3, 2, 4, 6, 1, 0, 1], "requires_grad": false},
           "rtol": 1e-6},
          {"A": {"shape": [2, 2], "values": [2, 0.5, 0.5, -1]}, "hermitian": true},
          {"A": {"shape": [3, 2], "dtype": "c128"}}])";
  static constexpr auto doc =
      "The pseudoinverses (Moore and Penrose) of matrices A [..., m, n]: [..., n, m]. Singular "
      "values up to the larger of atol and rtol times the largest one count as 0; without rtol it "
      "is 0 beside an atol above 0, else max(m, n) times the dtype's epsilon. hermitian is for "
      "symmetric (complex: Hermitian) matrices, of which the half (A + A^H) / 2 counts, and is "
      "faster. The gradient is that of matrices of constant rank; where singular values that are "
      "not 0 count as 0 there is none. Elements that are not finite are an error. lstsq() is "
      "faster "
      "and more exact where the result would be multiplied.";
  static constexpr auto saves = "A, result";

  static Tensor shape_rule(const Tensor& a, std::optional<double>, std::optional<double>,
                           bool hermitian) {
    check_shape("pinv", a, hermitian);
    return blas::empty_batch(a, {a.size(-1), a.size(-2)});
  }
  static Tensor forward(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                        bool hermitian) {
    const Counted of("pinv", a, atol, rtol, hermitian, true);
    const Tensor inverse = 1 / of.values.masked_fill(of.counts.logical_not(), HUGE_VAL);
    return blas::product(blas::adjoint(of.right) * blas::along_columns(inverse),
                         blas::adjoint(of.left));
  }
  static Tensor backward(ContextOf<Pinv>& c, const Tensor& g) {
    if (!c["hermitian"_arg]) return blas::pinv_gradient("pinv", c["A"_arg], c.result(), g);
    return blas::symmetric_half(
        blas::pinv_gradient("pinv", blas::symmetric_half(c["A"_arg]), c.result(), g));
  }
  static Tensor jvp(ContextOf<Pinv>& c, TensorList t) {
    if (!c["hermitian"_arg]) return blas::pinv_tangent("pinv", c["A"_arg], c.result(), t[0]);
    return blas::pinv_tangent("pinv", blas::symmetric_half(c["A"_arg]), c.result(),
                              blas::symmetric_half(t[0]));
  }
};

struct MatrixRank {
  static constexpr auto schema =
      "linalg.matrix_rank(Tensor A, *, float? atol=None, float? rtol=None, bool hermitian=False, "
      "Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [3, 2]}},
          {"A": {"shape": [2, 2], "values": [1, 2, 2, 4]}, "rtol": 1e-6},
          {"A": {"shape": [2, 2], "values": [1, 2, 2, 4]}, "rtol": 1e-6, "hermitian": true}])";
  static constexpr auto doc =
      "How many singular values of matrices [..., m, n] count, by the rule of pinv(): i64 [...].";
  static constexpr bool zero_gradient = true;

  static Tensor shape_rule(const Tensor& a, std::optional<double>, std::optional<double>,
                           bool hermitian) {
    check_shape("matrix_rank", a, hermitian);
    return tenon::empty_tensor(blas::batch_shape(a, {}), tenon::i64);
  }
  static Tensor forward(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                        bool hermitian) {
    return Counted("matrix_rank", a, atol, rtol, hermitian, false).counts.sum(-1);
  }
};

}  // namespace
TENON_OPS(Pinv, MatrixRank)
