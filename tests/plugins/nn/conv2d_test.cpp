// conv2d: values against a naive convolution for strides, paddings, dilations, groups; refusals.
#include <limits>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

Tensor naive(const Tensor& x, const Tensor& w, const Tensor& b, std::array<int64_t, 2> s,
             std::array<int64_t, 2> p, std::array<int64_t, 2> d, int64_t groups) {
  const int64_t n = x.size(0), h = x.size(2), wd = x.size(3), o = w.size(0), cg = w.size(1),
                kh = w.size(2), kw = w.size(3);
  const int64_t oh = (h + 2 * p[0] - d[0] * (kh - 1) - 1) / s[0] + 1,
                ow = (wd + 2 * p[1] - d[1] * (kw - 1) - 1) / s[1] + 1;
  const auto xs = x.to_vector<double>(), ws = w.to_vector<double>();
  const auto bs =
      b.defined() ? b.to_vector<double>() : std::vector<double>(static_cast<size_t>(o), 0.0);
  const Tensor result = tenon::empty_tensor({n, o, oh, ow}, tenon::f64);
  double* to = result.numel() == 0 ? nullptr : result.data<double>();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t f = 0; f < o; ++f) {
      for (int64_t y = 0; y < oh; ++y) {
        for (int64_t z = 0; z < ow; ++z) {
          double sum = bs[static_cast<size_t>(f)];
          for (int64_t c = 0; c < cg; ++c) {
            for (int64_t a = 0; a < kh; ++a) {
              for (int64_t e = 0; e < kw; ++e) {
                const int64_t row = y * s[0] - p[0] + a * d[0], column = z * s[1] - p[1] + e * d[1];
                if (row < 0 || row >= h || column < 0 || column >= wd) continue;
                const int64_t channel = f / (o / groups) * cg + c;
                sum +=
                    xs[static_cast<size_t>(((i * cg * groups + channel) * h + row) * wd + column)] *
                    ws[static_cast<size_t>(((f * cg + c) * kh + a) * kw + e)];
              }
            }
          }
          *to++ = sum;
        }
      }
    }
  }
  return result;
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("conv2d agrees with a naive convolution") {
    using Pair = std::array<int64_t, 2>;
    struct Setting {
      int64_t channels, features, groups;
      Pair image, kernel, stride, padding, dilation;
    };
    for (const Setting& t :
         std::vector<Setting>{{1, 1, 1, {3, 3}, {3, 3}, {1, 1}, {0, 0}, {1, 1}},
                              {3, 4, 1, {7, 9}, {3, 2}, {1, 1}, {1, 0}, {1, 1}},
                              {2, 6, 2, {8, 8}, {3, 3}, {2, 3}, {2, 1}, {1, 2}},
                              {4, 4, 4, {6, 5}, {2, 3}, {1, 2}, {0, 2}, {2, 1}},
                              {5, 3, 1, {4, 6}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
                              {5, 3, 1, {4, 6}, {1, 1}, {2, 2}, {1, 1}, {1, 1}},
                              {2, 2, 1, {2, 2}, {4, 4}, {1, 1}, {3, 3}, {1, 1}},
                              {1, 2, 1, {1, 3}, {1, 3}, {5, 5}, {4, 4}, {1, 1}}}) {
      for (const DType dtype : {tenon::f32, tenon::f64}) {
        const Tensor x = numbers({3, t.channels, t.image[0], t.image[1]}, dtype);
        const Tensor w =
            numbers({t.features, t.channels / t.groups, t.kernel[0], t.kernel[1]}, dtype, 2);
        const Tensor b = numbers({t.features}, dtype, 3);
        const auto list = [](const Pair& pair) { return IntList(pair.data(), 2); };
        const Tensor expected = naive(x, w, b, t.stride, t.padding, t.dilation, t.groups);
        const Tensor found = functional::conv2d(x, w, b, list(t.stride), list(t.padding),
                                                list(t.dilation), t.groups);
        CHECK(found.dtype() == dtype);
        check_close(found, expected, 1e-5);
        const Tensor strided =
            functional::conv2d(x.transpose(0, 3).clone().transpose(0, 3), w, b, list(t.stride),
                               list(t.padding), list(t.dilation), t.groups);
        check_close(strided, expected, 1e-5);
        const Tensor single = functional::conv2d(x.select(0, 1), w, b, list(t.stride),
                                                 list(t.padding), list(t.dilation), t.groups);
        check_close(single, expected.select(0, 1), 1e-5);
      }
    }
  }

  TEST_CASE(
      "conv2d runs many images in parallel, with the same gradients for any number of threads") {
    const Tensor x = numbers({16, 8, 14, 14}).requires_grad_(),
                 w = numbers({8, 8, 3, 3}, tenon::f32, 2).requires_grad_();
    const int32_t before = tenon::thread_count();
    std::vector<std::vector<double>> seen;
    for (const int32_t threads : {1, 2, 4}) {
      tenon::set_thread_count(threads);
      Tensor(x).set_grad({});
      Tensor(w).set_grad({});
      const Tensor y = functional::conv2d(x, w, {}, 1, 1);
      check_close(y, naive(x.detach(), w.detach(), {}, {1, 1}, {1, 1}, {1, 1}, 1), 1e-4);
      y.square().sum().backward();
      seen.push_back(w.grad().to_vector<double>());
    }
    tenon::set_thread_count(before);
    CHECK(seen[0] == seen[1]);
    CHECK(seen[0] == seen[2]);
  }

  TEST_CASE("an image that is computed in pieces has the same bits for any number of threads") {
    const Tensor x = numbers({1, 8, 33, 35}, tenon::f64),
                 w = numbers({260, 8, 3, 3}, tenon::f64, 2), b = numbers({260}, tenon::f64, 3);
    const int32_t before = tenon::thread_count();
    std::vector<std::vector<double>> seen;
    for (const int32_t threads : {1, 2, 3}) {
      tenon::set_thread_count(threads);
      const Tensor y = functional::conv2d(x, w, b, {2, 1}, {1, 1});
      if (seen.empty()) check_close(y, naive(x, w, b, {2, 1}, {1, 1}, {1, 1}, 1), 1e-12);
      seen.push_back(y.to_vector<double>());
    }
    tenon::set_thread_count(before);
    CHECK(seen[0] == seen[1]);
    CHECK(seen[0] == seen[2]);
  }

  TEST_CASE("conv2d of no images is empty") {
    CHECK(functional::conv2d(tenon::zeros({0, 2, 4, 4}), tenon::zeros({3, 2, 2, 2})).sizes() ==
          std::vector<int64_t>{0, 3, 3, 3});
    const Tensor w = tenon::ones({3, 2, 2, 2}).requires_grad_();
    functional::conv2d(tenon::zeros({0, 2, 4, 4}), w).sum().backward();
    check_close(w.grad(), tenon::zeros({3, 2, 2, 2}));
  }

  TEST_CASE("padding that the stride passes over needs no memory") {
    const int64_t far = std::numeric_limits<int32_t>::max();
    const Tensor x = numbers({1, 8, 4, 4}), w = numbers({2, 8, 2, 2});
    const Tensor result = functional::conv2d(x, w, Tensor(), {far, 1}, {far, 0});
    REQUIRE(result.sizes() == std::vector<int64_t>{1, 2, 3, 3});
    check_close(result.select(2, 1), functional::conv2d(x, w).select(2, 0), 1e-6);
    CHECK(result.select(2, 0).abs().amax().item() == 0);
    const Tensor volume = numbers({1, 1, 4, 4, 4}), kernel = numbers({2, 1, 2, 2, 2});
    const Tensor wide = functional::conv3d(volume, kernel, Tensor(), {far, far, 1}, {far, far, 0});
    REQUIRE(wide.sizes() == std::vector<int64_t>{1, 2, 3, 3, 3});
    check_close(wide.select(2, 1).select(2, 1),
                functional::conv3d(volume, kernel).select(2, 0).select(2, 0), 1e-6);
  }

  TEST_CASE("conv2d refuses what does not fit") {
    const Tensor x = tenon::zeros({1, 4, 5, 5}), w = tenon::zeros({6, 4, 3, 3});
    CHECK(refusal([&] {
            functional::conv2d(tenon::zeros({5, 5}), w);
          }) == "conv2d(): 'input' must have shape [N, C, H, W] or [C, H, W], got [5, 5]");
    CHECK(refusal([&] {
            functional::conv2d(tenon::zeros({1, 3, 5, 5}), w);
          }) ==
          "conv2d(): 'weight' of shape [6, 4, 3, 3] with groups=1 takes 4 channels, but the input "
          "of shape "
          "[1, 3, 5, 5] has 3");
    CHECK(refusal([&] { functional::conv2d(x, w, {}, 0); }) ==
          "conv2d(): stride must be from 1 to 2147483647, got 0");
    CHECK(refusal([&] { functional::conv2d(x, w, {}, 1, -1); }) ==
          "conv2d(): padding must be from 0 to 2147483647, got -1");
    CHECK(refusal([&] { functional::conv2d(x, w, {}, 1, 0, 3); }) ==
          "conv2d(): the kernel reaches over 7 rows but the padded input of shape [1, 4, 5, 5] has "
          "5");
    CHECK(refusal([&] { functional::conv2d(x, w, tenon::zeros({5})); }) ==
          "conv2d(): 'bias' must have shape [6], got [5]");
    CHECK_THROWS_AS(functional::conv2d(x, w, {}, 1, 0, 1, 3), tenon::ValueError);
    CHECK_THROWS_AS(functional::conv2d(x, w, {}, {1, 1, 1}), tenon::TypeError);
    CHECK_THROWS_AS(functional::conv2d(x.to(tenon::i64), w.to(tenon::i64)), tenon::TypeError);
    CHECK_THROWS_AS(functional::conv2d(x, w.to(tenon::f64)), tenon::TypeError);
    CHECK_THROWS_AS(functional::conv2d_input({1, 4, 5, 5}, w, tenon::zeros({1, 6, 4, 3})),
                    tenon::ValueError);
    CHECK_THROWS_AS(functional::conv2d_weight(x, {6, 4, 3, 3}, tenon::zeros({1, 5, 3, 3})),
                    tenon::ValueError);
  }
}
