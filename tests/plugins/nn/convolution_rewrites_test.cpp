// Rewrites of convolutions in prepared models: each by values, beside the model as it is, with the
// convolutions of nn and with those of other plugins that are installed.
#include <algorithm>
#include <set>

#include <tenon/prepare/prepare.hpp>

#include "../random_inputs.hpp"

using namespace compare;
using random_inputs::Draw;
using tenon::Json;
using tenon::Module;
using tenon::Prepared;
using tenon::Tensor;

namespace {

Module graph(const std::string& nodes, const std::string& output) {
  Module module =
      tenon::create_module(Json::parse(R"({"type": "Graph", "inputs": ["x"], "nodes": {)" + nodes +
                                       R"(}, "outputs": [")" + output + R"("]})"));
  module.eval();
  return module;
}
std::string conv(const std::string& name, const std::string& input, int64_t in, int64_t out,
                 const std::string& more = "") {
  return "\"" + name + R"(": {"module": {"type": "Conv2d", "in_channels": )" + std::to_string(in) +
         R"(, "out_channels": )" + std::to_string(out) + more + R"(}, "inputs": [")" + input +
         "\"]}";
}
std::string op(const std::string& name, const std::string& what, const std::string& inputs) {
  return "\"" + name + R"(": {"op": ")" + what + R"(", "inputs": [)" + inputs + "]}";
}

struct Made {
  Prepared prepared;
  std::set<std::string> used, ops;

  // Compares the results, relative to the largest.
  Made(const Module& model, const Tensor& input, double bound,
       const tenon::PrepareOptions& options = {})
      : prepared(tenon::prepare(model, {}, options)) {
    const tenon::NoGrad no_grad;
    const Tensor expected = model(input);
    for (int run = 0; run < 3; ++run) {
      const Tensor found = prepared(input);
      REQUIRE(found.sizes() == expected.sizes());
      const double scale = expected.abs().amax().item<double>();
      CHECK((found - expected).abs().amax().item<double>() <= bound * std::max(scale, 1e-30));
    }
    const tenon::PreparedList list = prepared.lists().front();
    CHECK(list.reason == "");
    for (const auto& one : list.rewrites) used.insert(one.rule);
    for (const auto& one : list.calls) ops.insert(one.op);
  }
};

tenon::PrepareOptions without_blocks() {
  tenon::PrepareOptions options;
  options.rewrites.disable = {"dnnl.*"};
  return options;
}

}  // namespace

TEST_SUITE("nn/convolution_rewrites") {
  TEST_CASE("batch norm goes into the weights of convolutions and linear layers") {
    Draw draw(41);
    struct Layer {
      const char *type, *norm, *rule;
      std::vector<int64_t> shape;
    };
    for (const bool bias : {true, false}) {
      for (const Layer& layer :
           {Layer{"Conv1d", "BatchNorm1d", "nn.fold_batch_norm_conv1d", {2, 3, 9}},
            Layer{"Conv3d", "BatchNorm3d", "nn.fold_batch_norm_conv3d", {2, 3, 4, 5, 4}}}) {
        Module model = tenon::create_module(Json::parse(
            std::string(R"({"type": "Sequential", "layers": [{"type": ")") + layer.type +
            R"(", "in_channels": 3, "out_channels": 5, "kernel_size": 3, "bias": )" +
            (bias ? "true" : "false") + R"(}, {"type": ")" + layer.norm +
            R"(", "num_features": 5}]})"));
        model.train();
        for (int i = 0; i < 3; ++i) model(draw.tensor(layer.shape, tenon::f32, false));
        model.eval();
        const Made made(model, draw.tensor(layer.shape, tenon::f32, false), 1e-5);
        CHECK(made.used.count(layer.rule) == 1);
        CHECK(made.ops.count("nn.functional.batch_norm") == 0);
      }
      Module model = tenon::create_module(Json::parse(
          std::string(
              R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": 4, "out_features": 3, "bias": )") +
          (bias ? "true" : "false") + R"(}, {"type": "BatchNorm1d", "num_features": 3}]})"));
      model.train();
      for (int i = 0; i < 3; ++i) model(draw.tensor({6, 4}, tenon::f32, false));
      model.eval();
      const Made made(model, draw.tensor({6, 4}, tenon::f32, false), 1e-5);
      CHECK(made.used.count("nn.fold_batch_norm_linear") == 1);
    }
  }

  TEST_CASE("a batch norm in eval mode is listed again after the model ran as it is") {
    const Module model = graph(
        R"("a": {"module": {"type": "BatchNorm2d", "num_features": 2}, "inputs": ["x"]})", "a");
    const Prepared prepared = tenon::prepare(model);
    const tenon::NoGrad no_grad;
    const Tensor x = tenon::randn({1, 2, 3, 3});
    prepared(x);
    model(x);
    for (int i = 0; i < 3; ++i) prepared(x);
    CHECK(prepared.runs_as_is() <= 1);
  }

  TEST_CASE("random convolutions with an activation and a residual are one call") {
    Draw draw(43);
    const std::vector<std::string> activations = {"relu",
                                                  "sigmoid",
                                                  "tanh",
                                                  "nn.functional.silu",
                                                  "nn.functional.hardswish",
                                                  "nn.functional.relu6",
                                                  "nn.functional.leaky_relu",
                                                  "nn.functional.hardsigmoid",
                                                  ""};
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      const int64_t groups = draw.of(std::vector<int64_t>{1, 1, 2});
      const int64_t channels = groups * draw.between(1, 20), batch = draw.between(1, 3);
      const bool depthwise = draw.chance(25);
      const int64_t features = depthwise ? channels : groups * draw.between(1, 20);
      const std::string settings = R"(, "kernel_size": )" + std::to_string(draw.between(1, 3)) +
                                   R"(, "stride": )" + std::to_string(draw.between(1, 2)) +
                                   R"(, "padding": )" + std::to_string(draw.between(0, 1)) +
                                   R"(, "groups": )" +
                                   std::to_string(depthwise ? channels : groups) + R"(, "bias": )" +
                                   (draw.chance(50) ? "true" : "false");
      std::string nodes = conv("a", "x", channels, features, settings), last = "a";
      if (draw.chance(40)) {
        nodes += ", " + conv("b", "x", channels, features, settings) + ", " +
                 op("c", "add", R"("b", "a")");
        last = "c";
      }
      const std::string activation = draw.of(activations);
      if (!activation.empty()) {
        nodes += ", " + op("d", activation, "\"" + last + "\"");
        last = "d";
      }
      const int64_t height = draw.between(3, 20), width = draw.between(3, 20);
      const auto dtype = draw.chance(75) ? tenon::f32 : tenon::f64;
      Module model = graph(nodes, last);
      if (dtype == tenon::f64) model.to(tenon::f64);
      const Tensor x = draw.tensor({batch, channels, height, width}, dtype, false);
      const Made plain(model, x, 1e-5, without_blocks());
      CHECK(plain.ops == std::set<std::string>{"nn.functional.conv2d_fused"});
      const Made made(model, x, 2e-5);
    }
  }

  TEST_CASE("hard-swish and SiLU as exporters write them are parts of the convolution") {
    const std::string first = conv("a", "x", 4, 6, R"(, "kernel_size": 3)");
    const Tensor x = tenon::randn({2, 4, 9, 9});
    const Made silu(
        graph(first + ", " + op("s", "sigmoid", R"("a")") + ", " + op("m", "mul", R"("a", "s")"),
              "m"),
        x, 1e-6, without_blocks());
    CHECK(silu.ops == std::set<std::string>{"nn.functional.conv2d_fused"});
    const Made swish(graph(first + R"(, "p": {"op": "add", "inputs": ["a"], "other": 3},
                        "c": {"op": "clamp", "inputs": ["p"], "min": 0, "max": 6},
                        "m": {"op": "mul", "inputs": ["a", "c"]}, "d": {"op": "div", "inputs": ["m"], "other": 6})",
                           "d"),
                     x, 1e-5, without_blocks());
    CHECK(swish.ops == std::set<std::string>{"nn.functional.conv2d_fused"});
  }

  TEST_CASE("a result that is read in between stays as it is") {
    const Made made(graph(conv("a", "x", 4, 6, R"(, "kernel_size": 3)") + ", " +
                              op("r", "relu", R"("a")") + ", " + op("s", "add", R"("r", "a")"),
                          "s"),
                    tenon::randn({2, 4, 9, 9}), 1e-6, without_blocks());
    CHECK(made.ops.count("relu") == 1);
  }

  TEST_CASE("an unknown activation is refused by its name") {
    const Tensor x = tenon::randn({1, 2, 4, 4}), w = tenon::randn({2, 2, 3, 3});
    const tenon::Op fused("nn.functional.conv2d_fused");
    CHECK_THROWS_WITH_AS(fused.call<Tensor>(x, w, Tensor(), Tensor(), "swish"),
                         doctest::Contains("'activation' is 'swish'; there are 'none', 'relu'"),
                         tenon::ValueError);
  }
}
