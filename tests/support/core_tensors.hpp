// Core tensors from values, and values from core tensors, for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "core/tensor/dtype.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::test {

using Values = std::vector<int64_t>;

// A contiguous tensor of dtype T with the values in row-major order.
template <class T>
core::TensorRef tensor_of(const Values& shape, const std::vector<T>& values) {
  core::TensorRef tensor = core::make_empty(core::dtype_of<T>(), shape);
  if (values.size() != static_cast<size_t>(tensor->view.count)) {
    throw core::Error(TENON_ERROR_VALUE, "expected as many values as the shape has elements");
  }
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  for (size_t i = 0; i < values.size(); ++i) {
    static_cast<Stored*>(tensor->view.data)[i] = static_cast<Stored>(values[i]);
  }
  return tensor;
}

// The elements in row-major order, whatever the strides.
template <class T>
std::vector<T> values_of(const core::Tensor& tensor) {
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  std::vector<T> values;
  std::vector<int64_t> index(tensor.view.rank);
  for (int64_t n = 0; n < tensor.view.count; ++n) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * tensor.view.strides[i];
    values.push_back(static_cast<T>(static_cast<const Stored*>(tensor.view.data)[offset]));
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < tensor.view.shape[i]) break;
      index[i] = 0;
    }
  }
  return values;
}

}  // namespace tenon::test
