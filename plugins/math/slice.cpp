// slice, narrow and select, the ops that write such parts, and the ones that put their gradients in
// place.
#include <algorithm>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

void check_rank(const char* op, const Tensor& input) {
  if (input.dim() == 0)
    throw IndexError(std::string(op) + "(): a 0-dim tensor has no dimension to take a part of");
}

// Bounds as Python reads them: negative ones count from the end, all are cut to the size.
Tensor slice_view(const char* op, const Tensor& input, int64_t dim, std::optional<int64_t> start,
                  std::optional<int64_t> end, int64_t step) {
  check_rank(op, input);
  const int64_t at = wrap_dimension(op, dim, input.dim());
  if (step <= 0) {
    throw ValueError(std::string(op) + "(): step must be greater than 0, but it is " +
                     std::to_string(step));
  }
  const int64_t size = input.shape()[at];
  const auto bound = [size](int64_t value) {
    return value < 0 ? std::max<int64_t>(value + size, 0) : std::min(value, size);
  };
  const int64_t from = start ? bound(*start) : 0;
  const int64_t to = std::max(from, end ? bound(*end) : size);
  Shape shape(input.shape()), strides(input.strides());
  // Not (to - from + step - 1) / step, which may overflow.
  shape[at] = to == from ? 0 : (to - from - 1) / step + 1;
  const int64_t offset = shape[at] == 0 ? 0 : from * strides[at];
  if (shape[at] > 1) strides[at] *= step;
  return alias_tensor(input, shape, strides, offset);
}

Tensor select_view(const char* op, const Tensor& input, int64_t dim, int64_t index) {
  check_rank(op, input);
  const int64_t at = wrap_dimension(op, dim, input.dim());
  Shape shape(input.shape()), strides(input.strides());
  const int64_t size = shape[at];
  if (index < -size || index >= size) {
    throw IndexError(std::string(op) + "(): index " + std::to_string(index) +
                     " is out of range for dimension " + std::to_string(at) + " with size " +
                     std::to_string(size));
  }
  const int64_t offset = (index < 0 ? index + size : index) * strides[at];
  shape.erase(at);
  strides.erase(at);
  return alias_tensor(input, shape, strides, offset);
}

Tensor narrow_view(const char* op, const Tensor& input, int64_t dim, int64_t start,
                   int64_t length) {
  check_rank(op, input);
  const int64_t at = wrap_dimension(op, dim, input.dim());
  const int64_t size = input.shape()[at];
  const int64_t from = start < 0 ? start + size : start;
  if (length < 0)
    throw ValueError(std::string(op) + "(): length " + std::to_string(length) + " is negative");
  if (from < 0 || from > size) {
    throw IndexError(std::string(op) + "(): start " + std::to_string(start) +
                     " is out of range for dimension " + std::to_string(at) + " with size " +
                     std::to_string(size));
  }
  if (length > size - from) {
    throw IndexError(std::string(op) + "(): start " + std::to_string(from) + " and length " +
                     std::to_string(length) + " reach beyond dimension " + std::to_string(at) +
                     " with size " + std::to_string(size));
  }
  Shape shape(input.shape());
  shape[at] = length;
  return alias_tensor(input, shape, input.strides(), length == 0 ? 0 : from * input.strides()[at]);
}

Tensor copy_of(const Tensor& input) {
  const Tensor result = empty_tensor(input.shape(), input.dtype());
  copy_elements(result, input);
  return result;
}
void write_part(const char* op, const Tensor& part, const Tensor& src) {
  if (!same_shape(part.shape(), src.shape())) {
    throw ValueError(std::string(op) + "(): src has shape " + shape_text(src.shape()) +
                     ", but the part to write has " + shape_text(part.shape()));
  }
  copy_elements(part, src);
}
Tensor zeros_of(IntList shape, DType dtype) {
  const Tensor result = empty_tensor(shape, dtype);
  fill_elements(result, 0);
  return result;
}

struct Slice {
  static constexpr auto schema =
      "slice(Tensor(a) input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)";
  static constexpr auto doc =
      "A view of the indices start, start + step, ... before end, as Python slices.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t dim, std::optional<int64_t> start,
                        std::optional<int64_t> end, int64_t step) {
    return slice_view("slice", input, dim, start, end, step);
  }
  static Tensor backward(ContextOf<Slice>& c, const Tensor& g) {
    return slice_backward(g, c["input"_arg].shape(), c["dim"_arg], c["start"_arg], c["end"_arg],
                          c["step"_arg]);
  }
};

struct SliceBackward {
  static constexpr auto schema =
      "slice_backward(Tensor grad, int[] input_size, int dim=0, int? start=None, int? end=None, "
      "int step=1) -> "
      "Tensor";
  static constexpr auto doc = "Zeros of a shape with `grad` in the place of the slice.";
  static constexpr bool any_dtype = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& grad, IntList input_size, int64_t dim,
                        std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
    const Tensor result = zeros_of(input_size, grad.dtype());
    write_part("slice_backward", slice_view("slice_backward", result, dim, start, end, step), grad);
    return result;
  }
  static Tensor backward(ContextOf<SliceBackward>& c, const Tensor& g) {
    return slice(g, c["dim"_arg], c["start"_arg], c["end"_arg], c["step"_arg]);
  }
};

struct SliceScatter {
  static constexpr auto schema =
      "slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int "
      "step=1) -> Tensor";
  static constexpr auto doc = "A copy of input with src in the place of a slice.";
  static constexpr bool any_dtype = true;
  static constexpr auto saves = "shape(src)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, const Tensor& src, int64_t dim,
                        std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
    const Tensor result = copy_of(input);
    write_part("slice_scatter", slice_view("slice_scatter", result, dim, start, end, step), src);
    return result;
  }
  static std::array<Tensor, 2> backward(ContextOf<SliceScatter>& c, const Tensor& g) {
    const auto dim = c["dim"_arg], step = c["step"_arg];
    return needed_gradients(
        c,
        "input"_arg =
            [&] {
              const Tensor nothing = expanded_zeros(c["src"_arg].shape(), g.dtype());
              return slice_scatter(g, nothing, dim, c["start"_arg], c["end"_arg], step);
            },
        "src"_arg = [&] { return slice(g, dim, c["start"_arg], c["end"_arg], step); });
  }
};

struct Narrow {
  static constexpr auto schema =
      "narrow(Tensor(a) input, int dim, int start, int length) -> Tensor(a)";
  static constexpr auto doc = "A view of `length` indices from `start` on.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
    return narrow_view("narrow", input, dim, start, length);
  }
  static Tensor backward(ContextOf<Narrow>& c, const Tensor& g) {
    const IntList shape = c["input"_arg].shape();
    const int64_t dim = wrap_dimension("narrow", c["dim"_arg], shape.size());
    const auto start = c["start"_arg];
    const int64_t from = start < 0 ? start + shape[dim] : start;
    return slice_backward(g, shape, dim, from, from + c["length"_arg], 1);
  }
};

struct Select {
  static constexpr auto schema = "select(Tensor(a) input, int dim, int index) -> Tensor(a)";
  static constexpr auto doc = "A view of one index along a dimension, which disappears.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t dim, int64_t index) {
    return select_view("select", input, dim, index);
  }
  static Tensor backward(ContextOf<Select>& c, const Tensor& g) {
    return select_backward(g, c["input"_arg].shape(), c["dim"_arg], c["index"_arg]);
  }
};

struct SelectBackward {
  static constexpr auto schema =
      "select_backward(Tensor grad, int[] input_size, int dim, int index) -> Tensor";
  static constexpr auto doc = "Zeros of a shape with `grad` in the place of the selected index.";
  static constexpr bool any_dtype = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& grad, IntList input_size, int64_t dim, int64_t index) {
    const Tensor result = zeros_of(input_size, grad.dtype());
    write_part("select_backward", select_view("select_backward", result, dim, index), grad);
    return result;
  }
  static Tensor backward(ContextOf<SelectBackward>& c, const Tensor& g) {
    return g.select(c["dim"_arg], c["index"_arg]);
  }
};

struct SelectScatter {
  static constexpr auto schema =
      "select_scatter(Tensor input, Tensor src, int dim, int index) -> Tensor";
  static constexpr auto doc =
      "A copy of input with src in the place of one index along a dimension.";
  static constexpr bool any_dtype = true;
  static constexpr auto saves = "shape(src)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, const Tensor& src, int64_t dim, int64_t index) {
    const Tensor result = copy_of(input);
    write_part("select_scatter", select_view("select_scatter", result, dim, index), src);
    return result;
  }
  static std::array<Tensor, 2> backward(ContextOf<SelectScatter>& c, const Tensor& g) {
    const auto dim = c["dim"_arg], index = c["index"_arg];
    return needed_gradients(
        c,
        "input"_arg =
            [&] {
              const Tensor nothing = expanded_zeros(c["src"_arg].shape(), g.dtype());
              return select_scatter(g, nothing, dim, index);
            },
        "src"_arg = [&] { return g.select(dim, index); });
  }
};

}  // namespace

TENON_OPS(Slice, SliceBackward, SliceScatter, Narrow, Select, SelectBackward, SelectScatter)
