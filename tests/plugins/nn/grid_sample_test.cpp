// grid_sample against a walk over each position, by PyTorch's documents; refusals.
#include <algorithm>
#include <limits>
#include <random>

#include <tenon/gradcheck.hpp>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

using Shape = std::vector<int64_t>;

double in_elements(double position, int64_t size, bool aligned) {
  const auto count = static_cast<double>(size);
  if (std::isnan(position)) position = -1;
  return aligned ? (position + 1) / 2 * (count - 1) : ((position + 1) * count - 1) / 2;
}
double padded(double at, int64_t size, const std::string& padding, bool aligned) {
  const auto count = static_cast<double>(size);
  if (padding == "zeros") return at;
  if (padding == "reflection") {
    const double low = aligned ? 0 : -0.5, high = aligned ? count - 1 : count - 0.5;
    while (low < high && (at < low || at > high)) at = at < low ? 2 * low - at : 2 * high - at;
    if (low == high) at = low;
  }
  return std::clamp(at, 0.0, count - 1);
}

// The elements around a position along one dimension, and their shares.
std::vector<std::pair<int64_t, double>> around(double position, int64_t size,
                                               const std::string& mode, const std::string& padding,
                                               bool aligned) {
  double at = in_elements(position, size, aligned);
  if (mode == "bicubic") {
    // Keys' kernel, as it is written: of the distance to each of four elements.
    std::vector<std::pair<int64_t, double>> found;
    for (int k = -1; k <= 2; ++k) {
      const double place = std::floor(at) + k, x = std::fabs(at - place), a = -0.75;
      const double share = x <= 1 ? (a + 2) * x * x * x - (a + 3) * x * x + 1
                                  : a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
      found.emplace_back(
          static_cast<int64_t>(std::nearbyint(padded(place, size, padding, aligned))), share);
    }
    return found;
  }
  at = padded(at, size, padding, aligned);
  if (mode == "nearest") return {{static_cast<int64_t>(std::nearbyint(at)), 1}};
  const auto low = static_cast<int64_t>(std::floor(at));
  const double part = at - static_cast<double>(low);
  return {{low, 1 - part}, {low + 1, part}};
}

// One output element of one plane.
double sample(const std::vector<double>& plane, const Shape& image,
              const std::vector<std::vector<std::pair<int64_t, double>>>& axes, size_t dim,
              int64_t offset, double share) {
  if (dim == image.size()) return plane[static_cast<size_t>(offset)] * share;
  double sum = 0;
  for (const auto& [at, part] : axes[dim]) {
    if (at < 0 || at >= image[dim]) continue;
    sum += sample(plane, image, axes, dim + 1, offset * image[dim] + at, share * part);
  }
  return sum;
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("grid_sample finds what a walk over each position finds") {
    std::mt19937_64 engine(3);
    const auto between = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
    };
    for (uint64_t round = 0; round < 240; ++round) {
      const size_t spatial = round % 3 == 0 ? 3 : 2;
      const int64_t batch = between(0, 2), channels = between(1, 2);
      Shape image, out;
      for (size_t i = 0; i < spatial; ++i) {
        image.push_back(between(1, 4));
        out.push_back(between(0, 3));
      }
      const std::string mode = round % 4 == 1 && spatial == 2 ? "bicubic"
                               : round % 2 == 0               ? "bilinear"
                                                              : "nearest";
      const std::string padding =
          std::vector<std::string>{"zeros", "border", "reflection"}[round / 6 % 3];
      const bool aligned = between(0, 1) == 1;
      CAPTURE(mode);
      CAPTURE(padding);
      CAPTURE(aligned);
      Shape x_shape{batch, channels}, grid_shape{batch}, y_shape{batch, channels};
      x_shape.insert(x_shape.end(), image.begin(), image.end());
      grid_shape.insert(grid_shape.end(), out.begin(), out.end());
      grid_shape.push_back(static_cast<int64_t>(spatial));
      y_shape.insert(y_shape.end(), out.begin(), out.end());
      const Tensor x = numbers(x_shape, tenon::f64, round);
      const Tensor grid = numbers(grid_shape, tenon::f64, round + 1) * 2.5;
      const auto xs = x.to_vector<double>(), places = grid.to_vector<double>();
      const int64_t plane = x.numel() == 0 ? 0 : x.numel() / batch / channels;
      int64_t positions = 1;
      for (const int64_t size : out) positions *= size;
      std::vector<double> expected;
      for (int64_t n = 0; n < batch; ++n) {
        for (int64_t c = 0; c < channels; ++c) {
          const auto from = xs.begin() + (n * channels + c) * plane;
          const std::vector<double> one(from, from + plane);
          for (int64_t p = 0; p < positions; ++p) {
            std::vector<std::vector<std::pair<int64_t, double>>> axes;
            for (size_t d = 0; d < spatial; ++d) {
              const auto at = static_cast<size_t>(n * positions + p) * spatial + spatial - 1 - d;
              axes.push_back(around(places[at], image[d], mode, padding, aligned));
            }
            expected.push_back(sample(one, image, axes, 0, 0, 1));
          }
        }
      }
      check_values(functional::grid_sample(x, grid, mode, padding, aligned), y_shape, expected,
                   1e-12);
    }
  }

  TEST_CASE("grid_sample at positions that are not numbers, and of halves") {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    const Tensor x = tenon::tensor({1.0, 2.0, 3.0, 4.0}, tenon::f64).reshape({1, 1, 2, 2});
    const Tensor grid = tenon::tensor({nan, -1.0, inf, -1.0}, tenon::f64).reshape({1, 1, 2, 2});
    check_values(functional::grid_sample(x, grid, "nearest", "zeros", true), {1, 1, 1, 2}, {1, 0});
    check_values(functional::grid_sample(x, grid, "bilinear", "border", true), {1, 1, 1, 2},
                 {1, 2});
    const Tensor half =
        functional::grid_sample(x.to(tenon::f16), tenon::zeros({1, 1, 1, 2}, tenon::f16));
    CHECK(half.dtype() == tenon::f16);
    CHECK(half.to(tenon::f32).item() == 2.5);
  }

  TEST_CASE("grid_sample has gradients for the image and for the positions") {
    const Tensor x = leaf({1, 2, 3, 4}),
                 grid = (numbers({1, 2, 2, 2}, tenon::f64, 5) * 1.4).requires_grad_();
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const char* mode : {"bilinear", "bicubic"}) {
        CAPTURE(mode);
        const auto call = [&](const std::vector<Tensor>& in) {
          return functional::grid_sample(in[0], in[1], mode, padding, false);
        };
        tenon::GradcheckOptions options;
        options.check_forward_ad = true;
        CHECK(tenon::gradcheck(call, {x, grid}, options));
        CHECK(tenon::gradgradcheck(call, {x, grid}));
      }
    }
  }

  TEST_CASE("grid_sample refuses what does not fit") {
    const Tensor x = tenon::ones({2, 1, 3, 3}), grid = tenon::zeros({2, 1, 1, 2});
    const auto text = [](const std::function<void()>& call) {
      return refusal_of("grid_sample", call);
    };
    CHECK(
        text([&] {
          functional::grid_sample(x, tenon::zeros({2, 1, 1, 3}));
        }) ==
        "'grid' must have shape [2, H, W, 2] for an input of shape [2, 1, 3, 3], got [2, 1, 1, 3]");
    CHECK(text([&] {
            functional::grid_sample(tenon::ones({3, 3}), grid);
          }) == "'input' must have shape [N, C, H, W] or [N, C, D, H, W], got [3, 3]");
    CHECK(text([&] { functional::grid_sample(x, grid, "cubic"); }) ==
          "'cubic' is not a mode; choose bilinear, nearest or bicubic");
    CHECK(text([] {
            functional::grid_sample(tenon::ones({1, 1, 2, 2, 2}), tenon::zeros({1, 1, 1, 1, 3}),
                                    "bicubic");
          }) == "mode 'bicubic' is for images [N, C, H, W], got [1, 1, 2, 2, 2]");
    CHECK(text([&] { functional::grid_sample(x, grid, "nearest", "wrap"); }) ==
          "'wrap' is not a padding_mode; choose zeros, border or reflection");
    CHECK_THROWS_AS(functional::grid_sample(x, grid.to(tenon::f64)), tenon::TypeError);
    CHECK_THROWS_AS(functional::grid_sample(tenon::ones({2, 1, 0, 3}), grid), tenon::ValueError);
  }
}
