// cross products of vectors of three elements, and vecdot.
#include <algorithm>

#include "linalg.hpp"

namespace {

using tenon::Tensor;

int64_t axis_of(const char* op, int64_t dim, const Tensor& a, const Tensor& b) {
  return tenon::kernel::wrap_dimension(op, dim, std::max(a.dim(), b.dim())) -
         std::max(a.dim(), b.dim());
}

struct LinalgCross {
  static constexpr auto schema =
      "linalg.cross(Tensor input, Tensor other, *, int dim=-1, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "other": {"shape": [2, 3]}},
          {"input": {"shape": [3, 2]}, "other": {"shape": [3, 1]}, "dim": 0}])";
  static constexpr auto doc =
      "The cross products of the vectors of input and other, broadcast together, along dim, whose "
      "size must be 3 in both.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& other, int64_t dim) {
    if (input.dtype() == tenon::boolean || other.dtype() == tenon::boolean)
      blas::throw_bool("cross");
    const int64_t axis = axis_of("cross", dim, input, other);
    if (-axis > input.dim() || -axis > other.dim() || input.size(axis) != 3 ||
        other.size(axis) != 3) {
      throw tenon::ValueError("cross(): dimension " + std::to_string(dim) +
                              " must have 3 elements in both, got shapes " +
                              blas::shape_text(input) + " and " + blas::shape_text(other));
    }
    // Elements 1, 2, 0 and 2, 0, 1.
    const auto turned = [&](const Tensor& x, int64_t from) {
      return tenon::cat({x.narrow(axis, from, 3 - from), x.narrow(axis, 0, from)}, axis);
    };
    return turned(input, 1) * turned(other, 2) - turned(input, 2) * turned(other, 1);
  }
};

struct Cross {
  static constexpr auto schema =
      "cross(Tensor input, Tensor other, int? dim=None, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2]}, "other": {"shape": [3, 2]}},
          {"input": {"shape": [2, 3]}, "other": {"shape": [2, 3]}, "dim": 1}])";
  static constexpr auto doc =
      "linalg.cross along dim, or along the first dimension of input that has 3 elements.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& other, std::optional<int64_t> dim) {
    if (!dim) {
      for (int64_t i = 0; i < input.dim() && !dim; ++i) {
        if (input.size(i) == 3) dim = i - input.dim();
      }
      if (!dim) {
        throw tenon::ValueError("cross(): no dimension of 'input' has 3 elements, got shape " +
                                blas::shape_text(input));
      }
    }
    return tenon::linalg::cross(input, other, *dim);
  }
};

struct Vecdot {
  static constexpr auto schema =
      "linalg.vecdot(Tensor x, Tensor y, *, int dim=-1, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"x": {"shape": [2, 3]}, "y": {"shape": [2, 3]}},
          {"x": {"shape": [3, 2]}, "y": {"shape": [3, 1]}, "dim": 0},
          {"x": {"shape": [2, 3], "dtype": "c128"}, "y": {"shape": [2, 3], "dtype": "c128"}}])";
  static constexpr auto doc =
      "The sums of the products of x, conjugated where it is complex, and y, broadcast together, "
      "along dim; of their dtype.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& x, const Tensor& y, int64_t dim) {
    if (x.dtype() == tenon::boolean || y.dtype() == tenon::boolean) blas::throw_bool("vecdot");
    const Tensor product = tenon::conjugate(x) * y;
    const Tensor sum = product.sum(tenon::kernel::wrap_dimension("vecdot", dim, product.dim()));
    return sum.dtype() == product.dtype() ? sum : sum.to(product.dtype());
  }
};

}  // namespace
TENON_OPS(LinalgCross, Cross, Vecdot)
