// reshape, view and flatten.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// The target sizes with -1 worked out.
Shape resolve(const char* op, const Tensor& input, IntList requested) {
  kernel::check_rank(op, requested.size());
  Shape shape(requested);
  int64_t inferred = -1, known = 1;
  bool fits = true;
  for (int64_t i = 0; i < shape.rank; ++i) {
    if (shape[i] == -1) {
      if (inferred >= 0) {
        throw ValueError(std::string(op) + "(): only one size may be -1, but the shape is " +
                         shape_text(requested));
      }
      inferred = i;
    } else if (shape[i] < 0) {
      throw ValueError(std::string(op) + "(): size " + std::to_string(shape[i]) + " at dimension " +
                       std::to_string(i) + " of " + shape_text(requested) + " is negative");
    } else {
      fits &= !__builtin_mul_overflow(known, shape[i], &known);
    }
  }
  const int64_t count = input.numel();
  if (fits && inferred >= 0) {
    if (known == 0) {
      throw ValueError(std::string(op) + "(): the size for -1 is not determined by " +
                       shape_text(requested) + ", as another size is 0");
    }
    shape[inferred] = count / known;
    fits = count % known == 0;
  } else if (fits) {
    fits = known == count;
  }
  if (!fits) {
    throw ValueError(std::string(op) + "(): shape " + shape_text(requested) + " does not fit the " +
                     std::to_string(count) + " elements of shape " + shape_text(input.shape()));
  }
  return shape;
}

// Strides under which the same memory has another shape of as many elements; false when there are
// none.
bool view_strides(IntList from, IntList from_strides, IntList to, Shape& strides) {
  // Runs of dimensions that are in memory like one, the last first.
  Shape sizes, steps;
  for (int64_t i = from.size() - 1; i >= 0; --i) {
    if (from[i] == 1) continue;
    const int64_t last = sizes.rank - 1;
    if (last >= 0 && from_strides[i] == steps[last] * sizes[last]) {
      sizes[last] *= from[i];
    } else {
      sizes.push(from[i]);
      steps.push(from_strides[i]);
    }
  }
  // Each new dimension must divide what is left of a run.
  strides = Shape(to);
  int64_t run = 0, covered = 1;
  for (int64_t i = to.size() - 1; i >= 0; --i) {
    if (to[i] == 1) {
      strides[i] = i + 1 < to.size() ? strides[i + 1] * to[i + 1] : 1;
      continue;
    }
    if (covered == sizes[run]) {
      ++run;
      covered = 1;
    }
    strides[i] = steps[run] * covered;
    covered *= to[i];
    if (covered > sizes[run] || sizes[run] % covered != 0) return false;
  }
  return true;
}

// The common case in one pass: dense, every size given, none of them 0.
bool dense_strides(const Tensor& input, IntList requested, Shape& strides) {
  if (!input.is_contiguous() || requested.size() > TENON_MAX_RANK) return false;
  strides.rank = requested.size();
  int64_t count = 1;
  bool fits = true;
  for (int64_t i = requested.size() - 1; i >= 0; --i) {
    strides[i] = count;
    fits &= requested[i] > 0 && !__builtin_mul_overflow(count, requested[i], &count);
  }
  return fits && count == input.numel();
}

Tensor view_as(const char* op, const Tensor& input, IntList requested, bool may_copy) {
  Shape dense;
  if (dense_strides(input, requested, dense)) return alias_tensor(input, requested, dense, 0);
  const Shape shape = resolve(op, input, requested);
  if (input.is_contiguous()) return alias_tensor(input, shape, row_major_strides(shape), 0);
  Shape strides;
  if (view_strides(input.shape(), input.strides(), shape, strides)) {
    return alias_tensor(input, shape, strides, 0);
  }
  if (!may_copy) {
    throw ValueError(std::string(op) + "(): a tensor of shape " + shape_text(input.shape()) +
                     " and strides " + shape_text(input.strides()) + " cannot be seen as " +
                     shape_text(shape) + " without copying: use reshape");
  }
  const Tensor result = empty_tensor(shape, input.dtype());
  copy_elements(alias_tensor(result, input.shape(), row_major_strides(input.shape()), 0), input);
  return result;
}

struct Reshape {
  static constexpr auto schema = "reshape(Tensor(a) input, int[] shape) -> Tensor(a)";
  static constexpr bool may_copy = true;
  static constexpr auto doc =
      "The elements in row-major order under another shape; a view where possible.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, IntList shape) {
    return view_as("reshape", input, shape, true);
  }
  static Tensor backward(ContextOf<Reshape>& c, const Tensor& g) {
    return g.reshape(c["input"_arg].shape());
  }
};

struct View {
  static constexpr auto schema = "view(Tensor(a) input, int[] shape) -> Tensor(a)";
  static constexpr auto doc =
      "The same memory under another shape; an error where that needs a copy.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, IntList shape) {
    return view_as("view", input, shape, false);
  }
  static Tensor backward(ContextOf<View>& c, const Tensor& g) {
    return g.reshape(c["input"_arg].shape());
  }
};

struct Flatten {
  static constexpr auto schema =
      "flatten(Tensor(a) input, int start_dim=0, int end_dim=-1) -> Tensor(a)";
  static constexpr bool may_copy = true;
  static constexpr auto doc = "Joins the dimensions from start_dim to end_dim into one.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t start_dim, int64_t end_dim) {
    const int64_t start = wrap_dimension("flatten", start_dim, input.dim());
    const int64_t end = wrap_dimension("flatten", end_dim, input.dim());
    if (start > end) {
      throw ValueError("flatten(): start_dim " + std::to_string(start_dim) +
                       " comes after end_dim " + std::to_string(end_dim) + " in shape " +
                       shape_text(input.shape()));
    }
    if (start == end && input.dim() != 0) return input;
    Shape shape;
    int64_t joined = 1;
    for (int64_t i = 0; i < input.dim(); ++i) {
      if (i < start || i > end) {
        shape.push(input.shape()[i]);
      } else {
        joined *= input.shape()[i];
        if (i == end) shape.push(joined);
      }
    }
    if (input.dim() == 0) shape.push(1);
    return view_as("flatten", input, shape, true);
  }
  static Tensor backward(ContextOf<Flatten>& c, const Tensor& g) {
    return g.reshape(c["input"_arg].shape());
  }
};

}  // namespace

TENON_OPS(Reshape, View, Flatten)
