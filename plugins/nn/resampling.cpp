// Positions and weights of resampling.
#include "resampling.hpp"

#include <algorithm>
#include <cmath>

namespace nn {

namespace {

// Input positions and weights for each output position, tap by tap.
struct WeightedTaps {
  std::vector<std::vector<int64_t>> at;
  std::vector<std::vector<double>> weight;  // empty: 1
};

int64_t clipped(double position, int64_t size) {
  return static_cast<int64_t>(std::min(std::max(position, 0.0), static_cast<double>(size - 1)));
}

double rounded(double position, Rounding rounding) {
  switch (rounding) {
    case Rounding::prefer_floor:
      return std::ceil(position - 0.5);
    case Rounding::prefer_ceil:
      return std::floor(position + 0.5);
    case Rounding::floor:
      return std::floor(position);
    default:
      return std::ceil(position);
  }
}

WeightedTaps nearest_taps(const Resampling& how) {
  WeightedTaps taps;
  taps.at.resize(1);
  for (int64_t i = 0; i < how.out; ++i)
    taps.at[0].push_back(clipped(rounded(how.position(i), how.rounding), how.in));
  return taps;
}

// The weight of an element at a distance from the position.
double weight_at(double distance, const Resampling& how) {
  const double x = std::fabs(distance), a = how.cubic_coefficient;
  if (how.curve == Curve::linear) return std::max(1 - x, 0.0);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

WeightedTaps curve_taps(const Resampling& how) {
  const double width = how.antialias ? std::max(1.0, 1 / how.scale) : 1;
  const double reach = how.curve == Curve::linear ? 1 : 2;
  const auto half = static_cast<int64_t>(std::ceil(reach * width));
  WeightedTaps taps;
  taps.at.resize(static_cast<size_t>(2 * half));
  taps.weight.resize(static_cast<size_t>(2 * half));
  const auto last = static_cast<double>(how.in - 1);
  for (int64_t i = 0; i < how.out; ++i) {
    double position = how.position(i);
    // The border is repeated, so that a line continues as its end.
    if (how.curve == Curve::linear && !how.antialias && !how.exclude_outside)
      position = std::clamp(position, 0.0, last);
    const double low = std::floor(position);
    double sum = 0;
    for (int64_t k = 0; k < 2 * half; ++k) {
      const double place = low + static_cast<double>(k - half + 1);
      const bool outside = place < 0 || place > last;
      const double weight =
          how.exclude_outside && outside ? 0 : weight_at((place - position) / width, how);
      taps.at[static_cast<size_t>(k)].push_back(clipped(place, how.in));
      taps.weight[static_cast<size_t>(k)].push_back(weight);
      sum += weight;
    }
    if (!how.antialias && !how.exclude_outside) continue;
    for (auto& weights : taps.weight) weights.back() /= sum;
  }
  return taps;
}

}  // namespace

double Resampling::position(int64_t i) const {
  const auto at = static_cast<double>(i), size = static_cast<double>(in),
             count = static_cast<double>(out);
  switch (coordinates) {
    case Coordinates::align_corners:
      return out == 1 ? 0 : at * (size - 1) / (count - 1);
    case Coordinates::asymmetric:
      return from_sizes ? at * size / count : at / scale;
    case Coordinates::crop: {
      const double place = out == 1 ? (begin + end) / 2 : begin + at * (end - begin) / (count - 1);
      return place * (size - 1);
    }
    case Coordinates::pytorch_half_pixel:
      if (out == 1) return 0;
      break;
    case Coordinates::half_pixel_symmetric:
      if (!from_sizes) return size / 2 * (1 - count / (scale * size)) + (at + 0.5) / scale - 0.5;
      break;
    default:
      break;
  }
  // One division, so that positions half-way between elements are exact.
  return from_sizes ? ((2 * at + 1) * size - count) / (2 * count) : (at + 0.5) / scale - 0.5;
}

Tensor resampled(const Tensor& input, int64_t dim, const Resampling& resampling) {
  if (resampling.is_identity()) return input;
  const WeightedTaps taps =
      resampling.curve == Curve::nearest ? nearest_taps(resampling) : curve_taps(resampling);
  std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
  shape[static_cast<size_t>(dim)] = -1;
  Tensor result;
  for (size_t k = 0; k < taps.at.size(); ++k) {
    const auto& places = taps.at[k];
    Tensor part = input.index_select(dim, tenon::from_range(places.begin(), places.end()));
    if (!taps.weight.empty()) {
      const auto& weights = taps.weight[k];
      const Tensor factors =
          tenon::from_range(weights.begin(), weights.end()).to(input.dtype()).reshape(shape);
      // An element without weight is not read: an infinite one would leave NaN.
      if (std::count(weights.begin(), weights.end(), 0.0) != 0)
        part = part.masked_fill(factors.eq(0), 0);
      part = part * factors;
    }
    result = plus(result, part);
  }
  return result;
}

void check_addressable(const char* op, const Tensor& input, IntList shape) {
  int64_t bytes = tenon::element_size(input.dtype());
  for (const int64_t size : shape) {
    if (!__builtin_mul_overflow(bytes, size, &bytes)) continue;
    throw tenon::ValueError(std::string(op) + "(): an input of shape " + shape_text(input) +
                            " at the size " + shape_text(shape) +
                            " has more elements than can be addressed: choose a smaller one");
  }
}

}  // namespace nn
