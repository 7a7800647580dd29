// What the ops of this plugin share: refusals, reductions by name, shapes.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "own_ops.hpp"

namespace nn {

using tenon::Context;
using tenon::DType;
using tenon::IntList;
using tenon::Tensor;
using tenon::TensorList;

std::string shape_text(IntList shape);
inline std::string shape_text(const Tensor& tensor) { return shape_text(tensor.shape()); }

[[noreturn]] void throw_floating(const char* op, const char* name, DType dtype);
inline void check_floating(const char* op, const char* name, const Tensor& tensor) {
  if (__builtin_expect(!tenon::is_floating(tensor.dtype()), 0))
    throw_floating(op, name, tensor.dtype());
}
[[noreturn]] void throw_same_dtype(const char* op, const char* a_name, DType a, const char* b_name,
                                   DType b);
inline void check_same_dtype(const char* op, const char* a_name, const Tensor& a,
                             const char* b_name, const Tensor& b) {
  if (__builtin_expect(a.dtype() != b.dtype(), 0))
    throw_same_dtype(op, a_name, a.dtype(), b_name, b.dtype());
}

// What strides, dilations and windows may be: products and sums of a few of them stay in range.
inline constexpr int64_t largest_setting = INT32_MAX;
[[noreturn]] void throw_setting(const char* op, const char* name, int64_t value);
inline void check_setting(const char* op, const char* name, int64_t value) {
  if (__builtin_expect(value > largest_setting, 0)) throw_setting(op, name, value);
}

enum class Reduction { none, mean, sum };
Reduction parse_reduction(const char* op, std::string_view text);
inline Tensor reduce(const Tensor& losses, Reduction reduction) {
  return reduction == Reduction::none   ? losses
         : reduction == Reduction::mean ? losses.mean()
                                        : losses.sum();
}

// A shape under construction, without the heap.
struct Shape {
  std::array<int64_t, TENON_MAX_RANK> sizes{};
  int64_t rank = 0;

  Shape() = default;
  explicit Shape(IntList list) : rank(list.size()) {
    for (int64_t i = 0; i < rank; ++i) (*this)[i] = list[i];
  }
  int64_t& operator[](int64_t i) { return sizes[static_cast<size_t>(i)]; }
  int64_t operator[](int64_t i) const { return sizes[static_cast<size_t>(i)]; }
  void push(int64_t size) { (*this)[rank++] = size; }
  IntList list() const { return {sizes.data(), rank}; }
  int64_t count() const {
    int64_t product = 1;
    for (int64_t i = 0; i < rank; ++i) product *= (*this)[i];
    return product;
  }
};

// Row-major strides.
inline Shape dense_strides(IntList shape) {
  Shape strides(shape);
  int64_t stride = 1;
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}
// A contiguous tensor's storage under another shape. For kernels.
inline Tensor reshaped(const Tensor& tensor, IntList shape) {
  return tenon::alias_tensor(tensor, shape, dense_strides(shape).list(), 0);
}

// The tensor itself or a contiguous copy of it.
inline Tensor dense(const Tensor& tensor) { return tenon::contiguous_as(tensor, tensor.dtype()); }

// Calls body(T{}) for a floating dtype.
template <class Body>
void visit_floating(DType dtype, Body&& body) {
  if (dtype == tenon::f32) {
    body(float{});
  } else {
    body(double{});
  }
}

// An undefined tangent adds nothing.
inline Tensor plus(Tensor a, Tensor b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

}  // namespace nn
