// Resampling along one dimension: each output element is a weighted sum of a few input elements.
#pragma once

#include "common.hpp"

namespace nn {

// How the position of an output element among those of the input is computed; the names are those
// of ONNX' Resize, crop is its tf_crop_and_resize.
enum class Coordinates {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  crop
};
enum class Rounding { prefer_floor, prefer_ceil, floor, ceil };
enum class Curve { nearest, linear, cubic };

struct Resampling {
  int64_t in, out;
  double scale;     // output elements for each input element
  bool from_sizes;  // scale is out / in
  Curve curve = Curve::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;
  double cubic_coefficient = -0.75;  // the parameter of Keys' cubic convolution (1981)
  bool antialias = false;            // the curve is as wide as an output element
  bool exclude_outside = false;      // weights beyond the input are 0, the others add up to 1
  double begin = 0, end = 1;         // the part that crop takes of the input

  // The position of output element `i`: 0 is the first input element, 1 the second.
  double position(int64_t i) const;
  // Whether every output element is the input element at its place.
  bool is_identity() const { return in == out && scale == 1 && coordinates != Coordinates::crop; }
};

// The input along `dim` as the resampling says. Modes that weigh elements need a floating dtype.
Tensor resampled(const Tensor& input, int64_t dim, const Resampling& resampling);

// ValueError of `op` where a tensor of this shape has more elements than can be addressed.
void check_addressable(const char* op, const Tensor& input, IntList shape);

}  // namespace nn
