// interpolate: images of another size. Each spatial dimension is resampled for itself: every output
// element is a weighted sum of a few input elements along it.
#include <algorithm>
#include <cmath>

#include "common.hpp"
#include "shared_ops/rounded_size.hpp"

namespace {

using namespace nn;
namespace functional = tenon::nn::functional;

constexpr auto kName = "interpolate";

// Along one dimension: input positions and weights for each output position, tap by tap.
struct Taps {
  std::vector<std::vector<int64_t>> at;
  std::vector<std::vector<double>> weight;  // empty: 1
};

struct Axis {
  int64_t in, out;
  double step;       // input elements from one output element to the next
  bool is_quotient;  // step is in / out
};

int64_t clipped(double position, int64_t size) {
  return static_cast<int64_t>(std::min(std::max(position, 0.0), static_cast<double>(size - 1)));
}

Taps nearest_taps(const Axis& axis, bool exact) {
  Taps taps;
  taps.at.resize(1);
  for (int64_t i = 0; i < axis.out; ++i) {
    // Half elements, as integers where rounding could choose the neighbour.
    const int64_t halves = 2 * i + (exact ? 1 : 0);
    const double position = static_cast<double>(halves) * 0.5 * axis.step;
    taps.at[0].push_back(axis.is_quotient ? halves * axis.in / (2 * axis.out)
                                          : clipped(std::floor(position), axis.in));
  }
  return taps;
}

// Position of output element `i` among the input's.
double source_of(const Axis& axis, int64_t i, bool align_corners) {
  const auto at = static_cast<double>(i);
  return align_corners ? at * axis.step : (at + 0.5) * axis.step - 0.5;
}

Taps linear_taps(const Axis& axis, bool align_corners) {
  Taps taps;
  taps.at.resize(2);
  taps.weight.resize(2);
  for (int64_t i = 0; i < axis.out; ++i) {
    const double source = std::max(source_of(axis, i, align_corners), 0.0);
    const int64_t low = clipped(std::floor(source), axis.in);
    const double part = std::min(source - static_cast<double>(low), 1.0);
    taps.at[0].push_back(low);
    taps.at[1].push_back(std::min(low + 1, axis.in - 1));
    taps.weight[0].push_back(1 - part);
    taps.weight[1].push_back(part);
  }
  return taps;
}

// Cubic convolution (Keys 1981) with a = -0.75; the border is repeated.
Taps cubic_taps(const Axis& axis, bool align_corners) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  Taps taps;
  taps.at.resize(4);
  taps.weight.resize(4);
  for (int64_t i = 0; i < axis.out; ++i) {
    const double source = source_of(axis, i, align_corners), low = std::floor(source);
    const double part = source - low;
    const double weights[4] = {far(part + 1), near(part), near(1 - part), far(2 - part)};
    for (size_t k = 0; k < 4; ++k) {
      taps.at[k].push_back(clipped(low + static_cast<double>(k) - 1, axis.in));
      taps.weight[k].push_back(weights[k]);
    }
  }
  return taps;
}

template <class T>
Tensor vector_of(const std::vector<T>& values, DType dtype) {
  const Tensor result = tenon::empty_tensor({static_cast<int64_t>(values.size())}, dtype);
  std::copy(values.begin(), values.end(), result.data<T>());
  return result;
}

Tensor resampled(const Tensor& input, int64_t dim, const Taps& taps) {
  std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
  shape[static_cast<size_t>(dim)] = -1;
  Tensor result;
  for (size_t k = 0; k < taps.at.size(); ++k) {
    Tensor part = input.index_select(dim, vector_of(taps.at[k], tenon::i64));
    if (!taps.weight.empty()) {
      const Tensor weight = vector_of(taps.weight[k], tenon::f64).to(input.dtype()).reshape(shape);
      // An element without weight is not read: an infinite one would leave NaN.
      if (std::count(taps.weight[k].begin(), taps.weight[k].end(), 0.0) != 0)
        part = part.masked_fill(weight.eq(0), 0);
      part = part * weight;
    }
    result = plus(result, part);
  }
  return result;
}

[[noreturn]] void refuse(const std::string& text) {
  throw tenon::ValueError("interpolate(): " + text);
}

// The output's spatial sizes, and the factors that were given.
struct Sizes {
  std::vector<int64_t> out;
  std::vector<double> factors;

  Sizes(const Tensor& input, const std::optional<IntList>& size,
        const std::optional<tenon::FloatList>& scale_factor) {
    const int64_t spatial = input.dim() - 2;
    if (size.has_value() == scale_factor.has_value())
      refuse("either size or scale_factor must be given");
    const auto count = static_cast<int64_t>(size ? size->size() : scale_factor->size());
    if (count != spatial && count != 1) {
      refuse("an input of shape " + shape_text(input) + " has " + std::to_string(spatial) +
             " spatial dimensions, got " + std::to_string(count) +
             (size ? " sizes" : " scale factors"));
    }
    for (int64_t i = 0; i < spatial; ++i) {
      const int64_t at = count == 1 ? 0 : i, in = input.shape()[2 + i];
      if (size) {
        check_setting(kName, "size", (*size)[at], 1);
        out.push_back((*size)[at]);
        continue;
      }
      const double factor = (*scale_factor)[at];
      const double found = std::floor(nearest_size(static_cast<double>(in) * factor));
      if (!(factor > 0) || !(found >= 1) || found > static_cast<double>(largest_setting)) {
        refuse("scale_factor " + tenon::Scalar(factor).text() + " of an input of shape " +
               shape_text(input) + " leaves sizes that are not from 1 to " +
               std::to_string(largest_setting));
      }
      out.push_back(static_cast<int64_t>(found));
      factors.push_back(factor);
    }
    check_elements(input);
  }

 private:
  // Before positions and weights are laid out for each.
  void check_elements(const Tensor& input) const {
    int64_t bytes = tenon::element_size(input.dtype());
    bool fits = true;
    const auto multiply = [&](int64_t size) {
      fits = fits && !__builtin_mul_overflow(bytes, size, &bytes);
    };
    multiply(input.shape()[0]);
    multiply(input.shape()[1]);
    for (const int64_t size : out) multiply(size);
    if (fits) return;
    refuse("an input of shape " + shape_text(input) + " at the size " +
           shape_text(IntList(out.data(), static_cast<int64_t>(out.size()))) +
           " has more elements than can be addressed: choose a smaller one");
  }
};

struct Interpolate {
  static constexpr auto schema =
      "nn.functional.interpolate(Tensor input, int[]? size=None, float[]? scale_factor=None, str "
      "mode='nearest', bool? align_corners=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 3]}, "size": [5]},
          {"input": {"shape": [1, 1, 3, 2]}, "size": [2, 5], "mode": "bilinear"},
          {"input": {"shape": [1, 1, 2, 3]}, "size": [4, 4], "mode": "bilinear", "align_corners": true},
          {"input": {"shape": [1, 1, 3, 2]}, "scale_factor": [1.5, 2], "mode": "bicubic"},
          {"input": {"shape": [1, 1, 2, 2, 2]}, "size": [3], "mode": "trilinear"}])";
  static constexpr auto doc =
      "input [N, C, ...], of one to three spatial dimensions, at another size: size, one number "
      "for all or one for each, or the input's times scale_factor, rounded down unless it is "
      "within 1e-9 of a whole "
      "number. mode is nearest, nearest-exact, linear, bilinear, trilinear (for one, two, three "
      "dimensions), bicubic (for "
      "two) or area. With align_corners the corner elements of both stay on each other; otherwise "
      "their outer edges do.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, std::optional<IntList> size,
                        std::optional<tenon::FloatList> scale_factor, std::string_view mode,
                        std::optional<bool> align_corners) {
    check_floating(kName, "input", input);
    const int64_t spatial = input.dim() - 2;
    if (spatial < 1 || spatial > 3)
      refuse("'input' must have 3, 4 or 5 dimensions, got shape " + shape_text(input));
    const int64_t only = mode == "linear"                          ? 1
                         : mode == "bilinear" || mode == "bicubic" ? 2
                         : mode == "trilinear"                     ? 3
                                                                   : 0;
    if (only == 0 && mode != "nearest" && mode != "nearest-exact" && mode != "area") {
      refuse("'" + std::string(mode) +
             "' is not a mode; choose nearest, nearest-exact, linear, bilinear, trilinear, bicubic "
             "or area");
    }
    if (only != 0 && only != spatial) {
      refuse("mode '" + std::string(mode) + "' is for " + std::to_string(only) +
             " spatial dimensions, got an input of shape " + shape_text(input));
    }
    if (only == 0 && align_corners.has_value())
      refuse("align_corners has no meaning for mode '" + std::string(mode) + "'");
    for (int64_t i = 1; i < input.dim(); ++i) {
      if (input.shape()[i] == 0)
        refuse("nothing to interpolate in an input of shape " + shape_text(input));
    }
    const Sizes sizes(input, size, scale_factor);
    if (mode == "area") return area(input, sizes.out);
    const bool aligned = align_corners.value_or(false);
    Tensor result = input;
    for (int64_t i = 0; i < spatial; ++i) {
      const Axis axis = axis_of(input.shape()[2 + i], sizes, i, aligned);
      result = resampled(result, 2 + i,
                         mode == "nearest"         ? nearest_taps(axis, false)
                         : mode == "nearest-exact" ? nearest_taps(axis, true)
                         : mode == "bicubic"       ? cubic_taps(axis, aligned)
                                                   : linear_taps(axis, aligned));
    }
    return result;
  }

 private:
  static Axis axis_of(int64_t in, const Sizes& sizes, int64_t i, bool aligned) {
    const auto at = static_cast<size_t>(i);
    const int64_t out = sizes.out[at];
    double step = static_cast<double>(in) / static_cast<double>(out);
    if (aligned)
      step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    else if (!sizes.factors.empty())
      step = 1 / sizes.factors[at];
    return {in, out, step, sizes.factors.empty() && !aligned};
  }
  static Tensor area(const Tensor& input, const std::vector<int64_t>& size) {
    switch (size.size()) {
      case 1:
        return functional::adaptive_avg_pool1d(input, size);
      case 2:
        return functional::adaptive_avg_pool2d(input, size);
      default:
        return functional::adaptive_avg_pool3d(input, size);
    }
  }
};

}  // namespace
TENON_OP(Interpolate)
