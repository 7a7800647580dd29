// Jacobians, the steps of differences, and repeatable directions: what gradcheck.hpp computes with.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// d output[k] / d input[i] at [i * outputs + k].
struct Jacobian {
  int64_t inputs = 0, outputs = 0;
  std::vector<double> values;
  Jacobian(int64_t input_count, int64_t output_count)
      : inputs(input_count),
        outputs(output_count),
        values(static_cast<size_t>(input_count * output_count)) {}
  double& at(int64_t i, int64_t k) { return values[static_cast<size_t>(i * outputs + k)]; }
  double at(int64_t i, int64_t k) const { return values[static_cast<size_t>(i * outputs + k)]; }
  std::string text() const {
    const int64_t shape[] = {inputs, outputs};
    return from_buffer(values.data(), IntList(shape, 2)).text();
  }
};

// The real numbers that a tensor is made of: one for each element, two for each complex one.
inline int64_t number_count(const Tensor& tensor) {
  return tensor.numel() * (is_complex(tensor.dtype()) ? 2 : 1);
}
// These, in row-major order, a real part before its imaginary one; none of an undefined tensor.
inline std::vector<double> numbers_of(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (!is_complex(tensor.dtype())) return tensor.to_vector<double>();
  const Tensor whole = contiguous_as(tensor, c128);
  const auto* from = static_cast<const double*>(whole.view_record().data);
  return std::vector<double>(from, from + number_count(whole));
}
// Address of a number in memory.
inline char* number_place(const Tensor& input, int64_t number) {
  const bool complex = is_complex(input.dtype());
  int64_t element = complex ? number / 2 : number, offset = 0;
  for (int64_t d = input.dim() - 1; d >= 0; --d) {
    offset += element % input.shape()[d] * input.strides()[d];
    element /= input.shape()[d];
  }
  const int64_t part = complex ? number % 2 * element_size(real_dtype(input.dtype())) : 0;
  return static_cast<char*>(input.view_record().data) + offset * element_size(input.dtype()) + part;
}

// Shifts one number of an input, and puts it back whatever happens.
class Shift {
 public:
  Shift(const Tensor& input, int64_t number)
      : single_(real_dtype(input.dtype()) == f32), place_(number_place(input, number)) {
    original_ = single_ ? static_cast<double>(*reinterpret_cast<float*>(place_))
                        : *reinterpret_cast<double*>(place_);
  }
  ~Shift() { by(0); }
  Shift(const Shift&) = delete;
  Shift& operator=(const Shift&) = delete;
  void by(double step) {
    if (single_)
      *reinterpret_cast<float*>(place_) = static_cast<float>(original_ + step);
    else
      *reinterpret_cast<double*>(place_) = original_ + step;
  }

 private:
  bool single_;
  char* place_;
  double original_;
};

// Moves a whole input along a direction, and puts it back whatever happens.
class Move {
 public:
  Move(const Tensor& input, const std::vector<double>& direction) : direction_(direction) {
    shifts_.reserve(direction.size());
    for (int64_t i = 0; i < number_count(input); ++i)
      shifts_.push_back(std::make_unique<Shift>(input, i));
  }
  void by(double step) {
    for (size_t i = 0; i < shifts_.size(); ++i) shifts_[i]->by(step * direction_[i]);
  }

 private:
  const std::vector<double>& direction_;
  std::vector<std::unique_ptr<Shift>> shifts_;
};

// Repeatable numbers between -1 and 1, away from 0.
inline std::vector<double> arbitrary_numbers(int64_t count, uint64_t seed) {
  std::vector<double> numbers;
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double uniform = static_cast<double>(state >> 11) * 0x1p-53;
    numbers.push_back(uniform < 0.5 ? uniform - 1 : uniform);
  }
  return numbers;
}
inline Tensor tensor_of(const std::vector<double>& numbers, const Tensor& like) {
  const Tensor result =
      empty_tensor(like.shape(), is_half(like.dtype()) ? DType::f64 : like.dtype());
  visit(real_dtype(result.dtype()), [&](auto zero) {
    using T = decltype(zero);
    std::transform(numbers.begin(), numbers.end(), static_cast<T*>(result.view_record().data),
                   [](double number) { return static_cast<T>(number); });
  });
  return result.dtype() == like.dtype() ? result : contiguous_as(result, like.dtype());
}
inline Tensor arbitrary_like(const Tensor& like, uint64_t seed) {
  return tensor_of(arbitrary_numbers(number_count(like), seed), like);
}

// Whether two elements may share a place; a stride of 0 is refused before.
inline bool overlaps(const Tensor& input) {
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride, size
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (input.shape()[d] > 1)
      dimensions.emplace_back(std::abs(input.strides()[d]), input.shape()[d]);
  }
  std::sort(dimensions.begin(), dimensions.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dimensions) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace detail
TENON_NAMESPACE_END
