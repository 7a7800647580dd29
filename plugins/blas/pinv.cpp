// linalg.pinv and linalg.matrix_rank, which count singular values as 0 by one rule.
#include "linalg.hpp"

namespace blas {

namespace {
// P is that of A, but for rounding.
void check_constant_rank(const char* op, const Tensor& given, const Tensor& pseudoinverse) {
  const Tensor a = given.detach(), p = pseudoinverse.detach();
  if (a.numel() == 0) return;
  const double epsilon = a.dtype() == tenon::f32 ? std::numeric_limits<float>::epsilon()
                                                 : std::numeric_limits<double>::epsilon();
  const Tensor rest = (a - product(a, product(p, a))).abs().amax({-2, -1});
  const Tensor limit = a.abs().amax({-2, -1}) * std::sqrt(epsilon);
  if (!rest.gt(limit).any().item<bool>()) return;
  throw tenon::ValueError(std::string(op) +
                          "(): there is no derivative where singular values that are not 0 count "
                          "as 0; lower the limits");
}
}  // namespace

// doi:10.1137/0710036 (Golub and Pereyra 1973), of constant rank:
// dP = -P dA P + P P^T dA^T (I - A P) + (I - P A) dA^T P^T P.
Tensor pinv_gradient(const char* op, const Tensor& a, const Tensor& p, const Tensor& gradient) {
  check_constant_rank(op, a, p);
  const Tensor g = transposed(gradient), pt = transposed(p);
  const Tensor along = product(product(g, p), pt), across = product(pt, product(p, g));
  return along - product(a, product(p, along)) + across - product(product(across, p), a) -
         product(pt, product(gradient, pt));
}
Tensor pinv_tangent(const char* op, const Tensor& a, const Tensor& p, const Tensor& tangent) {
  check_constant_rank(op, a, p);
  const Tensor t = transposed(tangent), pt = transposed(p);
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

struct Pinv {
  static constexpr auto schema =
      "linalg.pinv(Tensor A, *, float? atol=None, float? rtol=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [3, 2]}}, {"A": {"shape": [2, 2, 3]}},
          {"A": {"shape": [3, 3], "values": [1, 2, 3, 2, 4, 6, 1, 0, 1], "requires_grad": false},
           "rtol": 1e-6}])";
  static constexpr auto doc =
      "The pseudoinverses (Moore and Penrose) of matrices A [..., m, n]: [..., n, m]. Singular "
      "values up to the larger of atol and rtol times the largest one count as 0; without rtol it "
      "is 0 beside an atol above 0, else max(m, n) times the dtype's epsilon. The gradient is that "
      "of matrices of constant rank; where singular values that are not 0 count as 0 there is "
      "none. Elements that are not finite are an error. lstsq() is faster "
      "and more exact where the result would be multiplied.";
  static constexpr auto saves = "A, result";

  static Tensor shape_rule(const Tensor& a, std::optional<double>, std::optional<double>) {
    blas::check_matrices("pinv", "A", a);
    return blas::empty_batch(a, {a.size(-1), a.size(-2)});
  }
  static Tensor forward(const Tensor& a, std::optional<double> atol, std::optional<double> rtol) {
    blas::check_matrices("pinv", "A", a);
    const SingularValues found("pinv", "A", a, SingularValues::reduced);
    const Tensor least = blas::smallest_singular_value(a, found.s, atol, rtol);
    const Tensor counts = found.s.gt(least.unsqueeze(-1));
    const Tensor inverse = 1 / found.s.masked_fill(counts.logical_not(), HUGE_VAL);
    return blas::product(blas::transposed(found.vh) * blas::along_columns(inverse),
                         blas::transposed(found.u));
  }
  static Tensor backward(ContextOf<Pinv>& c, const Tensor& g) {
    return blas::pinv_gradient("pinv", c["A"_arg], c.result(), g);
  }
  static Tensor jvp(ContextOf<Pinv>& c, TensorList t) {
    return blas::pinv_tangent("pinv", c["A"_arg], c.result(), t[0]);
  }
};

struct MatrixRank {
  static constexpr auto schema =
      "linalg.matrix_rank(Tensor A, *, float? atol=None, float? rtol=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [3, 2]}},
          {"A": {"shape": [2, 2], "values": [1, 2, 2, 4]}, "rtol": 1e-6}])";
  static constexpr auto doc =
      "How many singular values of matrices [..., m, n] count, by the rule of pinv(): i64 [...].";
  static constexpr bool zero_gradient = true;

  static Tensor shape_rule(const Tensor& a, std::optional<double>, std::optional<double>) {
    blas::check_matrices("matrix_rank", "A", a);
    return tenon::empty_tensor(blas::batch_shape(a, {}), tenon::i64);
  }
  static Tensor forward(const Tensor& a, std::optional<double> atol, std::optional<double> rtol) {
    blas::check_matrices("matrix_rank", "A", a);
    const SingularValues found("matrix_rank", "A", a, SingularValues::none);
    const Tensor least = blas::smallest_singular_value(a, found.s, atol, rtol);
    return found.s.gt(least.unsqueeze(-1)).sum(-1);
  }
};

}  // namespace
TENON_OP(Pinv)
TENON_OP(MatrixRank)
