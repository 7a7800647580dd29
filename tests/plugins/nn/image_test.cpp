// interpolate, pixel_shuffle, pixel_unshuffle and scaled_dot_product_attention against walks over each
// element; refusals.
#include <algorithm>
#include <limits>
#include <random>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

using Shape = std::vector<int64_t>;

// The weights of the input elements of one dimension for output element `i`, by PyTorch's documents.
std::vector<double> weights(const std::string& mode, int64_t in, int64_t out, int64_t i,
                            double scale, bool align_corners) {
  std::vector<double> result(static_cast<size_t>(in));
  const auto add = [&](int64_t at, double weight) {
    result[static_cast<size_t>(std::clamp<int64_t>(at, 0, in - 1))] += weight;
  };
  const auto at = static_cast<double>(i);
  if (mode == "nearest") {
    add(static_cast<int64_t>(std::floor(at * scale + 1e-9)), 1);
  } else if (mode == "nearest-exact") {
    add(static_cast<int64_t>(std::floor((at + 0.5) * scale + 1e-9)), 1);
  } else if (mode == "area") {
    const int64_t from = i * in / out, to = ((i + 1) * in + out - 1) / out;
    for (int64_t k = from; k < to; ++k) add(k, 1 / static_cast<double>(to - from));
  } else {
    double source = (at + 0.5) * scale - 0.5;
    if (align_corners)
      source = out == 1 ? 0 : at * static_cast<double>(in - 1) / static_cast<double>(out - 1);
    const bool cubic = mode == "bicubic";
    if (!cubic) source = std::clamp(source, 0.0, static_cast<double>(in - 1));
    const auto low = static_cast<int64_t>(std::floor(source));
    for (int64_t k = -1; k < 3; ++k) {
      const double x = std::abs(source - static_cast<double>(low + k));
      constexpr double a = -0.75;
      const double hat = x < 1 ? 1 - x : 0;
      const double hump = x <= 1  ? (a + 2) * x * x * x - (a + 3) * x * x + 1
                          : x < 2 ? a * (x * x * x - 5 * x * x + 8 * x - 4)
                                  : 0;
      add(low + k, cubic ? hump : hat);
    }
  }
  return result;
}

bool step(Shape& at, const Shape& end) {
  for (size_t d = at.size(); d-- > 0;) {
    if (++at[d] < end[d]) return true;
    at[d] = 0;
  }
  return false;
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("interpolate weighs the input as its modes say") {
    std::mt19937_64 engine(4);
    const auto below = [&](int64_t count) {
      return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
    };
    const char* linear[] = {"linear", "bilinear", "trilinear"};
    for (int round = 0; round < 200; ++round) {
      const int64_t spatial = 1 + below(3);
      std::vector<std::string> modes{"nearest", "nearest-exact", "area", linear[spatial - 1]};
      if (spatial == 2) modes.push_back("bicubic");
      const std::string mode =
          modes[static_cast<size_t>(below(static_cast<int64_t>(modes.size())))];
      const bool smooth = mode.find("linear") != std::string::npos || mode == "bicubic";
      const bool aligned = smooth && below(2) == 0, by_factor = mode != "area" && below(3) == 0;
      Shape in, out, shape{2, 1};
      std::vector<double> factors;
      for (int64_t d = 0; d < spatial; ++d) {
        in.push_back(1 + below(4));
        factors.push_back(1 + static_cast<double>(below(5)) / 2);
        out.push_back(by_factor
                          ? static_cast<int64_t>(static_cast<double>(in.back()) * factors.back())
                          : 1 + below(6));
      }
      shape.insert(shape.end(), in.begin(), in.end());
      const Tensor x = numbers(shape, tenon::f64, static_cast<uint64_t>(round));
      const auto xs = x.to_vector<double>();
      std::vector<double> expected;
      const int64_t plane = x.numel() / 2;
      for (int64_t p = 0; p < 2; ++p) {
        Shape at(in.size(), 0);
        do {
          double sum = 0;
          Shape from(in.size(), 0);
          int64_t offset = 0;
          do {
            double weight = 1;
            for (size_t d = 0; d < in.size(); ++d) {
              const double scale = by_factor
                                       ? 1 / factors[d]
                                       : static_cast<double>(in[d]) / static_cast<double>(out[d]);
              weight *=
                  weights(mode, in[d], out[d], at[d], scale, aligned)[static_cast<size_t>(from[d])];
            }
            sum += weight * xs[static_cast<size_t>(p * plane + offset++)];
          } while (step(from, in));
          expected.push_back(sum);
        } while (step(at, out));
      }
      CAPTURE(mode);
      CAPTURE(in);
      CAPTURE(out);
      CAPTURE(aligned);
      const auto corners = smooth ? tenon::Argument(aligned) : tenon::Argument(tenon::none);
      const Tensor found = by_factor
                               ? functional::interpolate(x, tenon::none, factors, mode, corners)
                               : functional::interpolate(x, out, tenon::none, mode, corners);
      Shape sizes{2, 1};
      sizes.insert(sizes.end(), out.begin(), out.end());
      check_values(found, sizes, expected, 1e-12);
    }
  }

  TEST_CASE("pixel_shuffle makes squares of pixels of channels, pixel_unshuffle undoes it") {
    const Tensor x = numbers({2, 3, 18, 2, 4}, tenon::f64);
    const Tensor y = functional::pixel_shuffle(x, 3);
    CHECK(y.sizes() == Shape{2, 3, 2, 6, 12});
    const auto xs = x.to_vector<double>(), ys = y.to_vector<double>();
    for (size_t i = 0; i < ys.size(); ++i) {
      const size_t column = i % 12, row = i / 12 % 6, channel = i / 72 % 2, image = i / 144;
      const size_t from = channel * 9 + row % 3 * 3 + column % 3;
      REQUIRE(ys[i] == xs[((image * 18 + from) * 2 + row / 3) * 4 + column / 3]);
    }
    check_close(functional::pixel_unshuffle(y, 3), x, 0);
    CHECK(functional::pixel_shuffle(tenon::ones({0, 4, 2, 2}), 2).sizes() == Shape{0, 1, 4, 4});
    CHECK(refusal_of("pixel_shuffle", [&] { functional::pixel_shuffle(x, 4); }) ==
          "the 18 channels of an input of shape [2, 3, 18, 2, 4] must be a multiple of "
          "upscale_factor^2, 16");
    CHECK(refusal_of("pixel_unshuffle", [&] { functional::pixel_unshuffle(x, 3); }) ==
          "height and width of an input of shape [2, 3, 18, 2, 4] must be multiples of "
          "downscale_factor 3");
    CHECK_THROWS_AS(functional::pixel_shuffle(x, 0), tenon::ValueError);
    CHECK_THROWS_AS(functional::pixel_shuffle(tenon::ones({2, 2}), 2), tenon::ValueError);
  }

  TEST_CASE("attention is the mean of values by the softmax of scores") {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const Tensor q = numbers({2, 3, 4, 5}, tenon::f64), k = numbers({3, 6, 5}, tenon::f64, 2),
                 v = numbers({1, 6, 2}, tenon::f64, 3);
    const auto slow = [&](const std::function<double(int64_t, int64_t)>& mask, double scale) {
      std::vector<double> result;
      for (int64_t b = 0; b < 6; ++b) {
        const auto qs = q.reshape({6, 4, 5}).select(0, b).to_vector<double>();
        const auto ks = k.select(0, b % 3).to_vector<double>(), vs = v.to_vector<double>();
        for (int64_t i = 0; i < 4; ++i) {
          std::vector<double> weight;
          double total = 0;
          for (int64_t j = 0; j < 6; ++j) {
            double score = mask(i, j);
            for (int64_t e = 0; e < 5; ++e)
              score +=
                  scale * qs[static_cast<size_t>(i * 5 + e)] * ks[static_cast<size_t>(j * 5 + e)];
            weight.push_back(std::exp(score));
            total += weight.back();
          }
          for (int64_t c = 0; c < 2; ++c) {
            double sum = 0;
            for (int64_t j = 0; j < 6; ++j)
              sum += weight[static_cast<size_t>(j)] * vs[static_cast<size_t>(j * 2 + c)];
            result.push_back(total == 0 ? 0 : sum / total);
          }
        }
      }
      return result;
    };
    const Shape shape{2, 3, 4, 2};
    const auto attend = [&](const Tensor& mask, bool causal, const tenon::Argument& scale) {
      return functional::scaled_dot_product_attention(q, k, v, mask, 0, causal, scale);
    };
    const double usual = 1 / std::sqrt(5.0);
    check_values(attend({}, false, tenon::none), shape,
                 slow([](int64_t, int64_t) { return 0.0; }, usual), 1e-13);
    check_values(attend({}, true, 0.3), shape,
                 slow([](int64_t i, int64_t j) { return j <= i ? 0.0 : -inf; }, 0.3), 1e-13);
    const Tensor bias = numbers({4, 6}, tenon::f64, 5);
    const auto biases = bias.to_vector<double>();
    check_values(
        attend(bias, false, tenon::none), shape,
        slow([&](int64_t i, int64_t j) { return biases[static_cast<size_t>(i * 6 + j)]; }, usual),
        1e-13);
    // The second query has no key: it has zeros, and gradients that are numbers.
    const Tensor open = (bias > 0).logical_and(tenon::arange(4).reshape({4, 1}).ne(1));
    check_values(attend(open, false, tenon::none), shape,
                 slow(
                     [&](int64_t i, int64_t j) {
                       return i != 1 && biases[static_cast<size_t>(i * 6 + j)] > 0 ? 0.0 : -inf;
                     },
                     usual),
                 1e-13);
    const Tensor leaf_query = q.clone().requires_grad_();
    functional::scaled_dot_product_attention(leaf_query, k, v, open).sum().backward();
    CHECK(leaf_query.grad().isfinite().all().item<bool>());
    CHECK(functional::scaled_dot_product_attention(q, tenon::ones({0, 5}, tenon::f64),
                                                   tenon::ones({0, 2}, tenon::f64))
              .sizes() == shape);
  }

  TEST_CASE("interpolate and attention refuse what does not fit") {
    const Tensor x = tenon::ones({1, 1, 4, 4});
    const auto refused = [&](const tenon::Argument& size, const tenon::Argument& factor,
                             const char* mode, const tenon::Argument& corners) {
      return refusal_of("interpolate",
                        [&] { functional::interpolate(x, size, factor, mode, corners); });
    };
    const auto& no = tenon::none;
    const Shape two{2, 2}, three{2, 2, 2};
    CHECK(refused(no, no, "nearest", no) == "either size or scale_factor must be given");
    CHECK(refused(three, no, "nearest", no) ==
          "an input of shape [1, 1, 4, 4] has 2 spatial dimensions, got 3 sizes");
    CHECK(refused(two, no, "cubic", no) ==
          "'cubic' is not a mode; choose nearest, nearest-exact, linear, bilinear, trilinear, "
          "bicubic "
          "or area");
    CHECK(refused(two, no, "linear", no) ==
          "mode 'linear' is for 1 spatial dimensions, got an input of shape [1, 1, 4, 4]");
    CHECK(refused(two, no, "nearest", true) == "align_corners has no meaning for mode 'nearest'");
    CHECK(refused(Shape{0, 2}, no, "nearest", no) == "size must be from 1 to 2147483647, got 0");
    CHECK(
        refused(no, std::vector<double>{0.1}, "nearest", no).find("scale_factor 0.1 of an input") ==
        0);
    CHECK_THROWS_AS(functional::interpolate(tenon::ones({2, 2}), two), tenon::ValueError);
    // Before anything is laid out for its rows, which would not fit the machine.
    const Shape beyond{int64_t{1} << 30, int64_t{1} << 30};
    CHECK(refusal_of("interpolate", [&] {
            functional::interpolate(tenon::ones({8, 1, 2, 2}), beyond);
          }).find("more elements than can be addressed") != std::string::npos);
    CHECK_THROWS_AS(functional::interpolate(tenon::ones({1, 1, 0, 2}), two), tenon::ValueError);
    const Tensor q = tenon::ones({3, 2});
    CHECK(refusal_of("scaled_dot_product_attention",
                     [&] {
                       functional::scaled_dot_product_attention(q, tenon::ones({3, 4}), q);
                     }) ==
          "'query', 'key' and 'value' must be [..., L, E], [..., S, E] and [..., S, V], got shapes "
          "[3, "
          "2], [3, 4] and [3, 2]");
    CHECK(refusal_of("scaled_dot_product_attention", [&] {
            functional::scaled_dot_product_attention(q, q, q, tenon::ones({3, 3}), 0, true);
          }) == "either 'attn_mask' or is_causal can be given, not both");
    CHECK_THROWS_AS(functional::scaled_dot_product_attention(q, q.to(tenon::f64), q),
                    tenon::TypeError);
  }
}
