// roll and rot90.
#include <vector>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// A contiguous copy, rolled along one dimension: in two pieces.
Tensor rolled(const Tensor& input, int64_t dim, int64_t shift) {
  const Tensor result = empty_tensor(input.shape(), input.dtype());
  if (input.numel() == 0) return result;
  const int64_t size = input.shape()[dim], at = (shift % size + size) % size;
  const auto copy = [&](int64_t to, int64_t from, int64_t length) {
    Shape shape(input.shape());
    shape[dim] = length;
    if (length == 0) return;
    copy_elements(alias_tensor(result, shape, result.strides(), to * result.strides()[dim]),
                  alias_tensor(input, shape, input.strides(), from * input.strides()[dim]));
  };
  copy(at, 0, size - at);
  copy(0, size - at, at);
  return result;
}

struct Roll {
  static constexpr auto schema = "roll(Tensor input, int[] shifts, int[] dims=[]) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "shifts": [1]},
          {"input": {"shape": [2, 3]}, "shifts": [-1, 4], "dims": [0, 1]}])";
  static constexpr auto doc =
      "A copy with the elements moved along dimensions by shifts, one for each; what leaves at one "
      "end comes in at the other. Without dims they move in row-major order.";
  static constexpr bool any_dtype = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, IntList shifts, IntList dims) {
    if (shifts.size() != (dims.empty() ? 1 : dims.size())) {
      throw ValueError("roll(): shifts " + shape_text(shifts) + " and dims " + shape_text(dims) +
                       " must have one length, or shifts one number and dims none");
    }
    if (dims.empty()) {
      const int64_t count = input.numel(), one = 1;
      const Tensor flat =
          alias_tensor(contiguous_as(input, input.dtype()), {&count, 1}, {&one, 1}, 0);
      const Tensor result = rolled(flat, 0, shifts[0]);
      return alias_tensor(result, input.shape(), row_major_strides(input.shape()), 0);
    }
    Tensor result = input;
    for (int64_t i = 0; i < dims.size(); ++i) {
      const int64_t along = wrap_dimension("roll", dims[i], input.dim());
      if (input.dim() != 0) result = rolled(result, along, shifts[i]);
    }
    return result.is_same(input) ? rolled_copy(input) : result;
  }
  static Tensor backward(ContextOf<Roll>& c, const Tensor& g) {
    const IntList shifts = c["shifts"_arg], dims = c["dims"_arg];
    std::vector<int64_t> opposite;
    for (int64_t i = 0; i < shifts.size(); ++i) {
      const int64_t size = dims.empty()   ? g.numel()
                           : g.dim() == 0 ? 1
                                          : g.shape()[wrap_dimension("roll", dims[i], g.dim())];
      opposite.push_back(size == 0 ? 0 : -(shifts[i] % size));
    }
    return roll(g, opposite, dims);
  }
  static Tensor rolled_copy(const Tensor& input) {
    const Tensor result = empty_tensor(input.shape(), input.dtype());
    copy_elements(result, input);
    return result;
  }
};

struct Rot90 {
  static constexpr auto schema = "rot90(Tensor input, int k=1, int[] dims=[0, 1]) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [2, 3, 2]}, "k": 3, "dims": [1, 2]},
          {"input": {"shape": [2, 3]}, "k": 2}])";
  static constexpr auto doc =
      "A copy turned by k quarters in the plane of two dimensions, from the first toward the "
      "second.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t k, IntList dims) {
    if (dims.size() != 2) {
      throw ValueError("rot90(): dims " + shape_text(dims) +
                       " must name the two dimensions of a plane");
    }
    if (input.dim() < 2) {
      throw ValueError("rot90(): shape " + shape_text(input.shape()) +
                       " has no plane: at least 2 dimensions are needed");
    }
    dimension_mask("rot90", dims, input.dim());
    switch ((k % 4 + 4) % 4) {
      case 1:
        return transpose(flip(input, {dims[1]}), dims[0], dims[1]);
      case 2:
        return flip(input, dims);
      case 3:
        return transpose(flip(input, {dims[0]}), dims[0], dims[1]);
      default:
        return clone(input);
    }
  }
};

}  // namespace

TENON_OPS(Roll, Rot90)
