// Strided shape arithmetic: counts, contiguous strides, broadcasting, printed form.
#include "core/tensor/shape.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace tenon::core {

namespace {

// Size of `shape` at dimension `index` of a result of `rank` dimensions, to which it is
// right-aligned.
int64_t aligned_size(Shape shape, size_t rank, size_t index) {
  const size_t missing = rank - shape.size();
  return index < missing ? 1 : shape[index - missing];
}

}  // namespace

std::string shape_text(Shape shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return format_text("{}]", text);
}

int64_t element_count(Shape shape) {
  if (shape.size() > TENON_MAX_RANK) {
    throw_value_error(format_text("a shape has at most {} dimensions, this one has {}",
                                  TENON_MAX_RANK, shape.size()));
  }
  int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0)
      throw_value_error(format_text("negative size {} in shape {}", size, shape_text(shape)));
    empty = empty || size == 0;
    overflow = overflow || __builtin_mul_overflow(count, size, &count);
  }
  if (empty) return 0;
  if (overflow)
    throw_value_error(
        format_text("shape {} has more elements than can be addressed", shape_text(shape)));
  return count;
}

void contiguous_strides(Shape shape, int64_t* strides) noexcept {
  uint64_t stride =
      1;  // unsigned: next to a size of 0 the product may overflow, and does not matter
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(std::max<int64_t>(shape[i], 1));
  }
}

Sizes broadcast_shapes(Shape a, Shape b) {
  const size_t rank = std::max(a.size(), b.size());
  if (rank > TENON_MAX_RANK) {
    throw_value_error(
        format_text("a shape has at most {} dimensions, this one has {}", TENON_MAX_RANK, rank));
  }
  Sizes result;
  result.rank = static_cast<int64_t>(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size_a = aligned_size(a, rank, i);
    const int64_t size_b = aligned_size(b, rank, i);
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      throw_value_error(format_text(
          "shapes {} and {} cannot be broadcast together: sizes {} and {} differ at dimension {}",
          shape_text(a), shape_text(b), size_a, size_b, i));
    }
    result.values[i] = size_a == 1 ? size_b : size_a;
  }
  return result;
}

Sizes expanded_strides(Shape shape, Shape strides, Shape target) {
  if (shape.size() > target.size()) {
    throw_value_error(
        format_text("shape {} cannot be expanded to {}: it has {} dimensions, the target {}",
                    shape_text(shape), shape_text(target), shape.size(), target.size()));
  }
  Sizes result;
  result.rank = static_cast<int64_t>(target.size());
  const size_t missing = target.size() - shape.size();
  for (size_t i = 0; i < target.size(); ++i) {
    const int64_t size = aligned_size(shape, target.size(), i);
    if (i >= missing && size == target[i]) {
      result.values[i] = strides[i - missing];
    } else if (size == 1) {
      result.values[i] = 0;
    } else {
      throw_value_error(
          format_text("shape {} cannot be expanded to {}: sizes {} and {} differ at dimension {}",
                      shape_text(shape), shape_text(target), size, target[i], i));
    }
  }
  return result;
}

}  // namespace tenon::core
