// mv: the product of a matrix and a vector.
#include "product.hpp"

namespace {

using tenon::ContextOf;
using tenon::Tensor;
using namespace tenon::literals;

struct Mv {
  static constexpr auto schema = "mv(Tensor input, Tensor vec, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The product of a matrix and a vector.";
  static constexpr auto saves = "vec for input, input for vec";

  static Tensor shape_rule(const Tensor& input, const Tensor& vec) {
    blas::check_rank("mv", "input", 2, input);
    blas::check_rank("mv", "vec", 1, vec);
    blas::check_dtypes("mv", "input", input, "vec", vec);
    blas::check_inner_sizes("mv", input, vec, input.shape()[1], vec.shape()[0]);
    return tenon::empty_tensor({input.shape()[0]}, input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor&) { return input.numel(); }

  static Tensor forward(const Tensor& input, const Tensor& vec) {
    Tensor result = shape_rule(input, vec);
    blas::multiply_vector(input, vec, result);
    return result;
  }

  static std::array<Tensor, 2> backward(ContextOf<Mv>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g.outer(conjugate(c["vec"_arg])); },
        "vec"_arg = [&] { return conjugate(c["input"_arg].t()).mv(g); });
  }
  static constexpr auto jvp = tenon::multilinear;
};

}  // namespace
TENON_OP(Mv)
