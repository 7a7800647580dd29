// squeeze and unsqueeze.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Squeeze {
  static constexpr auto schema = "squeeze(Tensor(a) input, int? dim=None) -> Tensor(a)";
  static constexpr auto doc = "A view without the dimensions of size 1, or without one of them.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, std::optional<int64_t> dim) {
    const int64_t only = dim ? wrap_dimension("squeeze", *dim, input.dim()) : -1;
    Shape shape, strides;
    for (int64_t i = 0; i < input.dim(); ++i) {
      if (input.shape()[i] == 1 && (only < 0 || only == i)) continue;
      shape.push(input.shape()[i]);
      strides.push(input.strides()[i]);
    }
    return alias_tensor(input, shape, strides, 0);
  }
  static Tensor backward(ContextOf<Squeeze>& c, const Tensor& g) {
    return g.reshape(c["input"_arg].shape());
  }
};

struct Unsqueeze {
  static constexpr auto schema = "unsqueeze(Tensor(a) input, int dim) -> Tensor(a)";
  static constexpr auto doc = "A view with a dimension of size 1 added in front of `dim`.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t dim) {
    const int64_t rank = input.dim();
    if (dim < -rank - 1 || dim > rank) {
      throw IndexError("unsqueeze(): dimension " + std::to_string(dim) +
                       " is out of range for a result of " + std::to_string(rank + 1) +
                       " dimensions (expected " + std::to_string(-rank - 1) + " to " +
                       std::to_string(rank) + ")");
    }
    kernel::check_rank("unsqueeze", rank + 1);
    const int64_t at = dim < 0 ? dim + rank + 1 : dim;
    Shape shape(input.shape()), strides(input.strides());
    strides.insert(at, at < rank ? shape[at] * strides[at] : 1);
    shape.insert(at, 1);
    return alias_tensor(input, shape, strides, 0);
  }
  static Tensor backward(ContextOf<Unsqueeze>& c, const Tensor& g) {
    return g.reshape(c["input"_arg].shape());
  }
};

}  // namespace

TENON_OPS(Squeeze, Unsqueeze)
