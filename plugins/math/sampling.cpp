// Draws from distributions that a tensor gives: bernoulli and multinomial.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <tenon/kernel/view.hpp>
#include <tenon/parallel.hpp>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Bernoulli {
  static constexpr auto schema = "bernoulli(Tensor input, *, dtype? dtype=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "low": 0, "high": 1}, "check": {"deterministic": false}}])";
  static constexpr auto doc =
      "1 with the probability that each element is, else 0, in its dtype unless one is given.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, DType dtype) {
    kernel::check_floating("bernoulli", "input", input);
    const Tensor probabilities = contiguous_as(input, f64);
    const Tensor result = empty_tensor(input.shape(), boolean);
    const auto* from = kernel::elements<const double>(probabilities);
    auto* to = kernel::elements<bool>(result);
    const int64_t count = input.numel();
    for (int64_t i = 0; i < count; ++i) {
      if (from[i] >= 0 && from[i] <= 1) continue;
      throw ValueError("bernoulli(): probabilities must be from 0 to 1, got " +
                       Scalar(from[i]).text());
    }
    const Draws draws = reserve_draws(count);
    parallel_for(0, count, 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = draws.uniform(i) < from[i];
    });
    return contiguous_as(result, dtype == DType::none ? input.dtype() : dtype);
  }
};

// Checks the weights of one row, and returns how many are not 0.
int64_t check_weights(const double* weights, int64_t count) {
  int64_t possible = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!(weights[i] >= 0) || std::isinf(weights[i])) {
      throw ValueError("multinomial(): weights must be 0 or more and finite, got " +
                       Scalar(weights[i]).text());
    }
    possible += weights[i] > 0 ? 1 : 0;
  }
  if (possible == 0) throw ValueError("multinomial(): the weights of a row are all 0");
  return possible;
}

struct Multinomial {
  static constexpr auto schema =
      "multinomial(Tensor input, int num_samples, bool replacement=False) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 4], "low": 0.1, "high": 1}, "num_samples": 3, "check": {"deterministic": false}},
          {"input": {"shape": [3], "low": 0.1, "high": 1}, "num_samples": 5, "replacement": true,
           "check": {"deterministic": false}}])";
  static constexpr auto doc =
      "num_samples indices of each row of weights, which need not add up to 1, drawn with those "
      "probabilities: one after the other from what is left, or with replacement.";
  static constexpr bool zero_gradient = true;
  static Tensor shape_rule(const Tensor& input, int64_t num_samples, bool replacement) {
    kernel::check_floating("multinomial", "input", input);
    if (input.dim() != 1 && input.dim() != 2) {
      throw ValueError("multinomial(): 'input' must have 1 or 2 dimensions, got shape " +
                       shape_text(input.shape()));
    }
    const int64_t count = input.shape()[input.dim() - 1];
    if (num_samples < 1 || count == 0 || (!replacement && num_samples > count)) {
      throw ValueError("multinomial(): cannot draw " + std::to_string(num_samples) + " of " +
                       std::to_string(count) + (replacement ? "" : " without replacement"));
    }
    Shape shape(input.shape());
    shape[shape.rank - 1] = num_samples;
    return empty_tensor(shape, i64);
  }
  static Tensor forward(const Tensor& input, int64_t num_samples, bool replacement) {
    const Tensor result = shape_rule(input, num_samples, replacement);
    const Tensor weights = contiguous_as(input, f64);
    const int64_t count = input.shape()[input.dim() - 1], rows = result.numel() / num_samples;
    const Draws draws = reserve_draws(rows * (replacement ? num_samples : count));
    for (int64_t row = 0; row < rows; ++row) {
      const double* from = kernel::elements<const double>(weights) + row * count;
      int64_t* to = kernel::elements<int64_t>(result) + row * num_samples;
      const int64_t possible = check_weights(from, count);
      if (replacement) {
        draw_again(from, count, num_samples, draws, row, to);
        continue;
      }
      if (possible < num_samples) {
        throw ValueError("multinomial(): a row has " + std::to_string(possible) +
                         " weights above 0, too few to draw " + std::to_string(num_samples) +
                         " without replacement");
      }
      draw_once(from, count, num_samples, draws, row, to);
    }
    return result;
  }

 private:
  static void draw_again(const double* weights, int64_t count, int64_t num_samples,
                         const Draws& draws, int64_t row, int64_t* to) {
    std::vector<double> sums(static_cast<size_t>(count));
    std::partial_sum(weights, weights + count, sums.begin());
    for (int64_t i = 0; i < num_samples; ++i) {
      const double at = draws.uniform(row * num_samples + i) * sums.back();
      int64_t place = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
      // Rounding may reach the sum of all, behind which weights are 0.
      place = std::min(place, count - 1);
      while (weights[place] == 0) --place;
      to[i] = place;
    }
  }
  // The order of exponentially distributed times is that of draws without replacement
  // (doi:10.1016/j.ipl.2005.11.003).
  static void draw_once(const double* weights, int64_t count, int64_t num_samples,
                        const Draws& draws, int64_t row, int64_t* to) {
    std::vector<double> times(static_cast<size_t>(count));
    std::vector<int64_t> order(times.size());
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = 0; i < count; ++i) {
      times[static_cast<size_t>(i)] =
          weights[i] == 0 ? HUGE_VAL : -std::log1p(-draws.uniform(row * count + i)) / weights[i];
    }
    std::partial_sort(
        order.begin(), order.begin() + num_samples, order.end(), [&](int64_t a, int64_t b) {
          const double x = times[static_cast<size_t>(a)], y = times[static_cast<size_t>(b)];
          return x != y ? x < y : a < b;
        });
    std::copy_n(order.begin(), num_samples, to);
  }
};

}  // namespace

TENON_OPS(Bernoulli, Multinomial)
