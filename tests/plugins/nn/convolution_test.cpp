// Convolutions of one to three dimensions, their transposes, unfold and fold against walks over each
// element, of random sizes and settings; refusals.
#include <algorithm>
#include <random>

#include <tenon/gradcheck.hpp>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

using Shape = std::vector<int64_t>;

bool step(Shape& at, const Shape& end) {
  for (size_t d = at.size(); d-- > 0;) {
    if (++at[d] < end[d]) return true;
    at[d] = 0;
  }
  return false;
}
size_t offset_of(const Shape& at, const Shape& shape) {
  int64_t offset = 0;
  for (size_t d = 0; d < at.size(); ++d) offset = offset * shape[d] + at[d];
  return static_cast<size_t>(offset);
}
Shape joined(const Shape& a, const Shape& b) {
  Shape all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

struct Settings {
  Shape image, kernel, stride, padding, dilation;
  int64_t batch, channels, features, groups;

  // `many`: enough features, terms and positions for kernels of tiles.
  explicit Settings(std::mt19937_64& engine, bool many = false) {
    const auto below = [&](int64_t count) {
      return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
    };
    groups = 1 + below(2);
    channels = groups * (1 + below(2));
    features = groups * (1 + below(3));
    batch = below(4);
    const int64_t dimensions = 1 + below(3);
    if (many) {
      channels = groups * (6 + below(4));
      features = groups * (8 + below(20));
    }
    for (int64_t d = dimensions; d > 0; --d) {
      kernel.push_back(1 + below(3));
      dilation.push_back(1 + below(2));
      stride.push_back(1 + below(3));
      padding.push_back(below(3));
      const int64_t reach = dilation.back() * (kernel.back() - 1) + 1;
      const int64_t more = many ? (dimensions == 1 ? 40 : dimensions == 2 ? 8 : 3) : 0;
      image.push_back(std::max<int64_t>(1, reach - 2 * padding.back()) + more + below(4));
    }
  }
  Shape out() const {
    Shape result;
    for (size_t d = 0; d < image.size(); ++d)
      result.push_back((image[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] +
                       1);
    return result;
  }
  // body(position in the image, in the output, in the kernel) for all that meet.
  template <class Body>
  void each(const Shape& image_size, const Shape& output, const Body& body) const {
    Shape at(output.size(), 0);
    do {
      Shape tap(output.size(), 0);
      do {
        Shape from;
        bool inside = true;
        for (size_t d = 0; d < output.size(); ++d) {
          from.push_back(at[d] * stride[d] - padding[d] + tap[d] * dilation[d]);
          inside = inside && from[d] >= 0 && from[d] < image_size[d];
        }
        if (inside) body(from, at, tap);
      } while (step(tap, kernel));
    } while (step(at, output));
  }
};

Tensor drawn(const Shape& shape, DType dtype, uint64_t seed) {
  const Tensor x = numbers(shape, dtype, seed);
  return seed % 2 == 0 ? x : tenon::stack({x, x}, -1).select(-1, 1);
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("convolutions agree with a walk over each element") {
    std::mt19937_64 engine(7);
    for (uint64_t round = 0; round < 240; ++round) {
      const Settings s(engine, round >= 200);
      const DType dtype = round % 4 == 0 ? tenon::f32 : tenon::f64;
      const double tolerance = dtype == tenon::f32 ? 1e-4 : 1e-12;
      const int64_t cg = s.channels / s.groups, fg = s.features / s.groups;
      const Shape out = s.out(), x_shape = joined({s.batch, s.channels}, s.image),
                  w_shape = joined({s.features, cg}, s.kernel),
                  y_shape = joined({s.batch, s.features}, out);
      const Tensor x = drawn(x_shape, dtype, round), w = drawn(w_shape, dtype, round + 1),
                   b = drawn({s.features}, dtype, round + 2), g = drawn(y_shape, dtype, round + 3);
      const auto xs = x.to_vector<double>(), ws = w.to_vector<double>(), bs = b.to_vector<double>(),
                 gs = g.to_vector<double>();
      std::vector<double> y(static_cast<size_t>(g.numel())), for_x(xs.size()), for_w(ws.size());
      for (int64_t n = 0; n < s.batch; ++n) {
        for (int64_t f = 0; f < s.features; ++f) {
          for (int64_t c = 0; c < cg; ++c) {
            s.each(s.image, out, [&](const Shape& from, const Shape& at, const Shape& tap) {
              const size_t i = offset_of(joined({n, f / fg * cg + c}, from), x_shape),
                           o = offset_of(joined({n, f}, at), y_shape),
                           k = offset_of(joined({f, c}, tap), w_shape);
              y[o] += xs[i] * ws[k];
              for_x[i] += gs[o] * ws[k];
              for_w[k] += gs[o] * xs[i];
            });
          }
        }
      }
      for (size_t o = 0; o < y.size(); ++o) {
        const int64_t plane = g.numel() / s.batch / s.features;
        y[o] += bs[o / static_cast<size_t>(plane) % bs.size()];
      }
      const std::string name = "nn.functional.conv" + std::to_string(s.image.size()) + "d";
      CAPTURE(name);
      CAPTURE(x_shape);
      CAPTURE(w_shape);
      CAPTURE(s.stride);
      CAPTURE(s.padding);
      CAPTURE(s.dilation);
      check_values(tenon::Op(name).call<Tensor>(x, w, b, s.stride, s.padding, s.dilation, s.groups),
                   y_shape, y, tolerance);
      check_values(tenon::Op(name + "_input")
                       .call<Tensor>(x_shape, w, g, s.stride, s.padding, s.dilation, s.groups),
                   x_shape, for_x, tolerance);
      check_values(tenon::Op(name + "_weight")
                       .call<Tensor>(x, w_shape, g, s.stride, s.padding, s.dilation, s.groups),
                   w_shape, for_w, tolerance);
      if (s.batch == 0) continue;
      const Tensor one = tenon::Op(name).call<Tensor>(x.select(0, 0), w, b, s.stride, s.padding,
                                                      s.dilation, s.groups);
      const auto count = static_cast<ptrdiff_t>(y.size()) / s.batch;
      check_close(one.to_vector<double>(), {y.begin(), y.begin() + count}, tolerance);
    }
  }

  TEST_CASE("padding 'same' keeps the size, with what is odd of it behind; 'valid' is none") {
    std::mt19937_64 engine(9);
    for (uint64_t round = 0; round < 60; ++round) {
      Settings s(engine);
      s.stride.assign(s.stride.size(), 1);
      const int64_t cg = s.channels / s.groups;
      const std::string name = "nn.functional.conv" + std::to_string(s.image.size()) + "d";
      CAPTURE(name);
      CAPTURE(s.kernel);
      CAPTURE(s.dilation);
      const Tensor x = drawn(joined({2, s.channels}, s.image), tenon::f64, round).detach(),
                   w = drawn(joined({s.features, cg}, s.kernel), tenon::f64, round + 1).detach();
      // Pads by hand: [last dimension: before, behind, ...]
      Shape pads, none(s.image.size(), 0);
      for (size_t d = s.image.size(); d-- > 0;) {
        const int64_t total = s.dilation[d] * (s.kernel[d] - 1);
        pads.insert(pads.end(), {total / 2, total - total / 2});
      }
      const auto padded = [&](const Tensor& image) { return tenon::constant_pad_nd(image, pads); };
      const tenon::Op conv(name);
      const Tensor same = conv.call<Tensor>(x, w, Tensor(), 1, "same", s.dilation, s.groups);
      Shape expected = joined({2, s.features}, s.image);
      CHECK(same.sizes() == expected);
      check_close(same, conv.call<Tensor>(padded(x), w, Tensor(), 1, "valid", s.dilation, s.groups),
                  1e-12);
      check_close(conv.call<Tensor>(padded(x), w, Tensor(), 1, "valid", s.dilation, s.groups),
                  conv.call<Tensor>(padded(x), w, Tensor(), 1, none, s.dilation, s.groups), 0);
      if (round % 10 != 0) continue;
      const auto call = [&](const std::vector<Tensor>& in) {
        return conv.call<Tensor>(in[0], in[1], Tensor(), 1, "same", s.dilation, s.groups);
      };
      tenon::GradcheckOptions options;
      options.check_forward_ad = true;
      options.fast_mode = true;
      const std::vector<Tensor> inputs{x.contiguous().requires_grad_(),
                                       w.contiguous().requires_grad_()};
      CHECK(tenon::gradcheck(call, inputs, options));
      CHECK(tenon::gradgradcheck(call, inputs, options));
    }
    const Tensor image = tenon::ones({1, 4, 4}), kernel = tenon::ones({1, 1, 2, 2});
    CHECK(refusal([&] { functional::conv2d(image, kernel, {}, 2, "same"); }) ==
          "conv2d(): padding 'same' needs a stride of 1, got 2; give the padding as numbers");
    CHECK(refusal([&] {
            functional::conv2d(image, kernel, {}, 1, "full");
          }).find("conv2d(): argument 'padding' must be int[2], 'same' or 'valid', got ") == 0);
    CHECK_THROWS_AS(functional::conv2d(image, kernel, {}, 1, {1, 1, 1}), tenon::TypeError);
    using tenon::arg;
    const tenon::Module layer =
        tenon::Module::create("Conv2d", arg("in_channels") = 1, arg("out_channels") = 1,
                              arg("kernel_size") = 2, arg("padding") = "same");
    CHECK(layer.text() == "Conv2d(1, 1, kernel_size=(2, 2), stride=(1, 1), padding=same)");
    CHECK(layer(image).sizes() == Shape{1, 4, 4});
    // From a document, kept for backward.
    const tenon::Module listed = tenon::create_module(tenon::Json::parse(
        R"({"type": "Conv2d", "in_channels": 1, "out_channels": 1, "kernel_size": 3, "padding": [1, 0]})"));
    listed(image).sum().backward();
    CHECK(listed.tensor("weight").grad().sizes() == Shape{1, 1, 3, 3});
  }

  TEST_CASE("transposed convolutions spread each element over the output") {
    std::mt19937_64 engine(8);
    int answered = 0;
    for (uint64_t round = 0; round < 200; ++round) {
      Settings s(engine);
      Shape extra, out;
      bool fits = true;
      for (size_t d = 0; d < s.image.size(); ++d) {
        extra.push_back(static_cast<int64_t>(
            engine() % static_cast<uint64_t>(std::max(s.stride[d], s.dilation[d]))));
        out.push_back((s.image[d] - 1) * s.stride[d] - 2 * s.padding[d] +
                      s.dilation[d] * (s.kernel[d] - 1) + extra[d] + 1);
        fits = fits && out[d] > 0;
      }
      const int64_t cg = s.channels / s.groups, fg = s.features / s.groups;
      const Shape x_shape = joined({s.batch, s.channels}, s.image),
                  w_shape = joined({s.channels, fg}, s.kernel),
                  y_shape = joined({s.batch, s.features}, out);
      const Tensor x = drawn(x_shape, tenon::f64, round), w = drawn(w_shape, tenon::f64, round + 1),
                   b = drawn({s.features}, tenon::f64, round + 2);
      const tenon::Op op("nn.functional.conv_transpose" + std::to_string(s.image.size()) + "d");
      CAPTURE(x_shape);
      CAPTURE(w_shape);
      CAPTURE(extra);
      const auto call = [&] {
        return op.call<Tensor>(x, w, b, s.stride, s.padding, extra, s.groups, s.dilation);
      };
      if (!fits) {
        CHECK_THROWS_AS(call(), tenon::ValueError);
        continue;
      }
      ++answered;
      const auto xs = x.to_vector<double>(), ws = w.to_vector<double>(), bs = b.to_vector<double>();
      int64_t count = 1;
      for (const int64_t size : y_shape) count *= size;
      std::vector<double> y(static_cast<size_t>(count));
      for (size_t o = 0; o < y.size(); ++o)
        y[o] = bs[o / static_cast<size_t>(count / s.batch / s.features) % bs.size()];
      for (int64_t n = 0; n < s.batch; ++n) {
        for (int64_t c = 0; c < s.channels; ++c) {
          for (int64_t f = 0; f < fg; ++f) {
            s.each(out, s.image, [&](const Shape& to, const Shape& at, const Shape& tap) {
              y[offset_of(joined({n, c / cg * fg + f}, to), y_shape)] +=
                  xs[offset_of(joined({n, c}, at), x_shape)] *
                  ws[offset_of(joined({c, f}, tap), w_shape)];
            });
          }
        }
      }
      check_values(call(), y_shape, y, 1e-12);
    }
    CHECK(answered > 100);
  }

  TEST_CASE("unfold has a column for each patch, fold sums them back") {
    std::mt19937_64 engine(9);
    for (uint64_t round = 0; round < 150; ++round) {
      const Settings s(engine);
      if (s.image.size() != 2) continue;
      const Shape out = s.out(), x_shape = joined({s.batch, s.channels}, s.image);
      const int64_t kernel = s.kernel[0] * s.kernel[1], places = out[0] * out[1];
      const Shape y_shape{s.batch, s.channels * kernel, places};
      const Tensor x = drawn(x_shape, tenon::f64, round), g = drawn(y_shape, tenon::f64, round + 1);
      const auto xs = x.to_vector<double>(), gs = g.to_vector<double>();
      std::vector<double> y(gs.size()), back(xs.size());
      for (int64_t n = 0; n < s.batch; ++n) {
        for (int64_t c = 0; c < s.channels; ++c) {
          s.each(s.image, out, [&](const Shape& from, const Shape& at, const Shape& tap) {
            const size_t i = offset_of(joined({n, c}, from), x_shape);
            const size_t o = offset_of(
                {n, c * kernel + tap[0] * s.kernel[1] + tap[1], at[0] * out[1] + at[1]}, y_shape);
            y[o] = xs[i];
            back[i] += gs[o];
          });
        }
      }
      check_values(functional::unfold(x, s.kernel, s.dilation, s.padding, s.stride), y_shape, y, 0);
      check_values(functional::fold(g, s.image, s.kernel, s.dilation, s.padding, s.stride), x_shape,
                   back, 1e-14);
    }
    CHECK(functional::unfold(numbers({2, 3, 3}), 2).sizes() == Shape{8, 4});
    CHECK(functional::fold(numbers({8, 4}), 3, 2).sizes() == Shape{2, 3, 3});
  }

  TEST_CASE("convolutions and patches refuse what does not fit") {
    const Tensor x = tenon::ones({1, 2, 5}), w = tenon::ones({3, 2, 2});
    CHECK(refusal_of("conv1d", [&] { functional::conv1d(tenon::ones({5}), w); }) ==
          "'input' must have shape [N, C, W] or [C, W], got [5]");
    CHECK(refusal_of("conv3d",
                     [&] {
                       functional::conv3d(tenon::ones({1, 1, 1, 1, 1}), w);
                     }) ==
          "'weight' must have shape [features, C / groups, kernel depth, kernel height, kernel "
          "width], got [3, 2, 2]");
    CHECK(refusal_of("conv1d", [&] {
            functional::conv1d(x, tenon::ones({3, 2, 6}));
          }) == "the kernel reaches over 6 columns but the padded input of shape [1, 2, 5] has 5");
    CHECK(refusal_of("conv_transpose1d",
                     [&] {
                       functional::conv_transpose1d(x, tenon::ones({3, 2, 2}));
                     }) ==
          "'input' must have shape [N, C, ...] or [C, ...] with 1 spatial dimensions and 'weight' "
          "[C, "
          "features / groups, ...], got [1, 2, 5] and [3, 2, 2]");
    const Tensor t = tenon::ones({2, 3, 2});
    CHECK(
        refusal_of("conv_transpose1d", [&] { functional::conv_transpose1d(x, t, {}, 2, 0, 2); }) ==
        "output_padding must be below stride or dilation, got 2 with stride 2 and dilation 1");
    CHECK(refusal_of("conv_transpose1d", [&] { functional::conv_transpose1d(x, t, {}, 1, 4); }) ==
          "the output would have size -2 along spatial dimension 0; use less padding");
    CHECK(refusal_of("conv_transpose1d", [&] {
            functional::conv_transpose1d(x, t, tenon::ones({2}));
          }) == "'bias' must have shape [3], got [2]");
    CHECK(
        refusal_of("unfold", [&] { functional::unfold(x, 3); }) ==
        "a kernel of [3, 3] with dilation [1, 1] does not fit into 2 x 5 elements with padding [0, "
        "0]");
    CHECK(refusal_of("unfold", [] {
            functional::unfold(tenon::ones({3, 3}), 2);
          }) == "'input' must have shape [N, C, H, W] or [C, H, W], got [3, 3]");
    CHECK(refusal_of("fold", [] {
            functional::fold(tenon::ones({8, 5}), 3, 2);
          }) == "'input' must have shape [N, C * 4, 4] or [C * 4, 4], got [8, 5]");
    CHECK_THROWS_AS(functional::conv1d(x, w, {}, 0), tenon::ValueError);
    CHECK_THROWS_AS(functional::conv1d(x.to(tenon::i64), w), tenon::TypeError);
  }
}
