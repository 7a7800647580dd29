// Derivatives of ops by name at special values, for comparison with long double.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compare.hpp"

namespace derivatives {

using Long = long double;
using tenon::Tensor;

inline constexpr Long nan_number = std::numeric_limits<Long>::quiet_NaN();

// Both signs of: 0, numbers whose squares vanish and overflow, moderate ones, saturation, infinity.
template <class T>
std::vector<T> special_values() {
  const T huge = sizeof(T) == 4 ? static_cast<T>(1e30) : static_cast<T>(1e200);
  std::vector<T> list;
  for (const T x : {T{0}, 1 / huge, static_cast<T>(0.5), T{1}, static_cast<T>(1.5), T{20},
                    static_cast<T>(37.43), static_cast<T>(40.41), T{80}, T{700}, huge,
                    std::numeric_limits<T>::infinity()}) {
    list.push_back(x);
    list.push_back(-x);
  }
  return list;
}

// The first three derivatives of the logistic function, without a difference of large numbers.
struct Logistic {
  Long value, first, second, third;
};
inline Logistic logistic(Long x) {
  const Long decay = std::exp(-std::fabs(x));
  const Long low = decay / (1 + decay), high = 1 / (1 + decay);
  const Long s = x < 0 ? low : high, t = x < 0 ? high : low;
  const Long difference = -std::tanh(x / 2);  // t - s
  return {s, s * t, s * t * difference, s * t * (difference * difference - 2 * s * t)};
}

template <class T>
struct Found {
  std::vector<T> first, forward, second, third;
};
// The derivatives of an op of one operand, up to `order`.
template <class T, class Call>
Found<T> derivatives_of_call(const Call& call, const std::vector<T>& at, int order) {
  const Tensor x = tenon::from_range(at.begin(), at.end()).requires_grad_();
  tenon::GradientOptions graph;
  graph.create_graph = true;
  graph.allow_unused = true;
  Found<T> found;
  Tensor y = call(x);
  for (int i = 1; i <= order; ++i) {
    y = y.requires_grad() ? tenon::gradients({y.sum()}, {x}, graph)[0] : Tensor();
    if (!y.defined()) y = zeros_like(x.detach());
    (i == 1   ? found.first
     : i == 2 ? found.second
              : found.third) = y.detach().template to_vector<T>();
  }
  const tenon::DualLevel level;
  const Tensor input = x.detach();
  found.forward =
      unpack_dual(call(make_dual(input, ones_like(input)))).tangent.template to_vector<T>();
  return found;
}
template <class T>
Found<T> derivatives_of(const std::string& op, const std::vector<T>& at, int order) {
  const tenon::Op handle(op);
  return derivatives_of_call<T>([&](const Tensor& x) { return handle.call<Tensor>(x); }, at, order);
}

// Whether a derivative is right relative to its size; below the smallest normal number any is 0.
// An exact derivative of NaN: the op has none there.
template <class T>
void check_derivative(const std::string& op, T at, T found, Long exact, double digits = 0) {
  if (std::isnan(exact)) return;
  CAPTURE(op);
  CAPTURE(at);
  CAPTURE(found);
  const T rounded = static_cast<T>(exact);
  CAPTURE(rounded);
  if (std::isinf(rounded)) {
    CHECK(found == rounded);
    return;
  }
  const Long tolerance = digits != 0 ? static_cast<Long>(digits) : sizeof(T) == 4 ? 2e-5L : 1e-12L;
  const Long least = std::numeric_limits<T>::min();
  CHECK(std::fabs(static_cast<Long>(found) - exact) <= tolerance * std::fabs(exact) + 4 * least);
}

}  // namespace derivatives
