// expand and expand_as.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

Tensor expand_to(const char* op, const Tensor& input, IntList size) {
  kernel::check_rank(op, size.size());
  const int64_t added = size.size() - input.dim();
  if (added < 0) {
    throw ValueError(std::string(op) + "(): shape " + shape_text(input.shape()) +
                     " has more dimensions than " + shape_text(size));
  }
  Shape shape(size), strides(size);
  for (int64_t i = 0; i < size.size(); ++i) {
    const int64_t own = i < added ? 1 : input.shape()[i - added];
    if (size[i] < -1 || (size[i] == -1 && i < added)) {
      throw ValueError(
          std::string(op) + "(): size " + std::to_string(size[i]) + " at dimension " +
          std::to_string(i) + " of " + shape_text(size) +
          (i < added ? " is not allowed for a dimension that is new" : " is negative"));
    }
    if (size[i] == -1) shape[i] = own;
    if (own != 1 && own != shape[i]) {
      throw ValueError(std::string(op) + "(): size " + std::to_string(own) + " at dimension " +
                       std::to_string(i - added) + " of shape " + shape_text(input.shape()) +
                       " does not expand to " + std::to_string(shape[i]) + " in " +
                       shape_text(size) + ": only size 1 expands");
    }
    strides[i] = i < added || own != shape[i] ? 0 : input.strides()[i - added];
  }
  return alias_tensor(input, shape, strides, 0);
}

struct Expand {
  static constexpr auto schema = "expand(Tensor(a) input, int[] size) -> Tensor(a)";
  static constexpr auto doc =
      "A view that repeats dimensions of size 1, without copying; -1 keeps a size.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, IntList size) {
    return expand_to("expand", input, size);
  }
  static Tensor backward(ContextOf<Expand>& c, const Tensor& g) {
    return g.sum_to_size(c["input"_arg].shape());
  }
};

struct ExpandAs {
  static constexpr auto schema = "expand_as(Tensor(a) input, Tensor other) -> Tensor(a)";
  static constexpr auto doc = "Expands to the shape of `other`.";
  static constexpr auto saves = "shape(input), shape(other)";
  static Tensor forward(const Tensor& input, const Tensor& other) {
    return expand_to("expand_as", input, other.shape());
  }
  static std::tuple<Tensor, Tensor> backward(ContextOf<ExpandAs>& c, const Tensor& g) {
    return {g.sum_to_size(c["input"_arg].shape()), {}};
  }
  static Tensor jvp(ContextOf<ExpandAs>& c, TensorList tangents) {
    return tangents[0].defined() ? tangents[0].expand(c["other"_arg].shape()) : Tensor();
  }
};

}  // namespace

TENON_OPS(Expand, ExpandAs)
