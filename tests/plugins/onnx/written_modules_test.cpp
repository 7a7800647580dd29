// Modules as ONNX files, and back.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/tenon.hpp>

#include "model_writer.hpp"
#include "outputs.hpp"

using namespace tenon;

namespace {

struct ExportCase {
  const char* name;
  const char* module;  // JSON
  std::vector<std::vector<int64_t>> shapes;
  int64_t classes = 0;  // inputs are integers below it; 0: numbers
  int64_t since = 13;   // the first opset that has its operators
};

// Each module that nn ships and that has a meaning in inference.
const ExportCase kCases[] = {
    {"linear", R"({"type": "Linear", "in_features": 5, "out_features": 4})", {{3, 5}}},
    {"linear_rows", R"({"type": "Linear", "in_features": 5, "out_features": 4})", {{3, 2, 5}}},
    {"linear_without_bias",
     R"({"type": "Linear", "in_features": 5, "out_features": 4, "bias": false})",
     {{3, 5}}},
    {"sequential", R"({"type": "Sequential", "layers": ["Tanh", "ReLU", "Sigmoid"]})", {{3, 5}}},
    {"conv1d",
     R"({"type": "Conv1d", "in_channels": 2, "out_channels": 4, "kernel_size": 3, "stride": 2, "padding": 1})",
     {{3, 2, 9}}},
    {"conv2d",
     R"({"type": "Conv2d", "in_channels": 4, "out_channels": 6, "kernel_size": [3, 2], "dilation": [1, 2], "groups": 2, "bias": false})",
     {{2, 4, 7, 8}}},
    {"conv2d_same",
     R"({"type": "Conv2d", "in_channels": 2, "out_channels": 3, "kernel_size": 4, "padding": "same"})",
     {{2, 2, 6, 6}}},
    {"conv3d",
     R"({"type": "Conv3d", "in_channels": 1, "out_channels": 2, "kernel_size": 2})",
     {{2, 1, 4, 4, 4}}},
    {"conv_transpose1d",
     R"({"type": "ConvTranspose1d", "in_channels": 2, "out_channels": 3, "kernel_size": 3, "stride": 2, "padding": 1, "output_padding": 1})",
     {{2, 2, 5}}},
    {"conv_transpose2d",
     R"({"type": "ConvTranspose2d", "in_channels": 4, "out_channels": 2, "kernel_size": 3, "stride": 2, "groups": 2})",
     {{2, 4, 4, 4}}},
    {"batch_norm1d", R"({"type": "BatchNorm1d", "num_features": 4})", {{3, 4}}},
    {"batch_norm2d",
     R"({"type": "BatchNorm2d", "num_features": 3, "momentum": 0.3, "eps": 0.01})",
     {{2, 3, 4, 4}}},
    {"batch_norm2d_plain",
     R"({"type": "BatchNorm2d", "num_features": 3, "affine": false})",
     {{2, 3, 4, 4}}},
    {"instance_norm2d", R"({"type": "InstanceNorm2d", "num_features": 3})", {{2, 3, 4, 4}}},
    {"instance_norm1d_affine",
     R"({"type": "InstanceNorm1d", "num_features": 3, "affine": true})",
     {{2, 3, 7}}},
    {"layer_norm", R"({"type": "LayerNorm", "normalized_shape": [4, 5]})", {{3, 4, 5}}},
    {"layer_norm_plain",
     R"({"type": "LayerNorm", "normalized_shape": [5], "elementwise_affine": false})",
     {{3, 4, 5}}},
    {"rms_norm", R"({"type": "RMSNorm", "normalized_shape": [5]})", {{3, 5}}},
    {"group_norm", R"({"type": "GroupNorm", "num_groups": 2, "num_channels": 4})", {{3, 4, 5}}},
    {"max_pool1d",
     R"({"type": "MaxPool1d", "kernel_size": 3, "stride": 2, "padding": 1})",
     {{2, 3, 9}}},
    {"max_pool2d", R"({"type": "MaxPool2d", "kernel_size": 2})", {{2, 3, 6, 6}}},
    {"max_pool3d", R"({"type": "MaxPool3d", "kernel_size": 2})", {{2, 3, 4, 4, 4}}},
    {"avg_pool1d", R"({"type": "AvgPool1d", "kernel_size": 2})", {{2, 3, 8}}},
    {"avg_pool2d",
     R"({"type": "AvgPool2d", "kernel_size": 3, "stride": 2, "padding": 1})",
     {{2, 3, 7, 7}}},
    {"adaptive_avg_pool2d", R"({"type": "AdaptiveAvgPool2d", "output_size": 1})", {{2, 3, 6, 6}}},
    {"adaptive_avg_pool2d_grid",
     R"({"type": "AdaptiveAvgPool2d", "output_size": [3, 2]})",
     {{2, 3, 6, 6}}},
    {"adaptive_max_pool2d", R"({"type": "AdaptiveMaxPool2d", "output_size": 1})", {{2, 3, 6, 6}}},
    {"embedding", R"({"type": "Embedding", "num_embeddings": 7, "embedding_dim": 3})", {{2, 4}}, 7},
    {"lstm", R"({"type": "LSTM", "input_size": 3, "hidden_size": 4})", {{5, 2, 3}}},
    {"lstm_layers",
     R"({"type": "LSTM", "input_size": 3, "hidden_size": 4, "num_layers": 2, "bidirectional": true, "batch_first": true})",
     {{2, 5, 3}}},
    {"lstm_without_bias",
     R"({"type": "LSTM", "input_size": 3, "hidden_size": 4, "bias": false, "batch_first": true})",
     {{2, 5, 3}}},
    {"gru",
     R"({"type": "GRU", "input_size": 3, "hidden_size": 4, "num_layers": 2, "batch_first": true})",
     {{2, 5, 3}}},
    {"gru_both",
     R"({"type": "GRU", "input_size": 3, "hidden_size": 4, "bidirectional": true, "batch_first": true})",
     {{2, 5, 3}}},
    {"rnn",
     R"({"type": "RNN", "input_size": 3, "hidden_size": 4, "batch_first": true})",
     {{2, 5, 3}}},
    {"attention",
     R"({"type": "MultiheadAttention", "embed_dim": 8, "num_heads": 2, "batch_first": true})",
     {{2, 5, 8}}},
    {"encoder_layer",
     R"({"type": "TransformerEncoderLayer", "d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": true})",
     {{2, 5, 8}}},
    {"positions",
     R"({"type": "PositionalEncoding", "d_model": 8, "max_len": 10, "batch_first": true})",
     {{2, 5, 8}}},
    {"learned_positions",
     R"({"type": "LearnedPositionalEncoding", "d_model": 8, "max_len": 10, "batch_first": true})",
     {{2, 5, 8}}},
    {"dropout", R"({"type": "Sequential", "layers": ["Dropout", "Dropout2d", "Tanh"]})", {{3, 5}}},
    {"flatten", R"({"type": "Flatten"})", {{3, 2, 4}}},
    {"unflatten", R"({"type": "Unflatten", "dim": 1, "unflattened_size": [2, 3]})", {{3, 6}}},
    {"identity", R"({"type": "Identity"})", {{3, 2}}},
    {"residual", R"({"type": "Residual", "body": "Tanh"})", {{3, 2}}},
    {"parallel", R"({"type": "Parallel", "branches": {"a": "Tanh", "b": "ReLU"}})", {{3, 2}}},
    {"relu6", R"("ReLU6")", {{3, 5}}},
    {"silu", R"("SiLU")", {{3, 5}}},
    {"mish", R"("Mish")", {{3, 5}}},
    {"selu", R"("SELU")", {{3, 5}}},
    {"celu", R"({"type": "CELU", "alpha": 0.7})", {{3, 5}}},
    {"elu", R"({"type": "ELU", "alpha": 0.7})", {{3, 5}}},
    {"leaky_relu", R"({"type": "LeakyReLU", "negative_slope": 0.3})", {{3, 5}}},
    {"softplus", R"({"type": "Softplus", "beta": 2})", {{3, 5}}},
    {"softsign", R"("Softsign")", {{3, 5}}},
    {"tanhshrink", R"("Tanhshrink")", {{3, 5}}},
    {"softshrink", R"({"type": "Softshrink", "lambd": 0.2})", {{3, 5}}},
    {"hardshrink", R"({"type": "Hardshrink", "lambd": 0.2})", {{3, 5}}},
    {"hardsigmoid", R"("Hardsigmoid")", {{3, 5}}},
    {"hardswish", R"("Hardswish")", {{3, 5}}},
    {"hardtanh", R"({"type": "Hardtanh", "min_val": -0.5, "max_val": 0.5})", {{3, 5}}},
    {"log_sigmoid", R"("LogSigmoid")", {{3, 5}}},
    {"threshold", R"({"type": "Threshold", "threshold": 0.1, "value": -1})", {{3, 5}}},
    {"glu", R"({"type": "GLU", "dim": 1})", {{3, 4}}},
    {"softmax", R"({"type": "Softmax", "dim": 1})", {{3, 5}}},
    {"log_softmax", R"({"type": "LogSoftmax", "dim": -1})", {{3, 5}}},
    {"softmin", R"({"type": "Softmin", "dim": 1})", {{3, 5}}},
    {"gelu", R"("GELU")", {{3, 5}}},
    {"gelu_tanh", R"({"type": "GELU", "approximate": "tanh"})", {{3, 5}}},
    {"prelu", R"({"type": "PReLU", "num_parameters": 3})", {{2, 3, 4}}},
    {"adaptive_avg_pool1d", R"({"type": "AdaptiveAvgPool1d", "output_size": 2})", {{2, 3, 6}}},
    {"adaptive_max_pool3d",
     R"({"type": "AdaptiveMaxPool3d", "output_size": 2})",
     {{2, 2, 4, 4, 4}}},
    {"avg_pool3d", R"({"type": "AvgPool3d", "kernel_size": 2})", {{2, 2, 4, 4, 4}}},
    {"max_pool2d_ceil",
     R"({"type": "MaxPool2d", "kernel_size": 2, "ceil_mode": true})",
     {{2, 2, 5, 5}}},
    {"batch_norm3d", R"({"type": "BatchNorm3d", "num_features": 2})", {{2, 2, 3, 3, 3}}},
    {"sync_batch_norm", R"({"type": "SyncBatchNorm", "num_features": 2})", {{2, 2, 3, 3}}},
    {"instance_norm3d", R"({"type": "InstanceNorm3d", "num_features": 2})", {{2, 2, 3, 3, 3}}},
    {"bilinear",
     R"({"type": "Bilinear", "in1_features": 3, "in2_features": 4, "out_features": 2})",
     {{2, 3}, {2, 4}}},
    {"conv_transpose3d",
     R"({"type": "ConvTranspose3d", "in_channels": 1, "out_channels": 2, "kernel_size": 2})",
     {{2, 1, 3, 3, 3}}},
    {"circular_pad", R"({"type": "CircularPad1d", "padding": 1})", {{2, 2, 5}}},
    {"reflection_pad", R"({"type": "ReflectionPad2d", "padding": [1, 2, 0, 1]})", {{2, 2, 5, 5}}},
    {"replication_pad", R"({"type": "ReplicationPad2d", "padding": 1})", {{2, 2, 5, 5}}},
    {"zero_pad", R"({"type": "ZeroPad2d", "padding": [2, 0, 1, 0]})", {{2, 2, 5, 5}}},
    {"pixel_shuffle", R"({"type": "PixelShuffle", "upscale_factor": 2})", {{2, 4, 3, 3}}},
    {"pixel_unshuffle", R"({"type": "PixelUnshuffle", "downscale_factor": 2})", {{2, 1, 4, 4}}},
    {"upsample", R"({"type": "Upsample", "scale_factor": 2})", {{2, 2, 3, 3}}},
    {"upsample_bilinear",
     R"({"type": "Upsample", "scale_factor": 2, "mode": "bilinear"})",
     {{2, 2, 3, 3}}},
    {"upsample_corners",
     R"({"type": "Upsample", "size": [5, 5], "mode": "bilinear", "align_corners": true})",
     {{2, 2, 3, 3}}},
    {"encoder",
     R"({"type": "TransformerEncoder", "num_layers": 2, "encoder_layer": {"type":
         "TransformerEncoderLayer", "d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": true}})",
     {{2, 5, 8}}},
    {"decoder_layer",
     R"({"type": "TransformerDecoderLayer", "d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": true})",
     {{2, 5, 8}, {2, 4, 8}}},
    {"joined",
     R"({"type": "Sequential", "layers": [{"type": "Conv2d", "in_channels": 1, "out_channels": 2, "kernel_size": 3},
         {"type": "BatchNorm2d", "num_features": 2}, "ReLU", {"type": "MaxPool2d", "kernel_size": 2}]})",
     {{2, 1, 6, 6}}},
    {"graph",
     R"({"type": "Graph", "inputs": ["a", "b"], "nodes": {"s": {"op": "add", "inputs": ["a", "b"]}, "t": {"op": "tanh"}, "l": {"module": {"type": "Linear", "in_features": 2, "out_features": 3}, "inputs": ["s"]}}, "outputs": ["l", "t"]})",
     {{3, 2}, {3, 2}}},
    {"unfold",
     R"({"type": "Graph", "inputs": ["x"], "nodes": {"u": {"op": "nn.functional.unfold", "inputs": ["x"],
         "kernel_size": [2, 3], "dilation": [2, 1], "padding": [1, 0], "stride": [1, 2]}}, "outputs": ["u"]})",
     {{2, 3, 5, 6}}},
    {"unfold_square",
     R"({"type": "Graph", "inputs": ["x"], "nodes": {"u": {"op": "nn.functional.unfold", "inputs": ["x"],
         "kernel_size": 2, "padding": 1}}, "outputs": ["u"]})",
     {{2, 1, 4, 3}}},
    {"fold",
     R"({"type": "Graph", "inputs": ["x"], "nodes": {"u": {"op": "nn.functional.fold", "inputs": ["x"],
         "output_size": [4, 5], "kernel_size": [2, 3], "padding": [1, 0], "stride": 2}}, "outputs": ["u"]})",
     {{2, 12, 6}},
     0,
     18},
};

Tensor random_input(const std::vector<int64_t>& shape, int64_t classes, std::mt19937& engine) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<double> numbers(static_cast<size_t>(count));
  for (double& number : numbers) {
    number = classes > 0 ? static_cast<double>(engine() % static_cast<uint32_t>(classes))
                         : std::uniform_real_distribution<double>(-2, 2)(engine);
  }
  const Tensor made = from_range(numbers.begin(), numbers.end()).to(classes > 0 ? i64 : f32);
  return made.reshape(shape);
}

std::vector<Tensor> random_inputs(const ExportCase& one, std::mt19937& engine) {
  std::vector<Tensor> inputs;
  for (const std::vector<int64_t>& shape : one.shapes)
    inputs.push_back(random_input(shape, one.classes, engine));
  return inputs;
}

std::string export_to(const std::string& path, const Module& model,
                      const std::vector<Tensor>& inputs, int64_t opset = 17,
                      const std::string& dynamic = "batch") {
  return Module::create("onnx.Exporter", arg("model") = model, arg("path") = path,
                        arg("opset") = opset, arg("dynamic") = dynamic)
      .call<Value>(inputs)
      .text();
}

size_t result_count(const Module& model) {
  return static_cast<size_t>(parse_schema(model.forward_schema())["returns"].size());
}

// Weights and statistics that are not what a module begins with.
Module make_module(const ExportCase& one) {
  const Json document = Json::parse(one.module);
  Module module = document.is_text() ? Module::create(document.text()) : create_module(document);
  for (auto& [name, buffer] : module.named_buffers()) {
    if (name.find("running") != std::string::npos) Op("uniform_").call<Tensor>(buffer, 0.5, 1.5);
  }
  module.eval();
  return module;
}

void check_same(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                double most) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    CHECK(outputs::difference(found[i], expected[i]) <= most);
}

}  // namespace

TEST_CASE("each shipped module is exported, and computes the same when it is read again") {
  const model_writer::Folder folder;
  const NoGrad no_grad;
  std::mt19937 engine(7);
  for (const ExportCase& one : kCases) {
    for (const int64_t opset : {13, 17, 20, 23}) {
      if (opset < one.since) continue;
      CAPTURE(std::string(one.name) + " in opset " + std::to_string(opset));
      const Module module = make_module(one);
      const std::vector<Tensor> inputs = random_inputs(one, engine);
      const std::string path = folder.write("model.onnx", "");
      std::string error;
      try {
        export_to(path, module, inputs, opset);
        const Module again = Module::create("onnx.Model", arg("path") = path);
        const size_t count = result_count(module);
        check_same(outputs::call(again, inputs, count), outputs::call(module, inputs, count), 2e-6);
      } catch (const Error& thrown) {
        error = thrown.what();
      }
      CHECK(error == "");
    }
  }
}

TEST_CASE(
    "weights are written to a file beside the model, and come along when it is written again") {
  const model_writer::Folder folder;
  const NoGrad no_grad;
  const Module module = create_module(Json::parse(
      R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": 40, "out_features": 30},
          "Tanh", {"type": "Linear", "in_features": 30, "out_features": 20}]})"));
  const Tensor input = Op("randn").call<Tensor>(std::vector<int64_t>{3, 40});
  const std::string first = folder.write("first.onnx", "");
  const auto write = [&](const Module& model, const std::string& path) {
    const std::vector<Tensor> inputs{input};
    return Module::create("onnx.Exporter", arg("model") = model, arg("path") = path,
                          arg("external") = true)
        .call<std::string>(inputs);
  };
  CHECK(write(module, first) == "opset 17, weights in " + first + ".data");
  CHECK(std::filesystem::file_size(first) < 2000);
  CHECK(std::filesystem::file_size(first + ".data") > 4 * (40 * 30 + 30 * 20));
  const Module again = Module::create("onnx.Model", arg("path") = first);
  check_same(outputs::call(again, {input}, 1), outputs::call(module, {input}, 1), 2e-6);

  const std::string second = folder.write("second.onnx", "");
  CHECK(write(again, second) == "opset 17, weights in " + second + ".data");
  std::filesystem::remove(first + ".data");
  const Module third = Module::create("onnx.Model", arg("path") = second);
  check_same(outputs::call(third, {input}, 1), outputs::call(module, {input}, 1), 2e-6);
}

TEST_CASE("ONNX Runtime computes exported modules, for batches of another size") {
  const char* models = std::getenv("TENON_MODELS");
  const std::string modules =
      std::string(models != nullptr ? models : TENON_ONNX_MODELS) + "/node_modules";
  if (!std::filesystem::exists(modules + "/onnxruntime-node")) {
    MESSAGE("skipped: tools/setup --models has not installed ONNX Runtime");
    return;
  }
  const model_writer::Folder folder;
  const std::string root = std::filesystem::path(folder.write("operators.txt", "")).parent_path();
  const NoGrad no_grad;
  std::mt19937 engine(11);
  std::string lines;
  std::vector<std::pair<std::string, std::vector<Tensor>>> expected;
  for (ExportCase one : kCases) {
    for (const int64_t opset : {14, 17, 21}) {
      if (opset < one.since) continue;
      const std::string name = std::string(one.name) + "_" + std::to_string(opset);
      CAPTURE(name);
      const Module module = make_module(one);
      std::filesystem::create_directories(root + "/" + name);
      export_to(root + "/" + name + "/model.onnx", module, random_inputs(one, engine), opset);
      ExportCase other = one;
      for (std::vector<int64_t>& shape : other.shapes) shape[0] = 4;
      const std::vector<Tensor> inputs = random_inputs(other, engine);
      for (size_t i = 0; i < inputs.size(); ++i)
        Op("data.write_npy")
            .call<void>(root + "/" + name + "/input_" + std::to_string(i) + ".npy", inputs[i]);
      expected.emplace_back(name, outputs::call(module, inputs, result_count(module)));
      lines += name + "\n";
    }
  }
  folder.write("operators.txt", lines);
  const std::string command = std::string("node '") + TENON_ONNX_SOURCES +
                              "/operator_outputs.js' '" + modules + "' '" + root + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  for (const auto& [name, tensors] : expected) {
    CAPTURE(name);
    check_same(outputs::read_all(root + "/" + name, "output", tensors.size()), tensors, 1e-5);
  }
  const std::string check =
      "/usr/bin/python3 '" + std::string(TENON_ONNX_SOURCES) + "/check_models.py' '" + root + "'";
  if (std::system("/usr/bin/python3 -c 'import onnx' >/dev/null 2>&1") == 0)
    CHECK(std::system(check.c_str()) == 0);
  else
    MESSAGE("the checker of ONNX is not run: the package python3-onnx is not installed");
}
