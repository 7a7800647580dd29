// bincount and histc.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <tenon/kernel/view.hpp>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMostBins = INT32_MAX;

struct Bincount {
  static constexpr auto schema =
      "bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"values": [0, 2, 2], "dtype": "i64"}}, {"input": {"values": [0, 2, 2], "dtype":
          "i64"}, "weights": {"shape": [3]}, "minlength": 5}])";
  static constexpr bool data_dependent_shape = true;
  static constexpr auto doc =
      "How often each number from 0 on occurs in a vector of integers, as i64, or the sum of its "
      "weights, in their dtype (f64 of integers). At least minlength bins, at most 2^31 - 1.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& weights, int64_t minlength) {
    kernel::check_dtype("bincount", "input", input.dtype(), integer_dtypes);
    if (input.dim() != 1) {
      throw ValueError("bincount(): input must be a vector, but its shape is " +
                       shape_text(input.shape()));
    }
    if (weights.defined()) kernel::check_same_shape("bincount", "weights", weights, "input", input);
    if (minlength < 0 || minlength > kMostBins) {
      throw ValueError("bincount(): minlength must be from 0 to " + std::to_string(kMostBins) +
                       ", but it is " + std::to_string(minlength));
    }
    const Tensor places = input.to(i64);
    int64_t bins = minlength;
    if (input.numel() != 0) {
      const auto lowest = amin(places).item<int64_t>(), highest = amax(places).item<int64_t>();
      if (lowest < 0 || highest >= kMostBins) {
        throw ValueError("bincount(): element " + std::to_string(lowest < 0 ? lowest : highest) +
                         " is not a bin: elements must be from 0 to " +
                         std::to_string(kMostBins - 1));
      }
      bins = std::max(bins, highest + 1);
    }
    const Tensor added = !weights.defined()             ? ones({1}, i64).expand(input.shape())
                         : is_floating(weights.dtype()) ? weights
                                                        : weights.to(f64);
    return zeros({bins}, added.dtype()).index_add(0, places, added);
  }
};

// The bins of a histogram. All numbers are scaled by a power of two, so that nothing overflows.
class Bins {
 public:
  Bins(double min, double max, int64_t count)
      : count_(static_cast<double>(count)),
        exponent_(std::clamp(std::ilogb(std::max(std::fabs(min), std::fabs(max))), -1000, 1000)),
        unit_(std::ldexp(1.0, -exponent_)),
        min_(min * unit_),
        max_(max * unit_),
        scale_(count_ / (max_ - min_)) {}
  // The bin of a number of the range, by edges that are rounded to T.
  template <class T>
  int64_t bin_of(T x) const {
    const double place = (static_cast<double>(x) * unit_ - min_) * scale_;
    double bin = std::min(std::floor(place), count_ - 1);
    const double tolerance =
        8 * std::numeric_limits<T>::epsilon() * std::max(std::fabs(min_), std::fabs(max_)) * scale_;
    if (std::fabs(place - std::round(place)) > tolerance) return static_cast<int64_t>(bin);
    while (bin > 0 && x < edge<T>(bin)) --bin;
    // Bins narrower than the distance of two numbers share an edge: the first has what is there.
    while (bin + 1 < count_ && x >= edge<T>(bin + 1) && edge<T>(bin) < edge<T>(bin + 1)) ++bin;
    return static_cast<int64_t>(bin);
  }

 private:
  // min + (max - min) bin / count, with one rounding: products and sum are kept in two parts.
  template <class T>
  T edge(double bin) const {
    const double from_max = bin - count_, low = min_ * from_max, high = max_ * bin;
    const double sum = high - low, lost = high - sum;
    const double rest = (high - (sum + lost)) + (lost - low) + std::fma(max_, bin, -high) -
                        std::fma(min_, from_max, -low);
    const double quotient = sum / count_;
    const double exact = quotient + (std::fma(-quotient, count_, sum) + rest) / count_;
    return static_cast<T>(std::ldexp(exact, exponent_));
  }

  double count_;
  int exponent_;
  double unit_, min_, max_, scale_;
};

struct Histc {
  static constexpr auto schema =
      "histc(Tensor input, int bins=100, float min=0.0, float max=0.0, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [20]}, "bins": 4}, {"input": {"shape": [20]}, "bins": 5, "min": -0.5,
          "max": 0.5}])";
  static constexpr auto doc =
      "How many elements are in each of `bins` intervals of one width from min to max, with edges "
      "in the dtype of input: an element at an edge is in the bin above, one at max in the last. "
      "Others, and NaN, are not counted. Where min equals max, the smallest "
      "and largest element take their place, and one more on both sides where these are equal. In "
      "the dtype of input; integers give f32.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, int64_t bins, double min, double max) {
    if (bins < 1 || bins > kMostBins) {
      throw ValueError("histc(): bins must be from 1 to " + std::to_string(kMostBins) +
                       ", but it is " + std::to_string(bins));
    }
    const Tensor source = contiguous_as(input, is_floating(input.dtype()) ? input.dtype() : f32);
    if (min == max && source.numel() != 0) {
      min = amin(source).item<double>();
      max = amax(source).item<double>();
    }
    if (min == max) {
      // Numbers that one more leaves as they are get their neighbours.
      min = std::min(min - 1, std::nextafter(min, -kInfinity));
      max = std::max(max + 1, std::nextafter(max, kInfinity));
    }
    if (!(std::isfinite(min) && std::isfinite(max) && min <= max)) {
      throw ValueError("histc(): the range from " + Scalar(min).text() + " to " +
                       Scalar(max).text() + " must be finite and ascending: give min and max");
    }
    std::vector<int64_t> counts(static_cast<size_t>(bins));
    kernel::visit<floating_dtypes>(source.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = kernel::elements<const T>(source);
      const Bins places(min, max, bins);
      for (int64_t i = 0; i < source.numel(); ++i) {
        const auto x = static_cast<double>(from[i]);
        if (x >= min && x <= max) ++counts[static_cast<size_t>(places.bin_of(from[i]))];
      }
    });
    return contiguous_as(from_range(counts.begin(), counts.end()), source.dtype());
  }
};

}  // namespace

TENON_OPS(Bincount, Histc)
