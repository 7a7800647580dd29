// resize against a walk over each element by the text of ONNX' Resize; its cases where good guesses are
// wrong; antialias of interpolate; refusals.
#include <algorithm>
#include <random>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

using Shape = std::vector<int64_t>;

struct Setting {
  std::string mode, coordinates, rounding;
  bool antialias, exclude_outside;
  double begin, end;
};

double position_of(const Setting& how, int64_t in, int64_t out, double scale, int64_t i) {
  const auto at = static_cast<double>(i), size = static_cast<double>(in),
             count = static_cast<double>(out);
  if (how.coordinates == "align_corners") return out == 1 ? 0 : at * (size - 1) / (count - 1);
  if (how.coordinates == "asymmetric") return at / scale;
  if (how.coordinates == "tf_crop_and_resize") {
    if (out == 1) return 0.5 * (how.begin + how.end) * (size - 1);
    return how.begin * (size - 1) + at * (how.end - how.begin) * (size - 1) / (count - 1);
  }
  if (how.coordinates == "pytorch_half_pixel" && out == 1) return 0;
  double offset = 0;
  if (how.coordinates == "half_pixel_symmetric") offset = size / 2 * (1 - count / (scale * size));
  return offset + (at + 0.5) / scale - 0.5;
}

double curve(const std::string& mode, double distance) {
  const double x = std::fabs(distance), a = -0.75;
  if (mode == "linear") return std::max(0.0, 1 - x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

int64_t nearest(double at, const std::string& rounding) {
  // Positions on an edge are there but for errors of the walk itself.
  constexpr double tiny = 1e-9;
  if (rounding == "floor") return static_cast<int64_t>(std::floor(at + tiny));
  if (rounding == "ceil") return static_cast<int64_t>(std::ceil(at - tiny));
  return static_cast<int64_t>(rounding == "round_prefer_floor" ? std::ceil(at - 0.5 - tiny)
                                                               : std::floor(at + 0.5 + tiny));
}

// One line at another size.
std::vector<double> resized_line(const std::vector<double>& line, int64_t out, double scale,
                                 const Setting& how, double extrapolation) {
  const auto in = static_cast<int64_t>(line.size());
  const auto element = [&](int64_t at) {
    return line[static_cast<size_t>(std::clamp<int64_t>(at, 0, in - 1))];
  };
  std::vector<double> result;
  for (int64_t i = 0; i < out; ++i) {
    const double at = position_of(how, in, out, scale, i);
    if (how.coordinates == "tf_crop_and_resize" && (at < 0 || at > static_cast<double>(in - 1))) {
      result.push_back(extrapolation);
      continue;
    }
    if (how.mode == "nearest") {
      result.push_back(element(nearest(at, how.rounding)));
      continue;
    }
    const double width = how.antialias ? std::max(1.0, 1 / scale) : 1;
    double sum = 0, weights = 0;
    for (int64_t k = static_cast<int64_t>(std::floor(at - 2 * width)) - 1;
         static_cast<double>(k) <= at + 2 * width + 1; ++k) {
      if (how.exclude_outside && (k < 0 || k >= in)) continue;
      const double weight = curve(how.mode, (static_cast<double>(k) - at) / width);
      sum += weight * element(k);
      weights += weight;
    }
    result.push_back(sum / weights);
  }
  return result;
}

// A tensor along one dimension.
Tensor resized(const Tensor& x, int64_t dim, int64_t out, double scale, const Setting& how,
               double extrapolation) {
  const Tensor rows = x.movedim(dim, -1).contiguous();
  const auto all = rows.to_vector<double>();
  const int64_t in = x.size(dim);
  std::vector<double> result;
  for (int64_t from = 0; from < rows.numel(); from += in) {
    const std::vector<double> line(all.begin() + from, all.begin() + from + in);
    for (const double value : resized_line(line, out, scale, how, extrapolation))
      result.push_back(value);
  }
  Shape shape = rows.sizes();
  shape.back() = out;
  return tenon::from_range(result.begin(), result.end()).reshape(shape).movedim(-1, dim);
}

Tensor line(std::initializer_list<double> values) {
  const std::vector<double> all(values);
  return tenon::from_range(all.begin(), all.end());
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("resize weighs the input as the text of each mode says") {
    std::mt19937_64 engine(8);
    const auto below = [&](int64_t count) {
      return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
    };
    const auto one_of = [&](const std::vector<std::string>& names) {
      return names[static_cast<size_t>(below(static_cast<int64_t>(names.size())))];
    };
    for (uint64_t round = 0; round < 400; ++round) {
      Setting how;
      how.mode = one_of({"nearest", "linear", "cubic"});
      how.coordinates = one_of({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                "align_corners", "asymmetric", "tf_crop_and_resize"});
      how.rounding = one_of({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
      how.antialias = below(3) == 0;
      how.exclude_outside = below(3) == 0;
      const bool by_scale = below(2) == 0;
      // By scales the size of a part depends on rounding: the whole is cropped.
      const bool crops = how.coordinates == "tf_crop_and_resize" && !by_scale;
      how.begin = crops ? static_cast<double>(below(5)) / 4 - 0.5 : 0;
      how.end = crops ? how.begin + 0.25 + static_cast<double>(below(4)) / 3 : 1;
      const Tensor x = numbers({1 + below(4), 1 + below(5), 1 + below(5)}, tenon::f64, round);
      const int64_t first = below(3), second = (first + 1 + below(2)) % 3;
      const Shape dims{first, below(2) == 0 ? second : second - 3};
      Shape sizes;
      std::vector<double> scales;
      Tensor expected = x;
      for (const int64_t dim : {first, second}) {
        const int64_t in = x.size(dim);
        int64_t out = 1 + below(7);
        double scale = static_cast<double>(out) / static_cast<double>(in);
        if (by_scale) {
          scale = 1 + static_cast<double>(below(9)) / 4;
          if (in > 1 && below(2) == 0) scale = 0.5 + static_cast<double>(below(4)) / 8;
          out = static_cast<int64_t>(std::floor(static_cast<double>(in) * scale));
        }
        sizes.push_back(out);
        scales.push_back(scale);
        expected = resized(expected, dim, out, scale, how, 7);
      }
      CAPTURE(round);
      CAPTURE(how.mode);
      CAPTURE(how.coordinates);
      CAPTURE(how.rounding);
      CAPTURE(x.sizes());
      CAPTURE(sizes);
      const std::vector<double> roi{how.begin, how.begin, how.end, how.end};
      const Tensor found =
          functional::resize(x, by_scale ? tenon::Argument(tenon::none) : tenon::Argument(sizes),
                             by_scale ? tenon::Argument(scales) : tenon::Argument(tenon::none),
                             dims, how.mode, how.coordinates, how.rounding, "stretch", -0.75,
                             how.exclude_outside, how.antialias, roi, 7);
      check_close(found, expected, 1e-11);
    }
  }

  TEST_CASE("resize where good guesses are wrong") {
    const Tensor x = line({0, 1, 2, 3});
    const auto none = tenon::none;
    const auto resize = [&](const Tensor& input, int64_t size, const char* mode,
                            const char* coordinates, bool antialias) {
      return functional::resize(input, Shape{size}, none, none, mode, coordinates,
                                "round_prefer_floor", "stretch", -0.75, false, antialias);
    };
    check_values(resize(x, 2, "linear", "half_pixel", true), {2}, {0.625, 2.375});
    check_values(resize(x, 1, "linear", "half_pixel", false), {1}, {1.5});
    check_values(resize(x, 1, "linear", "pytorch_half_pixel", false), {1}, {0});
    check_values(resize(x, 1, "linear", "align_corners", false), {1}, {0});
    const Tensor image = numbers({1, 1, 4, 6}, tenon::f64, 3);
    const auto kept = [&](const char* aspect) {
      return functional::resize(image, Shape{3, 3}, none, none, "nearest", "half_pixel",
                                "round_prefer_floor", aspect)
          .sizes();
    };
    CHECK(kept("not_larger") == Shape{1, 1, 2, 3});
    CHECK(kept("not_smaller") == Shape{1, 1, 3, 5});
  }

  TEST_CASE("resize at the same size keeps NaN and infinities to themselves, and any dtype") {
    const double nan = std::nan("");
    const Tensor x = line({1, nan, 3, HUGE_VAL});
    check_values(functional::resize(x, Shape{4}, tenon::none, tenon::none, "cubic"), {4},
                 {1, nan, 3, HUGE_VAL});
    const Tensor whole = tenon::tensor({1, 2, 3}, tenon::i16);
    const Tensor twice = functional::resize(whole, tenon::none, std::vector<double>{2});
    CHECK(twice.dtype() == tenon::i16);
    check_values(twice, {6}, {1, 1, 2, 2, 3, 3});
  }

  TEST_CASE("interpolate with antialias weighs what a smaller output covers, as Pillow does") {
    const Tensor x = line({0, 1, 2, 3}).reshape({1, 1, 4});
    // The triangle of width 2 around 0.5: 3/4 of the elements 0 and 1, 1/4 of 2.
    check_values(functional::interpolate(x, Shape{2}, tenon::none, "linear", false, true),
                 {1, 1, 2}, {1.25 / 1.75, 3 - 1.25 / 1.75});
    CHECK(refusal_of("interpolate", [&] {
            functional::interpolate(x, Shape{2}, tenon::none, "nearest", tenon::none, true);
          }) == "antialias has no meaning for mode 'nearest'");
  }

  TEST_CASE("resize refuses what does not fit") {
    const Tensor x = tenon::ones({2, 3});
    const auto none = tenon::none;
    const auto text = [](const std::function<void()>& call) { return refusal_of("resize", call); };
    CHECK(text([&] { functional::resize(x); }) == "either size or scale must be given");
    CHECK(text([&] {
            functional::resize(x, Shape{1, 2, 3});
          }) == "an input of shape [2, 3] has 2 dimensions, got 3 sizes or scales");
    CHECK(text([&] {
            functional::resize(x, Shape{1, 2}, none, Shape{1, -1});
          }) == "dims has dimension -1 twice");
    CHECK(text([&] { functional::resize(x, Shape{4}, none, none, "area"); }) ==
          "'area' is not a value of mode; choose nearest, linear or cubic");
    CHECK(text([&] {
            functional::resize(x, Shape{4}, none, none, "linear", "tf_crop_and_resize");
          }) == "tf_crop_and_resize needs roi, 2 numbers for the 1 dimensions that change");
    const std::vector<double> endless{1e308, -1e308};
    CHECK(text([&] {
            functional::resize(x, Shape{4}, none, none, "linear", "tf_crop_and_resize",
                               "round_prefer_floor", "stretch", -0.75, false, false, endless);
          }) == "roi must be finite");
    CHECK(text([&] { functional::resize(x, none, std::vector<double>{0.1}); }) ==
          "scale 0.1 of an input of shape [2, 3] leaves a size that is not from 1 to 2147483647");
    CHECK(text([&] { functional::resize(tenon::ones({0}), Shape{4}); }) ==
          "nothing to resize in an input of shape [0]");
    CHECK_THROWS_AS(functional::resize(x.to(tenon::i64), Shape{4}, none, none, "linear"),
                    tenon::TypeError);
  }
}
