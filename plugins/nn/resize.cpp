// resize: images, or any dimensions, of another size, with every mode of ONNX' Resize.
#include <algorithm>
#include <cmath>
#include <utility>

#include "resampling.hpp"

namespace {

using namespace nn;
using tenon::FloatList;

constexpr auto kName = "resize";

[[noreturn]] void refuse(const std::string& text) {
  throw tenon::ValueError(std::string(kName) + "(): " + text);
}

template <class T, size_t count>
T value_of(const char* parameter, std::string_view name,
           const std::pair<const char*, T> (&known)[count]) {
  std::string names;
  for (size_t i = 0; i < count; ++i) {
    if (name == known[i].first) return known[i].second;
    names += std::string(i == 0 ? "" : i + 1 == count ? " or " : ", ") + known[i].first;
  }
  refuse("'" + std::string(name) + "' is not a value of " + parameter + "; choose " + names);
}

constexpr std::pair<const char*, Curve> kModes[] = {
    {"nearest", Curve::nearest}, {"linear", Curve::linear}, {"cubic", Curve::cubic}};
constexpr std::pair<const char*, Coordinates> kCoordinates[] = {
    {"half_pixel", Coordinates::half_pixel},
    {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
    {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
    {"align_corners", Coordinates::align_corners},
    {"asymmetric", Coordinates::asymmetric},
    {"tf_crop_and_resize", Coordinates::crop}};
constexpr std::pair<const char*, Rounding> kRoundings[] = {
    {"round_prefer_floor", Rounding::prefer_floor},
    {"round_prefer_ceil", Rounding::prefer_ceil},
    {"floor", Rounding::floor},
    {"ceil", Rounding::ceil}};
enum class Aspect { stretch, not_larger, not_smaller };
constexpr std::pair<const char*, Aspect> kAspects[] = {{"stretch", Aspect::stretch},
                                                       {"not_larger", Aspect::not_larger},
                                                       {"not_smaller", Aspect::not_smaller}};

// The dimensions that change: those named, or as many of the last ones as there are sizes.
std::vector<int64_t> dimensions_of(const Tensor& input, const std::optional<IntList>& dims,
                                   int64_t count) {
  std::vector<int64_t> found;
  if (!dims) {
    if (count > input.dim()) {
      refuse("an input of shape " + shape_text(input) + " has " + std::to_string(input.dim()) +
             " dimensions, got " + std::to_string(count) + " sizes or scales");
    }
    for (int64_t i = input.dim() - count; i < input.dim(); ++i) found.push_back(i);
    return found;
  }
  if (dims->size() != count) {
    refuse("dims names " + std::to_string(dims->size()) + " dimensions, got " +
           std::to_string(count) + " sizes or scales");
  }
  for (const int64_t dim : *dims) {
    const int64_t at = kernel::wrap_dimension(kName, dim, input.dim());
    if (std::find(found.begin(), found.end(), at) != found.end())
      refuse("dims has dimension " + std::to_string(dim) + " twice");
    found.push_back(at);
  }
  return found;
}

int64_t size_from(double found, const Tensor& input, double scale) {
  if (scale > 0 && found >= 1 && found <= static_cast<double>(largest_setting))
    return static_cast<int64_t>(found);
  refuse("scale " + tenon::Scalar(scale).text() + " of an input of shape " + shape_text(input) +
         " leaves a size that is not from 1 to " + std::to_string(largest_setting));
}

// The scale of all dimensions that keeps them in proportion within, or beyond, the sizes.
double common_scale(const Tensor& input, const std::vector<int64_t>& dims, IntList size,
                    Aspect aspect) {
  double scale = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const double one = static_cast<double>(size[static_cast<int64_t>(i)]) /
                       static_cast<double>(input.shape()[dims[i]]);
    const bool better = aspect == Aspect::not_larger ? one < scale : one > scale;
    if (i == 0 || better) scale = one;
  }
  return scale;
}

struct Resize {
  static constexpr auto schema =
      "nn.functional.resize(Tensor input, int[]? size=None, float[]? scale=None, *, int[]? "
      "dims=None, str mode='nearest', str coordinates='half_pixel', str "
      "rounding='round_prefer_floor', str keep_aspect='stretch', float cubic_coefficient=-0.75, "
      "bool exclude_outside=False, bool antialias=False, float[]? roi=None, float "
      "extrapolation_value=0) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "size": [5]},
          {"input": {"shape": [1, 1, 3, 4]}, "scale": [0.6, 1.7], "mode": "linear", "antialias": true},
          {"input": {"shape": [4, 3]}, "size": [3, 5], "mode": "cubic", "coordinates": "asymmetric",
           "exclude_outside": true},
          {"input": {"shape": [4, 4]}, "size": [3, 2], "mode": "linear", "dims": [1, 0],
           "coordinates": "tf_crop_and_resize", "roi": [0.1, -0.2, 0.8, 1.1],
           "extrapolation_value": 3},
          {"input": {"shape": [3, 6]}, "size": [4, 4], "keep_aspect": "not_larger",
           "mode": "linear", "coordinates": "half_pixel_symmetric"}])";
  static constexpr auto doc =
      "input with other sizes of its dimensions dims, or of the last ones: size, or the input's "
      "times scale, rounded down. mode is nearest, linear or cubic (Keys 1981). coordinates says "
      "where an output element is in the input: half_pixel, half_pixel_symmetric, "
      "pytorch_half_pixel, align_corners, asymmetric or tf_crop_and_resize, which takes the part "
      "roi (begins, then ends, from 0 to 1) and puts extrapolation_value beyond the input. "
      "rounding, of nearest: round_prefer_floor, round_prefer_ceil, floor or ceil. keep_aspect: "
      "not_larger and not_smaller scale all by the smallest or largest ratio of sizes. antialias "
      "widens the curve of a smaller output; exclude_outside weighs no repeated border. As ONNX' "
      "Resize 19; the length of align_corners is a whole number.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, std::optional<IntList> size,
                        std::optional<FloatList> scale, std::optional<IntList> dims,
                        std::string_view mode, std::string_view coordinates,
                        std::string_view rounding, std::string_view keep_aspect,
                        double cubic_coefficient, bool exclude_outside, bool antialias,
                        std::optional<FloatList> roi, double extrapolation_value) {
    if (size.has_value() == scale.has_value()) refuse("either size or scale must be given");
    Resampling how{};
    how.curve = value_of("mode", mode, kModes);
    how.coordinates = value_of("coordinates", coordinates, kCoordinates);
    how.rounding = value_of("rounding", rounding, kRoundings);
    how.cubic_coefficient = cubic_coefficient;
    how.exclude_outside = exclude_outside;
    how.antialias = antialias;
    const Aspect aspect = value_of("keep_aspect", keep_aspect, kAspects);
    if (scale && aspect != Aspect::stretch) refuse("keep_aspect needs size, not scale");
    if (how.curve != Curve::nearest) check_floating(kName, "input", input);
    const std::vector<int64_t> places =
        dimensions_of(input, dims, size ? size->size() : scale->size());
    const auto count = static_cast<int64_t>(places.size());
    const bool crops = how.coordinates == Coordinates::crop;
    if (crops && (!roi || roi->size() != 2 * count)) {
      refuse("tf_crop_and_resize needs roi, " + std::to_string(2 * count) + " numbers for the " +
             std::to_string(count) + " dimensions that change");
    }
    std::vector<Resampling> along(places.size(), how);
    Shape shape(input.shape());
    for (int64_t i = 0; i < count; ++i) {
      Resampling& one = along[static_cast<size_t>(i)];
      const int64_t dim = places[static_cast<size_t>(i)];
      if (crops) {
        one.begin = (*roi)[i];
        one.end = (*roi)[count + i];
        if (!std::isfinite(one.end - one.begin)) refuse("roi must be finite");
      }
      one.in = input.shape()[dim];
      if (one.in == 0) refuse("nothing to resize in an input of shape " + shape_text(input));
      set_size(one, input, places, size, scale, aspect, i);
      shape[dim] = one.out;
    }
    check_addressable(kName, input, shape);
    Tensor result = input;
    for (int64_t i = 0; i < count; ++i)
      result = resampled(result, places[static_cast<size_t>(i)], along[static_cast<size_t>(i)]);
    return crops ? extrapolated(result, places, along, extrapolation_value) : result;
  }

 private:
  static void set_size(Resampling& one, const Tensor& input, const std::vector<int64_t>& places,
                       const std::optional<IntList>& size, const std::optional<FloatList>& scale,
                       Aspect aspect, int64_t i) {
    const auto in = static_cast<double>(one.in);
    if (scale) {
      one.scale = (*scale)[i];
      const double part = one.coordinates == Coordinates::crop ? in * (one.end - one.begin) : in;
      one.out = size_from(std::floor(part * one.scale), input, one.scale);
      return;
    }
    for (const int64_t each : *size) check_setting(kName, "size", each, 1);
    if (aspect != Aspect::stretch) {
      one.scale = common_scale(input, places, *size, aspect);
      one.out = size_from(std::floor(one.scale * in + 0.5), input, one.scale);
      return;
    }
    one.out = (*size)[i];
    one.scale = static_cast<double>(one.out) / in;
    one.from_sizes = true;
  }
  static Tensor extrapolated(Tensor result, const std::vector<int64_t>& places,
                             const std::vector<Resampling>& along, double value) {
    for (size_t i = 0; i < places.size(); ++i) {
      const Resampling& one = along[i];
      const Tensor outside = tenon::empty_tensor({one.out}, tenon::boolean);
      for (int64_t k = 0; k < one.out; ++k) {
        const double position = one.position(k);
        outside.data<bool>()[k] = position < 0 || position > static_cast<double>(one.in - 1);
      }
      std::vector<int64_t> shape(static_cast<size_t>(result.dim()), 1);
      shape[static_cast<size_t>(places[i])] = one.out;
      result = result.masked_fill(outside.reshape(shape), value);
    }
    return result;
  }
};

}  // namespace
TENON_OP(Resize)
