// diff and trapezoid: along a dimension, differences of neighbours and the area below them.
#include <vector>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Diff {
  static constexpr auto schema =
      "diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *, "
      "Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 4]}}, {"input": {"shape": [4, 2]}, "n": 2, "dim": 0,
          "prepend": {"shape": [1, 2]}, "append": {"shape": [2, 2]}}])";
  static constexpr auto doc =
      "The difference of each element along a dimension and the one before it, n times over; empty "
      "where there are too few. Of bools: whether they differ. `prepend` and `append` are joined "
      "to "
      "input first.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t n, int64_t dim, const Tensor& prepend,
                        const Tensor& append) {
    if (input.dim() == 0)
      throw ValueError("diff(): a 0-dim tensor has no neighbours: give it a dimension");
    if (n < 0) throw ValueError("diff(): n must be at least 0, but it is " + std::to_string(n));
    const int64_t along = wrap_dimension("diff", dim, input.dim());
    std::vector<Tensor> parts;
    for (const Tensor& part : {prepend, input, append}) {
      if (part.defined()) parts.push_back(part);
    }
    Tensor result = parts.size() == 1 ? input : cat(parts, along);
    if (n == 0) return clone(result);
    for (; n > 0; --n) {
      const int64_t size = result.shape()[along];
      if (size <= n) return result.narrow(along, 0, 0).clone();
      const Tensor later = result.narrow(along, 1, size - 1),
                   earlier = result.narrow(along, 0, size - 1);
      result = result.dtype() == boolean ? logical_xor(later, earlier) : later - earlier;
    }
    return result;
  }
};

struct Trapezoid {
  static constexpr auto schema =
      "trapezoid(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor";
  static constexpr auto samples =
      R"([{"y": {"shape": [2, 4]}}, {"y": {"shape": [2, 4]}, "x": {"shape": [4]}},
          {"y": {"shape": [3, 2]}, "dx": 0.5, "dim": 0}])";
  static constexpr auto doc =
      "The integral along a dimension by the trapezoidal rule: y at the places x, a vector or of "
      "y's "
      "shape, or dx apart. 0 where there are fewer than two. Integers give f32.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& y, const Tensor& x, const Scalar& dx, int64_t dim) {
    if (y.dim() == 0)
      throw ValueError("trapezoid(): a 0-dim tensor has no neighbours: give it a dimension");
    const int64_t along = wrap_dimension("trapezoid", dim, y.dim());
    const Tensor real = is_differentiable(y.dtype()) ? y : to(y, f32);
    const int64_t size = y.shape()[along];
    const auto later = [&](const Tensor& t, int64_t d) { return t.narrow(d, 1, size - 1); };
    const auto earlier = [&](const Tensor& t, int64_t d) { return t.narrow(d, 0, size - 1); };
    if (x.defined()) check_places(x, y, along);
    if (size < 2) return real.narrow(along, 0, 0).sum({along});
    const Tensor heights = later(real, along) + earlier(real, along);
    if (!x.defined()) return heights.sum({along}) * (dx.to<double>() * 0.5);
    const int64_t x_dim = x.dim() == 1 ? 0 : along;
    const Tensor places = is_differentiable(x.dtype()) ? x : to(x, real_dtype(real.dtype()));
    Tensor widths = later(places, x_dim) - earlier(places, x_dim);
    for (int64_t i = along + 1; x.dim() == 1 && i < y.dim(); ++i) widths = widths.unsqueeze(-1);
    return (heights * widths).sum({along}) * 0.5;
  }
  static void check_places(const Tensor& x, const Tensor& y, int64_t along) {
    const bool vector = x.dim() == 1 && x.shape()[0] == y.shape()[along];
    if (vector || same_shape(x.shape(), y.shape())) return;
    throw ValueError("trapezoid(): x of shape " + shape_text(x.shape()) +
                     " does not fit y of shape " + shape_text(y.shape()) + ": give a vector of " +
                     std::to_string(y.shape()[along]) + ", or y's shape");
  }
};

}  // namespace

TENON_OPS(Diff, Trapezoid)
