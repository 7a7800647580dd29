// Ops of images against walks over each element: roi_align, nms, affine_grid, lp_pool,
// local_response_norm, max_unpool, depth_to_space, channel_shuffle.
#include <algorithm>
#include <random>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

using Shape = std::vector<int64_t>;

// The element of a plane at a position between four of its elements; 0 beyond its border. `largest`
// takes the largest of the four weighted elements instead of their sum.
double between(const std::vector<double>& plane, int64_t height, int64_t width, double y, double x,
               bool largest) {
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width))
    return 0;
  y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  double sum = 0, most = -HUGE_VAL;
  for (const int64_t row : {int64_t{0}, int64_t{1}}) {
    for (const int64_t column : {int64_t{0}, int64_t{1}}) {
      const auto top = static_cast<int64_t>(std::floor(y)),
                 left = static_cast<int64_t>(std::floor(x));
      const double down = y - static_cast<double>(top), across = x - static_cast<double>(left);
      const double weight = (row == 1 ? down : 1 - down) * (column == 1 ? across : 1 - across);
      const int64_t i = std::min(top + row, height - 1), k = std::min(left + column, width - 1);
      const double value = weight * plane[static_cast<size_t>(i * width + k)];
      sum += value;
      most = std::max(most, value);
    }
  }
  return largest ? most : sum;
}

double overlap(const std::vector<double>& a, const std::vector<double>& b) {
  double shared = 1, one = 1, other = 1;
  for (size_t i = 0; i < 2; ++i) {
    const double low = std::max(std::min(a[i], a[i + 2]), std::min(b[i], b[i + 2]));
    const double high = std::min(std::max(a[i], a[i + 2]), std::max(b[i], b[i + 2]));
    shared *= std::max(high - low, 0.0);
    one *= std::fabs(a[i + 2] - a[i]);
    other *= std::fabs(b[i + 2] - b[i]);
  }
  return shared / (one + other - shared);
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("roi_align pools what a walk over each sample pools") {
    for (uint64_t round = 0; round < 60; ++round) {
      const int64_t height = 3 + static_cast<int64_t>(round % 3), width = 4, channels = 2,
                    rows = 1 + static_cast<int64_t>(round % 2), columns = 3;
      const bool aligned = round % 2 == 0, largest = round % 5 == 0;
      const int64_t ratio = static_cast<int64_t>(round % 3);
      const double scale = round % 4 == 0 ? 0.5 : 1;
      const Tensor x = numbers({2, channels, height, width}, tenon::f64, round);
      const Tensor boxes = numbers({3, 4}, tenon::f64, round + 100) * 4 + 2;
      const Tensor images = tenon::tensor({1, 0, 1}, tenon::i64);
      const auto xs = x.to_vector<double>(), corners = boxes.to_vector<double>();
      std::vector<double> expected;
      for (size_t k = 0; k < 3; ++k) {
        const int64_t image = k == 1 ? 0 : 1;
        for (int64_t c = 0; c < channels; ++c) {
          const auto from = xs.begin() + (image * channels + c) * height * width;
          const std::vector<double> plane(from, from + height * width);
          const double shift = aligned ? 0.5 : 0;
          const double left = corners[k * 4] * scale - shift,
                       top = corners[k * 4 + 1] * scale - shift;
          double across = corners[k * 4 + 2] * scale - shift - left,
                 down = corners[k * 4 + 3] * scale - shift - top;
          if (!aligned) across = std::max(across, 1.0);
          if (!aligned) down = std::max(down, 1.0);
          const double cell_x = across / static_cast<double>(columns),
                       cell_y = down / static_cast<double>(rows);
          const auto each_x =
              ratio > 0 ? ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(cell_x)));
          const auto each_y =
              ratio > 0 ? ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(cell_y)));
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < columns; ++j) {
              double sum = 0, most = each_x * each_y == 0 ? 0 : -HUGE_VAL;
              for (int64_t a = 0; a < each_y; ++a) {
                for (int64_t b = 0; b < each_x; ++b) {
                  const double y =
                      top + (static_cast<double>(i) +
                             (static_cast<double>(a) + 0.5) / static_cast<double>(each_y)) *
                                cell_y;
                  const double at =
                      left + (static_cast<double>(j) +
                              (static_cast<double>(b) + 0.5) / static_cast<double>(each_x)) *
                                 cell_x;
                  const double value = between(plane, height, width, y, at, largest);
                  sum += value;
                  most = std::max(most, value);
                }
              }
              expected.push_back(
                  largest ? most
                          : sum / static_cast<double>(std::max<int64_t>(each_x * each_y, 1)));
            }
          }
        }
      }
      CAPTURE(round);
      check_values(functional::roi_align(x, boxes, images, Shape{rows, columns}, scale, ratio,
                                         aligned, largest ? "max" : "avg"),
                   {3, channels, rows, columns}, expected, 1e-11);
    }
    CHECK_THROWS_AS(functional::roi_align(tenon::ones({1, 1, 2, 2}), tenon::ones({1, 4}),
                                          tenon::tensor({1}, tenon::i64), Shape{1, 1}),
                    tenon::IndexError);
  }

  TEST_CASE("roi_align of a region far beyond the image counts its samples as 0") {
    const Tensor x = -tenon::ones({1, 1, 2, 2}), images = tenon::tensor({0}, tenon::i64);
    const Tensor region = tenon::tensor({{-1000.0, -1000.0, 1000.0, 1000.0}});
    // 9 of the 2000 times 2000 samples are on the image or within one element of it.
    check_values(functional::roi_align(x, region, images, Shape{1, 1}), {1, 1, 1, 1}, {-9 / 4e6},
                 1e-12);
    check_values(functional::roi_align(x, region, images, Shape{1, 1}, 1, 0, false, "max"),
                 {1, 1, 1, 1}, {0});
  }

  TEST_CASE("nms keeps a box unless a better one covers it") {
    for (uint64_t round = 0; round < 60; ++round) {
      const int64_t count = static_cast<int64_t>(round % 12);
      const Tensor boxes = numbers({count, 4}, tenon::f64, round),
                   // Few different scores: the first of equal ones counts.
          scores = (numbers({count}, tenon::f64, round + 50) * 3).round();
      const auto at = boxes.to_vector<double>(), values = scores.to_vector<double>();
      const double threshold = 0.1 * static_cast<double>(round % 4);
      std::vector<double> expected;
      for (int value = 3; value > -2; --value) {
        for (int64_t i = 0; i < count; ++i) {
          if (values[static_cast<size_t>(i)] != value) continue;
          const auto box = [&](int64_t k) {
            return std::vector<double>(at.begin() + 4 * k, at.begin() + 4 * k + 4);
          };
          const bool covered = std::any_of(expected.begin(), expected.end(), [&](double kept) {
            return overlap(box(i), box(static_cast<int64_t>(kept))) > threshold;
          });
          if (!covered) expected.push_back(static_cast<double>(i));
        }
      }
      CAPTURE(round);
      // A score equal to the threshold is dropped: -2 and less.
      const Tensor kept = functional::nms(boxes, scores, threshold, -2);
      check_values(kept, {static_cast<int64_t>(expected.size())}, expected);
      const Tensor rows =
          functional::nms_per_class(boxes.unsqueeze(0), scores.reshape({1, 1, -1}), threshold, -2);
      check_values(rows.select(1, 2), kept.sizes(), expected);
      if (expected.size() > 1) {
        CHECK(functional::nms(boxes, scores, threshold, -2, 1).item<int64_t>() ==
              static_cast<int64_t>(expected[0]));
      }
    }
    const Tensor boxes = tenon::tensor({0.0, 0.0, 2.0, 2.0}, tenon::f64).reshape({1, 4});
    CHECK(functional::nms(boxes, tenon::tensor({std::nan("")}, tenon::f64), 0.5).numel() == 0);
    const Tensor centered = tenon::tensor({1.0, 1.0, 2.0, 2.0}, tenon::f64).reshape({1, 4});
    const Tensor pair = tenon::cat({centered, centered + 0.1}, 0);
    CHECK(functional::nms(pair, tenon::tensor({0.1, 0.2}, tenon::f64), 0.5, tenon::none,
                          tenon::none, true)
              .item<int64_t>() == 1);
  }

  TEST_CASE("affine_grid and grid_sample together are the identity") {
    for (const bool aligned : {false, true}) {
      const Tensor theta =
          tenon::tensor({1.0, 0.0, 0.0, 0.0, 1.0, 0.0}, tenon::f64).reshape({1, 2, 3});
      const Tensor x = numbers({1, 2, 3, 4}, tenon::f64);
      const Tensor grid = functional::affine_grid(theta, Shape{1, 2, 3, 4}, aligned);
      check_close(functional::grid_sample(x, grid, "bilinear", "zeros", aligned), x, 1e-12);
    }
    const Tensor theta =
        tenon::tensor({2.0, 0.0, 0.5, 0.0, 1.0, -1.0}, tenon::f64).reshape({1, 2, 3});
    constexpr int64_t most = 2147483647;
    CHECK(refusal([&] {
            functional::affine_grid(theta, Shape{1, 1, most, most}, false);
          }).find("has more elements than can be addressed") != std::string::npos);
    check_values(functional::affine_grid(theta, Shape{1, 1, 1, 2}, false), {1, 1, 2, 2},
                 {-0.5, -1, 1.5, -1});
  }

  TEST_CASE("lp_pool is the norm of each window") {
    const Tensor x = numbers({2, 7}, tenon::f64);
    const auto xs = x.to_vector<double>();
    for (const double p : {1.0, 2.0, 3.0}) {
      std::vector<double> expected;
      for (int64_t c = 0; c < 2; ++c) {
        for (int64_t from = -1; from < 5; from += 2) {
          double sum = 0;
          for (const int64_t at : {from, from + 2, from + 4})
            if (at >= 0 && at < 7)
              sum += std::pow(std::fabs(xs[static_cast<size_t>(c * 7 + at)]), p);
          expected.push_back(std::pow(sum, 1 / p));
        }
      }
      check_values(functional::lp_pool1d(x, p, Shape{3}, Shape{2}, Shape{1}, Shape{2}), {2, 3},
                   expected, 1e-12);
    }
    const Tensor large = tenon::full({1, 2, 2}, 1e20);
    CHECK(functional::lp_pool2d(large, 2, Shape{2, 2}).item() == doctest::Approx(2e20));
    const Tensor image = numbers({1, 1, 4, 4}, tenon::f64);
    check_close(functional::lp_pool2d(image, 2, Shape{2, 2}),
                functional::avg_pool2d(image.square(), Shape{2, 2}).mul(4).pow(0.5), 1e-12);
    const Tensor volume = numbers({1, 4, 4, 4}, tenon::f64);
    check_close(functional::lp_pool3d(volume, 1, Shape{2, 2, 2}),
                functional::avg_pool3d(volume.abs(), Shape{2, 2, 2}) * 8, 1e-12);
    CHECK(refusal_of("lp_pool1d", [&] { functional::lp_pool1d(x, 0, Shape{3}); }) ==
          "norm_type must be above 0 and finite, got 0");
  }

  TEST_CASE("local_response_norm of more neighbours than channels takes no more memory") {
    const Tensor x = tenon::tensor({{3.0f, 4.0f}});
    // alpha / size is 1, so that the divisor is the sum of all squares.
    check_values(functional::local_response_norm(x, 1'000'000'000, 1e9, 1, 0), {1, 2},
                 {3.0 / 25, 4.0 / 25}, 1e-7);
  }

  TEST_CASE("local_response_norm divides by the neighbouring channels") {
    for (const int64_t size : {1, 2, 3, 5}) {
      const Tensor x = numbers({2, 4, 3}, tenon::f64, static_cast<uint64_t>(size));
      const auto xs = x.to_vector<double>();
      std::vector<double> expected;
      for (int64_t i = 0; i < x.numel(); ++i) {
        const int64_t n = i / 12, c = i / 3 % 4, at = i % 3;
        double sum = 0;
        for (int64_t k = std::max<int64_t>(0, c - size / 2);
             k <= std::min<int64_t>(3, c + (size - 1) / 2); ++k)
          sum += std::pow(xs[static_cast<size_t>(n * 12 + k * 3 + at)], 2);
        expected.push_back(xs[static_cast<size_t>(i)] /
                           std::pow(2 + 0.5 / static_cast<double>(size) * sum, 0.75));
      }
      check_values(functional::local_response_norm(x, size, 0.5, 0.75, 2), {2, 4, 3}, expected,
                   1e-12);
    }
  }

  TEST_CASE("max_unpool puts back what max_pool took") {
    const Tensor x = numbers({2, 3, 5, 6}, tenon::f64);
    const auto [values, indices] = functional::max_pool2d_with_indices(x, Shape{2, 2});
    const Tensor back = functional::max_unpool2d(values, indices, Shape{2, 2}, tenon::none,
                                                 Shape{0, 0}, Shape{5, 6});
    CHECK(back.sizes() == x.sizes());
    check_close(std::get<0>(functional::max_pool2d_with_indices(back.abs(), Shape{2, 2})),
                values.abs(), 1e-12);
    check_close(back.sum(), values.sum(), 1e-12);
    check_close(tenon::where(back.ne(0), back, x), x, 1e-12);
    CHECK_THROWS_AS(functional::max_unpool2d(values, indices + 100, Shape{2, 2}),
                    tenon::IndexError);
  }

  TEST_CASE("depth_to_space orders blocks as its modes say, and space_to_depth undoes it") {
    const Tensor x = numbers({2, 8, 2, 3}, tenon::f64);
    const Tensor blocks = functional::depth_to_space(x, 2);
    const auto xs = x.to_vector<double>(), found = blocks.to_vector<double>();
    for (size_t i = 0; i < found.size(); ++i) {
      const size_t column = i % 6, row = i / 6 % 4, c = i / 24 % 2, n = i / 48;
      const size_t channel = (row % 2 * 2 + column % 2) * 2 + c;
      REQUIRE(found[i] == xs[((n * 8 + channel) * 2 + row / 2) * 3 + column / 2]);
    }
    check_close(functional::space_to_depth(blocks, 2), x, 0);
    check_close(functional::depth_to_space(x, 2, "CRD"), functional::pixel_shuffle(x, 2), 0);
    CHECK(refusal_of("depth_to_space", [&] { functional::depth_to_space(x, 3); }) ==
          "the 8 channels of an input of shape [2, 8, 2, 3] must be a multiple of block_size^2, 9");
  }

  TEST_CASE("channel_shuffle takes the channels of groups in turn") {
    const Tensor x = tenon::arange(6).reshape({1, 6});
    check_values(functional::channel_shuffle(x, 2), {1, 6}, {0, 3, 1, 4, 2, 5});
    CHECK_THROWS_AS(functional::channel_shuffle(x, 4), tenon::ValueError);
  }
}
