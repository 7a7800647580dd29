// dot: the sum of the products of two vectors.
#include "product.hpp"

namespace {

using tenon::ContextOf;
using tenon::Tensor;
using namespace tenon::literals;

struct Dot {
  static constexpr auto schema =
      "dot(Tensor input, Tensor other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The sum of the products of two vectors; of complex ones without a conjugate.";
  static constexpr auto saves = "other for input, input for other";

  static Tensor shape_rule(const Tensor& input, const Tensor& other) {
    blas::check_rank("dot", "input", 1, input);
    blas::check_rank("dot", "other", 1, other);
    blas::check_dtypes("dot", "input", input, "other", other);
    blas::check_inner_sizes("dot", input, other, input.shape()[0], other.shape()[0]);
    return tenon::empty_tensor({}, input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor&) { return input.numel(); }

  static Tensor forward(const Tensor& input, const Tensor& other) {
    Tensor result = shape_rule(input, other);
    blas::dot(input, other, result);
    return result;
  }

  static std::array<Tensor, 2> backward(ContextOf<Dot>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g * conjugate(c["other"_arg]); },
        "other"_arg = [&] { return g * conjugate(c["input"_arg]); });
  }
  static constexpr auto jvp = tenon::multilinear;
};

}  // namespace
TENON_OP(Dot)
