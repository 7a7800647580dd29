// outer: every product of an element of one vector and an element of another.
#include "product.hpp"

namespace {

using tenon::Tensor;

struct Outer {
  static constexpr auto schema =
      "outer(Tensor input, Tensor vec2, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The matrix of the products of each element of input with each of vec2.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& vec2) {
    blas::check_rank("outer", "input", 1, input);
    blas::check_rank("outer", "vec2", 1, vec2);
    return input.unsqueeze(1) * vec2;
  }
};

}  // namespace
TENON_OP(Outer)
