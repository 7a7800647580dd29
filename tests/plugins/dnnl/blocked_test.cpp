// Images in blocks of channels: conversions, convolutions and pools from blocks to blocks, and models
// whose images stay in blocks.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/prepare/prepare.hpp>

#include "against_f64.hpp"

using namespace dnnl_tests;
using random_inputs::Draw;

namespace {

Tensor to_blocked(const Tensor& x) {
  static const tenon::Op op("dnnl.to_blocked");
  return op.call<Tensor>(x);
}
Tensor from_blocked(const Tensor& x, int64_t channels) {
  static const tenon::Op op("dnnl.from_blocked");
  return op.call<Tensor>(x, channels);
}

}  // namespace

TEST_SUITE("dnnl/blocked") {
  TEST_CASE("blocks of any sizes come back bit by bit, with zeros behind the channels") {
    Draw draw(3);
    for (int round = 0; round < 100; ++round) {
      const int64_t channels = draw.between(1, 40);
      const Tensor x =
          draw.tensor({draw.between(0, 2), channels, draw.between(0, 7), draw.between(1, 9)},
                      tenon::f32, false);
      const Tensor blocked = to_blocked(x);
      CHECK(bits(from_blocked(blocked, channels)) == bits(x));
      if (x.numel() == 0) continue;
      const double sums = blocked.abs().sum().item<double>(), whole = x.abs().sum().item<double>();
      CHECK(sums == doctest::Approx(whole).epsilon(1e-5));
    }
  }

  TEST_CASE("random convolutions in blocks give what conv2d_fused gives in f64") {
    Draw draw(5);
    static const tenon::Op blocked("dnnl.conv2d_blocked"), fused("nn.functional.conv2d_fused");
    const std::vector<std::string> activations = {"none", "relu",      "leaky_relu",
                                                  "clip", "sigmoid",   "tanh",
                                                  "silu", "hardswish", "hardsigmoid"};
    for (int round = 0; round < 120; ++round) {
      CAPTURE(round);
      const bool depthwise = draw.chance(30), picture = !depthwise && draw.chance(15);
      const int64_t channels = picture ? draw.between(1, 3) : draw.between(1, 40),
                    features = depthwise ? channels : draw.between(1, 40),
                    groups = depthwise ? channels : 1, kernel = draw.between(1, 3);
      const bool winograd = !depthwise && !picture && kernel == 3 && draw.chance(50);
      const tenon::IntList none;
      const int64_t stride = winograd ? 1 : draw.between(1, 2), padding = draw.between(0, 1);
      const Tensor x = draw.tensor(
                       {draw.between(1, 3), channels, draw.between(3, 12), draw.between(3, 12)},
                       tenon::f32, false),
                   w = draw.tensor({features, channels / groups, kernel, kernel}, tenon::f32,
                                   false),
                   b = draw.chance(50) ? draw.tensor({features}, tenon::f32, false) : Tensor();
      const std::string activation = draw.of(activations);
      const double alpha = activation == "clip" || draw.chance(30) ? -0.5 : 0.2, beta = 0.5;
      const double scale = draw.chance(30) ? 1.5 : 1, shift = draw.chance(30) ? -0.25 : 0;
      const auto wide = [](const Tensor& t) { return t.defined() ? t.to(tenon::f64) : t; };
      const auto exact = [&](const Tensor& addend) {
        return fused.call<Tensor>(wide(x), wide(w), wide(b), wide(addend), activation, alpha, beta,
                                  scale, shift, stride, padding, int64_t{1}, groups);
      };
      Tensor addend;
      if (draw.chance(40)) addend = draw.tensor(exact(Tensor()).sizes(), tenon::f32, false);
      const Tensor expected = exact(addend);
      Tensor found;
      try {
        found = from_blocked(
            blocked.call<Tensor>(picture ? x : to_blocked(x), w, b,
                                 addend.defined() ? to_blocked(addend) : addend, activation, alpha,
                                 beta, scale, shift, stride, padding, int64_t{1}, groups, winograd),
            features);
      } catch (const tenon::ValueError& error) {
        CHECK(std::string(error.what()).find("kernel for these sizes") != std::string::npos);
        continue;
      }
      check_relative({found}, {expected}, winograd ? 2e-5 : 5e-6);
    }
  }

  TEST_CASE(
      "images of one channel give what conv2d_fused gives in f64, with zeros behind the features") {
    Draw draw(11);
    static const tenon::Op blocked("dnnl.conv2d_blocked"), fused("nn.functional.conv2d_fused");
    const std::vector<std::string> activations = {"none", "relu",      "leaky_relu",
                                                  "clip", "sigmoid",   "tanh",
                                                  "silu", "hardswish", "hardsigmoid"};
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      const int64_t features = draw.between(1, 35), stride = draw.between(1, 3),
                    padding = draw.between(0, 2), dilation = draw.between(1, 2);
      const Tensor x = draw.tensor(
                       {draw.between(1, 3), 1, draw.between(5, 12), draw.between(5, 48)},
                       tenon::f32, false),
                   w = draw.tensor({features, 1, draw.between(1, 3), draw.between(1, 3)},
                                   tenon::f32, false),
                   b = draw.chance(50) ? draw.tensor({features}, tenon::f32, false) : Tensor();
      const std::string activation = draw.of(activations);
      const double alpha = -0.5, beta = 0.5, scale = draw.chance(30) ? 1.5 : 1;
      const auto wide = [](const Tensor& t) { return t.defined() ? t.to(tenon::f64) : t; };
      const auto exact = [&](const Tensor& addend) {
        return fused.call<Tensor>(wide(x), wide(w), wide(b), wide(addend), activation, alpha, beta,
                                  scale, 0.0, stride, padding, dilation, int64_t{1});
      };
      Tensor addend;
      if (draw.chance(30)) addend = draw.tensor(exact(Tensor()).sizes(), tenon::f32, false);
      const Tensor expected = exact(addend);
      const auto found = blocked.call<Tensor>(
          x, w, b, addend.defined() ? to_blocked(addend) : addend, activation, alpha, beta, scale,
          0.0, stride, padding, dilation, int64_t{1}, false);
      check_relative({from_blocked(found, features)}, {expected}, 5e-6);
      // Activations of 0 that are not 0.
      if (activation == "sigmoid" || activation == "hardsigmoid") continue;
      const double sums = found.abs().sum().item<double>(),
                   whole = expected.abs().sum().item<double>();
      CHECK(sums == doctest::Approx(whole).epsilon(1e-5));
    }
  }

  TEST_CASE("a convolution with a pool gives the bits of the two ops") {
    Draw draw(13);
    static const tenon::Op blocked("dnnl.conv2d_blocked"), pool("dnnl.max_pool2d_blocked");
    const std::vector<std::string> activations = {"none", "relu", "clip", "silu"};
    int64_t compared = 0;
    for (int round = 0; round < 120; ++round) {
      CAPTURE(round);
      const bool plane = draw.chance(40);
      const int64_t channels = plane ? 1 : draw.between(1, 35), features = draw.between(1, 80),
                    batch = draw.chance(20) ? 40 : draw.between(1, 3), padding = draw.between(0, 1);
      Tensor x = draw.tensor({batch, channels, draw.between(5, 14), draw.between(5, 20)},
                             tenon::f32, false);
      if (draw.chance(20)) x = tenon::where(x > 0.9, x * std::nan(""), x);
      const Tensor w = draw.tensor({features, channels, 3, 3}, tenon::f32, false),
                   b = draw.chance(50) ? draw.tensor({features}, tenon::f32, false) : Tensor(),
                   image = plane ? x : to_blocked(x);
      const std::string activation = draw.of(activations);
      const double scale = draw.chance(30) ? 1.5 : 1;
      const int64_t size = draw.between(1, 3), step = draw.between(1, 3),
                    border = draw.between(0, size / 2), gap = draw.chance(30) ? 1 : 2;
      const bool ceil_mode = draw.chance(50);
      Tensor found, expected, addend;
      try {
        Tensor y = blocked.call<Tensor>(image, w, b, Tensor(), "none", 0.0, 0.0, 1.0, 0.0,
                                        int64_t{1}, padding);
        if (draw.chance(30)) addend = draw.tensor(y.sizes(), tenon::f32, false);
        y = blocked.call<Tensor>(image, w, b, addend, activation, -0.5, 0.5, scale, 0.0, int64_t{1},
                                 padding);
        expected = pool.call<Tensor>(y, size, step, border, gap, ceil_mode);
        found = blocked.call<Tensor>(image, w, b, addend, activation, -0.5, 0.5, scale, 0.0,
                                     int64_t{1}, padding, int64_t{1}, int64_t{1}, false, size, step,
                                     border, gap, ceil_mode);
      } catch (const tenon::ValueError& error) {
        const std::string text = error.what();
        CHECK((text.find("kernel for these sizes") != std::string::npos ||
               text.find("does not fit") != std::string::npos));
        continue;
      }
      ++compared;
      REQUIRE(found.sizes() == expected.sizes());
      CHECK(bits(found) == bits(expected));
    }
    CHECK(compared > 60);
  }

  TEST_CASE("infinities and NaN of an image of one channel reach no block's unused channels") {
    static const tenon::Op blocked("dnnl.conv2d_blocked");
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double value : {infinity, -infinity, std::nan("")}) {
      const Tensor x = tenon::full({1, 1, 4, 20}, value);
      const auto y = blocked.call<Tensor>(x, tenon::ones({3, 1, 2, 2}), Tensor(), Tensor(), "relu");
      const auto elements = y.to_vector<float>();
      const auto lanes = static_cast<size_t>(y.sizes().back());
      for (size_t i = 0; i < elements.size(); ++i) {
        const float element = elements[i];
        if (i % lanes >= 3 || value == -infinity)
          CHECK(element == 0);
        else
          CHECK((std::isnan(value) ? std::isnan(element) : element == value));
      }
    }
  }

#if defined(__x86_64__)  // for other processors oneDNN may take weights as they are
  // Elements that are written outside of any op show what is kept: the result is the old one.
  TEST_CASE("a weight that is packed for blocks is kept for them alone") {
    const tenon::NoGrad no_grad;
    static const tenon::Op blocked("dnnl.conv2d_blocked"), plain("nn.functional.conv2d");
    Draw draw(17);
    const Tensor x = draw.tensor({1, 128, 16, 16}, tenon::f32, false),
                 w = tenon::randn({128, 128, 3, 3}), image = to_blocked(x);
    const auto of_planes = [&] { return plain.call<Tensor>(x, w).abs().amax().item<double>(); };
    const auto of_blocks = [&] {
      return blocked.call<Tensor>(image, w).abs().amax().item<double>();
    };
    for (int times = 0; times < 2; ++times) CHECK(of_planes() > 0);
    std::fill_n(w.data<float>(), w.numel(), 0.F);
    CHECK(of_planes() > 0);  // it is kept
    w.copy_(tenon::randn({128, 128, 3, 3}));
    for (int times = 0; times < 2; ++times) CHECK(of_planes() > 0);
    for (int times = 0; times < 2; ++times) CHECK(of_blocks() > 0);
    std::fill_n(w.data<float>(), w.numel(), 0.F);
    CHECK(of_blocks() > 0);
    CHECK(of_planes() == 0);
  }
#endif

  TEST_CASE("NaN stays one behind activations that cut") {
    static const tenon::Op blocked("dnnl.conv2d_blocked");
    Tensor x = tenon::ones({1, 16, 6, 6});
    x.copy_(x * std::numeric_limits<double>::quiet_NaN());
    const Tensor w = tenon::ones({16, 16, 1, 1});
    for (const char* activation : {"relu", "clip", "hardsigmoid", "leaky_relu", "silu"}) {
      const Tensor y = from_blocked(
          blocked.call<Tensor>(to_blocked(x), w, Tensor(), Tensor(), activation, 0.0, 6.0), 16);
      CHECK(tenon::isnan(y).sum().item<int64_t>() == y.numel());
    }
  }

  TEST_CASE("random pools of maxima in blocks are those of planes, also of NaN and infinities") {
    Draw draw(7);
    static const tenon::Op blocked("dnnl.max_pool2d_blocked"), plain("nn.functional.max_pool2d");
    for (int round = 0; round < 60; ++round) {
      const int64_t channels = draw.between(1, 33), kernel = draw.between(1, 3);
      Tensor x =
          draw.tensor({2, channels, draw.between(3, 9), draw.between(3, 9)}, tenon::f32, false);
      const double infinity = std::numeric_limits<double>::infinity();
      if (round % 3 == 0) x = tenon::where(x > 0.5, x * infinity, x);
      if (round % 3 == 1) x = tenon::where(x > 0.5, x * std::nan(""), x);
      const int64_t stride = draw.between(1, 2), padding = draw.between(0, kernel / 2),
                    dilation = 1;
      const bool ceil_mode = draw.chance(50);
      const Tensor found = from_blocked(
          blocked.call<Tensor>(to_blocked(x), kernel, stride, padding, dilation, ceil_mode),
          channels);
      const Tensor expected = plain.call<Tensor>(x, kernel, stride, padding, dilation, ceil_mode);
      REQUIRE(found.sizes() == expected.sizes());
      const auto values = found.to_vector<float>(), others = expected.to_vector<float>();
      size_t wrong = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        const bool same =
            values[i] == others[i] || (std::isnan(values[i]) && std::isnan(others[i]));
        wrong += same ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("images stay in blocks from the first convolution of a model to its pool") {
    tenon::Module model = tenon::create_module(tenon::Json::parse(R"({"type": "Graph", "nodes": {
      "a": {"module": {"type": "Conv2d", "in_channels": 3, "out_channels": 24, "kernel_size": 3, "padding": 1}},
      "an": {"module": {"type": "BatchNorm2d", "num_features": 24}}, "ar": {"op": "relu"},
      "p": {"module": {"type": "MaxPool2d", "kernel_size": 2}},
      "b": {"module": {"type": "Conv2d", "in_channels": 24, "out_channels": 24, "kernel_size": 3, "padding": 1, "bias": false}},
      "bn": {"module": {"type": "BatchNorm2d", "num_features": 24}},
      "s": {"op": "add", "inputs": ["bn", "p"]}, "sr": {"op": "relu"},
      "c": {"module": {"type": "Conv2d", "in_channels": 24, "out_channels": 32, "kernel_size": 1}, "inputs": ["sr"]},
      "g": {"module": {"type": "AdaptiveAvgPool2d", "output_size": 1}}}})"));
    model.eval();
    const tenon::Prepared prepared = tenon::prepare(model);
    const tenon::NoGrad no_grad;
    const Tensor x = tenon::randn({2, 3, 32, 32}), expected = model(x), found = prepared(x);
    const double scale = expected.abs().amax().item<double>();
    CHECK((found - expected).abs().amax().item<double>() <= 1e-5 * scale);
    int64_t conversions = 0, convolutions = 0;
    const tenon::PreparedList list = prepared.lists().front();
    for (const tenon::PreparedCall& call : list.calls) {
      conversions += call.op == "dnnl.from_blocked" || call.op == "dnnl.to_blocked" ? 1 : 0;
      convolutions += call.op == "dnnl.conv2d_blocked" ? 1 : 0;
    }
    CHECK(convolutions == 3);
    CHECK(conversions == 1);
    const auto joined = [](const tenon::PreparedCall& call) {
      return call.op == "dnnl.max_pool2d_blocked";
    };
    CHECK(std::none_of(list.calls.begin(), list.calls.end(), joined));
  }

  TEST_CASE("elements are cut in blocks where that leaves zeros as they are") {
    const tenon::NoGrad no_grad;
    const Tensor x = tenon::randn({1, 3, 24, 24});
    for (const std::string low : {"-0.25", "0.25"}) {
      tenon::Module model = tenon::create_module(tenon::Json::parse(R"({"type": "Graph", "nodes": {
        "a": {"module": {"type": "Conv2d", "in_channels": 3, "out_channels": 24, "kernel_size": 3}},
        "t": {"op": "tanh"}, "k": {"op": "clamp", "min": )" + low + R"(},
        "b": {"module": {"type": "Conv2d", "in_channels": 24, "out_channels": 24, "kernel_size": 3}}}})"));
      model.eval();
      const tenon::Prepared prepared = tenon::prepare(model);
      const Tensor expected = model(x), found = prepared(x);
      const double scale = expected.abs().amax().item<double>();
      CHECK((found - expected).abs().amax().item<double>() <= 1e-5 * scale);
      int64_t conversions = 0;
      const tenon::PreparedList list = prepared.lists().front();
      for (const tenon::PreparedCall& call : list.calls)
        conversions += call.op == "dnnl.from_blocked" || call.op == "dnnl.to_blocked" ? 1 : 0;
      CHECK(conversions == (low == "-0.25" ? 1 : 3));
    }
  }
}
