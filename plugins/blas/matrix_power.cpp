// linalg.matrix_power: products of a matrix with itself.
#include "linalg.hpp"

namespace {

using tenon::IntList;
using tenon::Tensor;

struct MatrixPower {
  static constexpr auto schema =
      "linalg.matrix_power(Tensor A, int n, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 2]}, "n": 3}, {"A": {"shape": [2, 2, 2]}, "n": 0},
          {"A": {"shape": [2, 2], "values": [2, 0.5, -0.3, 1.5]}, "n": -2}])";
  static constexpr auto doc =
      "Square matrices, [..., n, n], to the power of n, by repeated squaring: the identity for 0, "
      "the power of the inverse for a negative n, which takes floating dtypes.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& a, int64_t n) {
    if (a.dim() < 2 || a.size(-1) != a.size(-2)) {
      throw tenon::ValueError(
          "matrix_power(): 'A' must be a square matrix or a batch of them, got shape " +
          blas::shape_text(a));
    }
    if (a.dtype() == tenon::boolean) blas::throw_bool("matrix_power");
    // The result depends on A through its history alone.
    if (n == 0) {
      const Tensor mask = tenon::ones(a.shape(), tenon::boolean);
      return a.masked_fill(mask, 0) + tenon::eye(a.size(-1), tenon::none, a.dtype());
    }
    if (n == 1) return a * 1;
    Tensor power = n < 0 ? tenon::linalg::inv(a) : a, result;
    for (uint64_t left = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);;) {
      if ((left & 1) != 0) result = result.defined() ? product(result, power) : power;
      left >>= 1;
      if (left == 0) break;
      power = product(power, power);
    }
    return result;
  }

 private:
  static Tensor product(const Tensor& a, const Tensor& b) { return tenon::multiply_matrices(a, b); }
};

}  // namespace
TENON_OP(MatrixPower)
