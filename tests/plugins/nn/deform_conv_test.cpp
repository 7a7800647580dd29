// nn.functional.deform_conv2d against loops over the definition.
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include <tenon/nn_ops.hpp>
#include <tenon/runtime.hpp>
#include <tenon/tenon.hpp>

#include "../compare.hpp"

namespace {

using compare::refusal;
using tenon::arg, tenon::Op, tenon::Tensor;
using Sizes = std::vector<int64_t>;

tenon::IntList list_of(const Sizes& sizes) {
  return {sizes.data(), static_cast<int64_t>(sizes.size())};
}

Tensor drawn(std::mt19937& draw, const Sizes& sizes, double scale = 1) {
  std::normal_distribution<double> normal;
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<double> list(static_cast<size_t>(count));
  for (double& one : list) one = normal(draw) * scale;
  return tenon::from_range(list.begin(), list.end()).reshape(list_of(sizes));
}

// Elements of a tensor of four dimensions.
struct Elements {
  explicit Elements(const Tensor& tensor)
      : sizes(tensor.sizes()), list(tensor.to_vector<double>()) {}
  double at(int64_t a, int64_t b, int64_t c, int64_t d) const {
    if (c < 0 || d < 0 || c >= sizes[2] || d >= sizes[3]) return 0;
    return list[static_cast<size_t>(((a * sizes[1] + b) * sizes[2] + c) * sizes[3] + d)];
  }
  double between(int64_t a, int64_t b, double y, double x) const {
    const auto top = static_cast<int64_t>(std::floor(y)),
               left = static_cast<int64_t>(std::floor(x));
    const double down = y - std::floor(y), right = x - std::floor(x);
    return (1 - down) * ((1 - right) * at(a, b, top, left) + right * at(a, b, top, left + 1)) +
           down * ((1 - right) * at(a, b, top + 1, left) + right * at(a, b, top + 1, left + 1));
  }
  Sizes sizes;
  std::vector<double> list;
};

}  // namespace

TEST_CASE("without offsets it is a convolution") {
  std::mt19937 draw(1);
  const Tensor x = drawn(draw, {2, 4, 6, 5}), w = drawn(draw, {6, 2, 3, 2}), b = drawn(draw, {6});
  const auto found = Op("nn.functional.deform_conv2d")
                         .call<Tensor>(x, tenon::zeros({2, 12, 3, 6}, tenon::f64), w, b,
                                       Sizes{2, 1}, Sizes{1, 1}, Sizes{1, 1}, arg("groups") = 2);
  const Tensor expected =
      tenon::nn::functional::conv2d(x, w, b, Sizes{2, 1}, Sizes{1, 1}, Sizes{1, 1}, 2);
  compare::check_close(found, expected, 1e-12);
}

TEST_CASE("kernel places move by their offset, linear between pixels, 0 outside") {
  std::mt19937 draw(2);
  for (int round = 0; round < 20; ++round) {
    const int64_t groups = 1 + draw() % 2, offsets = 1 + draw() % 2, kh = 1 + draw() % 3,
                  kw = 1 + draw() % 2;
    const int64_t stride = 1 + draw() % 2, padding = draw() % 2, dilation = 1 + draw() % 2;
    const int64_t height = 6, width = 5, channels = 4, outputs = 2;
    const int64_t oh = (height + 2 * padding - dilation * (kh - 1) - 1) / stride + 1;
    const int64_t ow = (width + 2 * padding - dilation * (kw - 1) - 1) / stride + 1;
    const Tensor x = drawn(draw, {2, channels, height, width}),
                 w = drawn(draw, {outputs, channels / groups, kh, kw});
    const Tensor moves = drawn(draw, {2, 2 * offsets * kh * kw, oh, ow}, 2);
    const Tensor mask = drawn(draw, {2, offsets * kh * kw, oh, ow});
    const auto found =
        Op("nn.functional.deform_conv2d")
            .call<Tensor>(x, moves, w, Tensor(), Sizes{stride, stride}, Sizes{padding, padding},
                          Sizes{dilation, dilation}, mask, arg("groups") = groups);
    const Elements input(x), weight(w), offset(moves), weights(mask), result(found);
    REQUIRE(result.sizes == Sizes{2, outputs, oh, ow});
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t m = 0; m < outputs; ++m) {
        for (int64_t i = 0; i < oh; ++i) {
          for (int64_t j = 0; j < ow; ++j) {
            double sum = 0;
            for (int64_t c = 0; c < channels / groups; ++c) {
              const int64_t channel = m / (outputs / groups) * (channels / groups) + c;
              const int64_t group = channel / (channels / offsets);
              for (int64_t a = 0; a < kh; ++a) {
                for (int64_t b = 0; b < kw; ++b) {
                  const int64_t place = group * kh * kw + a * kw + b;
                  const double y = static_cast<double>(i * stride - padding + a * dilation) +
                                   offset.at(n, 2 * place, i, j);
                  const double z = static_cast<double>(j * stride - padding + b * dilation) +
                                   offset.at(n, 2 * place + 1, i, j);
                  sum += weight.at(m, c, a, b) * weights.at(n, place, i, j) *
                         input.between(n, channel, y, z);
                }
              }
            }
            REQUIRE(result.at(n, m, i, j) == doctest::Approx(sum).epsilon(1e-10));
          }
        }
      }
    }
  }
}

TEST_CASE("offsets that do not fit the windows are refused") {
  const Tensor x = tenon::zeros({1, 1, 4, 4}), w = tenon::zeros({1, 1, 2, 2});
  const auto call = [&](const Sizes& sizes) {
    return refusal([&] {
      Op("nn.functional.deform_conv2d").call<Tensor>(x, tenon::zeros(list_of(sizes)), w);
    });
  };
  CHECK(call({1, 8, 2, 3}).find("must have 3 windows in dimension 2") != std::string::npos);
  CHECK(call({1, 7, 3, 3}).find("must have a multiple of 8 channels") != std::string::npos);
}
