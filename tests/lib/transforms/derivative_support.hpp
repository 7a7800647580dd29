// Shared code of the tests of transforms.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

namespace transforming {

using namespace tenon;
using namespace tenon::transforms;
using Numbers = std::vector<double>;

inline Tensor row(const Numbers& values) { return from_range(values.begin(), values.end()); }
inline Tensor scalar(double value) { return full(std::vector<int64_t>{}, value, f64); }
inline Numbers numbers(const Tensor& tensor) { return tensor.to_vector<double>(); }

// The error of a call: its kind and its text.
struct Refused {
  uint32_t kind = TENON_OK;
  std::string text;
};
template <class Call>
Refused refused(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {static_cast<uint32_t>(error.kind()), error.what()};
  }
  return {};
}
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline bool close(const Tensor& a, const Tensor& b, double tolerance = 1e-9) {
  if (a.sizes() != b.sizes()) return false;
  const Numbers one = numbers(a), other = numbers(b);
  for (size_t i = 0; i < one.size(); ++i) {
    if (!(std::abs(one[i] - other[i]) <= tolerance * (1 + std::abs(other[i])))) return false;
  }
  return true;
}

}  // namespace transforming
