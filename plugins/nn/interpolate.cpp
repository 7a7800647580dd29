// interpolate: images of another size. Each spatial dimension is resampled for itself.
#include <cmath>

#include "resampling.hpp"
#include "shared_ops/rounded_size.hpp"

namespace {

using namespace nn;
namespace functional = tenon::nn::functional;

constexpr auto kName = "interpolate";

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
    // Before positions and weights are laid out for each.
    Shape shape(input.shape());
    for (int64_t i = 0; i < spatial; ++i) shape[2 + i] = out[static_cast<size_t>(i)];
    check_addressable(kName, input, shape);
  }
};

struct Interpolate {
  static constexpr auto schema =
      "nn.functional.interpolate(Tensor input, int[]? size=None, float[]? scale_factor=None, str "
      "mode='nearest', bool? align_corners=None, *, bool antialias=False) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 3]}, "size": [5]},
          {"input": {"shape": [1, 1, 3, 2]}, "size": [2, 5], "mode": "bilinear"},
          {"input": {"shape": [1, 1, 2, 3]}, "size": [4, 4], "mode": "bilinear", "align_corners": true},
          {"input": {"shape": [1, 1, 3, 2]}, "scale_factor": [1.5, 2], "mode": "bicubic"},
          {"input": {"shape": [1, 1, 5, 4]}, "size": [2, 3], "mode": "bicubic", "antialias": true},
          {"input": {"shape": [1, 1, 2, 2, 2]}, "size": [3], "mode": "trilinear"}])";
  static constexpr auto doc =
      "input [N, C, ...], of one to three spatial dimensions, at another size: size, one number "
      "for all or one for each, or the input's times scale_factor, rounded down unless it is "
      "within 1e-9 of a whole "
      "number. mode is nearest, nearest-exact, linear, bilinear, trilinear (for one, two, three "
      "dimensions), bicubic (for "
      "two) or area. With align_corners the corner elements of both stay on each other; otherwise "
      "their outer edges do. antialias, of the linear modes and bicubic, weighs all elements that "
      "a smaller output covers, as Pillow does. resize() has further modes.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, std::optional<IntList> size,
                        std::optional<tenon::FloatList> scale_factor, std::string_view mode,
                        std::optional<bool> align_corners, bool antialias) {
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
    if (only == 0 && antialias)
      refuse("antialias has no meaning for mode '" + std::string(mode) + "'");
    for (int64_t i = 1; i < input.dim(); ++i) {
      if (input.shape()[i] == 0)
        refuse("nothing to interpolate in an input of shape " + shape_text(input));
    }
    const Sizes sizes(input, size, scale_factor);
    if (mode == "area") return area(input, sizes.out);
    Tensor result = input;
    for (int64_t i = 0; i < spatial; ++i) {
      Resampling along = resampling_of(mode, align_corners.value_or(false), antialias);
      along.in = input.shape()[2 + i];
      along.out = sizes.out[static_cast<size_t>(i)];
      along.from_sizes = sizes.factors.empty();
      along.scale = along.from_sizes
                        ? static_cast<double>(along.out) / static_cast<double>(along.in)
                        : sizes.factors[static_cast<size_t>(i)];
      result = resampled(result, 2 + i, along);
    }
    return result;
  }

 private:
  static Resampling resampling_of(std::string_view mode, bool aligned, bool antialias) {
    Resampling how{};
    if (mode == "nearest") {
      how.coordinates = Coordinates::asymmetric;
      how.rounding = Rounding::floor;
    } else if (mode == "nearest-exact") {
      how.rounding = Rounding::prefer_ceil;
    } else {
      how.curve = mode == "bicubic" ? Curve::cubic : Curve::linear;
      if (aligned) how.coordinates = Coordinates::align_corners;
      // Pillow's curve, and its border: nothing is repeated.
      how.antialias = how.exclude_outside = antialias;
      if (antialias) how.cubic_coefficient = -0.5;
    }
    return how;
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
