// Comparing vmap with a loop over samples.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>
#include <tenon/transforms/vmap.hpp>

namespace batching {

using namespace tenon;
using transforms::BatchDims;
using transforms::Batched;
using transforms::Randomness;
using transforms::VmapOptions;

// The largest difference of two tensors, relative to the largest element; infinite where dtypes, shapes
// or NaNs differ.
inline double difference(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return INFINITY;
  if (a.numel() == 0) return 0;
  const auto numbers = [](const Tensor& t) {
    const Tensor whole = is_complex(t.dtype()) ? view_as_real(t.contiguous()) : t;
    return whole.detach().to(f64).to_vector<double>();
  };
  const std::vector<double> x = numbers(a), y = numbers(b);
  double largest = 1e-30, most = 0;
  for (const double number : y) {
    if (std::isfinite(number)) largest = std::max(largest, std::fabs(number));
  }
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return INFINITY;
    most = std::max(most, std::fabs(x[i] - y[i]) / largest);
  }
  return most;
}

// Text of the error that `body` throws.
template <class Error, class Body>
std::string refusal(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace batching
