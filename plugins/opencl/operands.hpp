// Operands of kernels: tensors of the device by their element types, and how kernels walk over them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "opencl/runtime.hpp"

namespace tenon_opencl {

using tenon::DType;
using tenon::IntList;
using tenon::Tensor;

inline bool is_there(const Tensor& tensor) {
  return tensor.defined() && tenon::is<OpenclTensor>(tensor);
}
inline int64_t index_of(const Tensor& tensor) {
  return tenon::device::index_of<OpenclTensor>(tensor);
}
inline Instance& instance_of(const Tensor& tensor) { return runtime().at(index_of(tensor)); }
inline Memory memory_of(const Tensor& tensor) { return {tenon::device::elements(tensor)}; }

// f32, and f64 where the device has it.
inline bool is_floating(const Tensor& tensor) {
  return is_there(tensor) && (tensor.dtype() == tenon::f32 ||
                              (tensor.dtype() == tenon::f64 && instance_of(tensor).has_doubles()));
}
// Numbers that kernels compare and select: floating, i64, i32, u8.
inline bool is_number(const Tensor& tensor) {
  return is_floating(tensor) ||
         (is_there(tensor) && (tensor.dtype() == tenon::i64 || tensor.dtype() == tenon::i32 ||
                               tensor.dtype() == tenon::u8));
}
// Numbers, or bool, whose elements are bytes of 0 and 1.
inline bool is_element(const Tensor& tensor) {
  return is_number(tensor) || (is_there(tensor) && tensor.dtype() == tenon::boolean);
}
inline bool is_dense(const Tensor& tensor) { return is_floating(tensor) && tensor.is_contiguous(); }
// An index that kernels read: i64 or i32.
inline bool is_index(const Tensor& tensor) {
  return is_there(tensor) && (tensor.dtype() == tenon::i64 || tensor.dtype() == tenon::i32);
}
// Whether both are on the same instance, or one is undefined.
inline bool together(const Tensor& a, const Tensor& b) {
  return !a.defined() || !b.defined() || index_of(a) == index_of(b);
}

inline Tensor empty_like(const Tensor& like, IntList shape, DType dtype) {
  return tenon::device::empty<OpenclTensor>(shape, dtype, index_of(like));
}
inline Tensor empty_like(const Tensor& like, IntList shape) {
  return empty_like(like, shape, like.dtype());
}

// The tensor, or a contiguous copy.
Tensor dense(const Tensor& tensor);
// A view, not recorded: of the same memory, `offset` elements on.
Tensor view(const Tensor& tensor, IntList shape, IntList strides, int64_t offset);

// Whether a kernel that writes `into` would read what it has written, of another place of `operand`.
bool overlaps(const Tensor& into, const Tensor& operand);

// ---- walks over up to four operands of one shape ----

inline constexpr int kMostOperands = 4;
inline constexpr int kMostDims = 6;

// As kernels get it: rows of `inner` elements, `by` apart, and the dimensions around them.
struct Dims {
  cl_ulong inner = 1, outer = 1;
  cl_long by[kMostOperands] = {};
  cl_ulong size[kMostDims] = {};
  cl_long step[kMostOperands][kMostDims] = {};
  cl_uint rank = 0, runs = 1;

  int64_t count() const { return static_cast<int64_t>(inner * outer); }
};

// Steps of an operand that is broadcast to a shape.
std::vector<int64_t> steps_in(const Tensor& tensor, IntList shape);

// Dimensions that follow each other in all operands are one. None where there are too many.
std::optional<Dims> dims_of(IntList shape, const std::vector<std::vector<int64_t>>& steps);

// Work items of a kernel over rows, of `run` elements each; fills `dims.runs`.
size_t row_items(Dims& dims, int64_t run);
// `count` in whole groups.
inline size_t whole_groups(int64_t count, size_t group) {
  return (static_cast<size_t>(count) + group - 1) / group * group;
}
inline constexpr size_t kGroup = 64;

// The shape that both are broadcast to; none where they do not fit.
std::optional<std::vector<int64_t>> broadcast(IntList a, IntList b);
inline IntList list_of(const std::vector<int64_t>& sizes) {
  return {sizes.data(), static_cast<int64_t>(sizes.size())};
}
inline cl_ulong number(int64_t value) { return static_cast<cl_ulong>(value); }

// A number as an argument T of a kernel.
template <class Run>
void with_number(DType type, double number, int64_t whole, const Run& run) {
  switch (type) {
    case DType::f32:
      return run(static_cast<cl_float>(number));
    case DType::f64:
      return run(static_cast<cl_double>(number));
    case DType::i64:
      return run(static_cast<cl_long>(whole));
    case DType::i32:
      return run(static_cast<cl_int>(whole));
    default:
      return run(static_cast<cl_uchar>(whole));
  }
}
// A number as a floating argument T.
template <class Run>
void with_floating(DType type, const Run& run) {
  if (type == DType::f64)
    run(cl_double{});
  else
    run(cl_float{});
}

}  // namespace tenon_opencl
