// kron: the Kronecker product.
#include <algorithm>

#include "product.hpp"

namespace {

using tenon::Tensor;

struct Kron {
  static constexpr auto schema =
      "kron(Tensor input, Tensor other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "other": {"shape": [3, 2]}},
          {"input": {"shape": [2]}, "other": {"shape": [2, 2]}}])";
  static constexpr auto doc =
      "Each element of input times all of other, in blocks: sizes are multiplied, and the tensor "
      "of fewer dimensions has 1 in front.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& other) {
    const int64_t rank = std::max(input.dim(), other.dim());
    std::vector<int64_t> outer, inner, shape;
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t a = size_at(input, i, rank), b = size_at(other, i, rank);
      outer.insert(outer.end(), {a, 1});
      inner.insert(inner.end(), {1, b});
      int64_t size = 0;
      if (__builtin_mul_overflow(a, b, &size)) {
        throw tenon::ValueError("kron(): the product of " + blas::shape_text(input) + " and " +
                                blas::shape_text(other) + " is too large");
      }
      shape.push_back(size);
    }
    tenon::kernel::check_rank("kron", 2 * rank);
    return (input.reshape(outer) * other.reshape(inner)).reshape(shape);
  }

 private:
  static int64_t size_at(const Tensor& tensor, int64_t i, int64_t rank) {
    const int64_t at = i - (rank - tensor.dim());
    return at < 0 ? 1 : tensor.shape()[at];
  }
};

}  // namespace
TENON_OP(Kron)
