// Helpers of the ops whose conventions are ONNX's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/nn_ops.hpp>
#include <tenon/ops.hpp>

namespace onnx {

namespace functional = tenon::nn::functional;
using tenon::Argument, tenon::DType, tenon::FloatList, tenon::IntList, tenon::Scalar;
using tenon::Tensor, tenon::TensorList;

inline IntList list_of(const std::vector<int64_t>& list) {
  return {list.data(), static_cast<int64_t>(list.size())};
}
inline std::vector<int64_t> vector_of(IntList list) { return {list.begin(), list.end()}; }

// An axis from 0; IndexError outside of the tensor's.
inline int64_t axis_of(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    throw tenon::IndexError("the axis " + std::to_string(axis) + " is out of range for " +
                            std::to_string(rank) + " dimensions");
  }
  return axis < 0 ? axis + rank : axis;
}
inline std::vector<int64_t> axes_of(IntList axes, int64_t rank) {
  std::vector<int64_t> list;
  for (const int64_t axis : axes) list.push_back(axis_of(axis, rank));
  return list;
}
inline std::vector<int64_t> all_axes(int64_t rank) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < rank; ++i) list.push_back(i);
  return list;
}
// A tensor of one number in the dtype of another.
inline Tensor number_like(const Tensor& like, const Scalar& number) {
  return tenon::full(IntList(), number, like.dtype());
}

// The number in a floating tensor without dimensions: ops by a number are faster than by a tensor of
// one. Empty where an op must see the tensor: it needs a gradient, has a tangent or is of a type.
std::optional<double> plain_number(const Tensor& tensor);

// Integers of dtypes that kernels do not compute in, as i64, and back; others stay. NotImplementedError for
// numbers of u64 beyond i64.
Tensor computable(const Tensor& tensor);
Tensor in_dtype(const Tensor& result, DType dtype);

}  // namespace onnx
