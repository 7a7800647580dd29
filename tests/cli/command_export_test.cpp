// tenon export: the model of a config as a file of another format.
#include <filesystem>

#include <doctest/doctest.h>

#include <tenon/state/numpy_file.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "program.hpp"

namespace {

// A training of the digits; `model` and `output` are JSON.
std::string config(const std::string& model, const std::string& output) {
  return R"({"schema_version": 1, "seed": 3, "data": {"path": ")" TENON_DIGITS R"(", "targets": -1,
"scale": 0.0625, "shape": [1, 8, 8]}, "split": {"test": 0.2}, "model": )" +
         model + R"(, "loss": "cross_entropy", "metrics": ["accuracy"],
"optimizer": {"type": "adamw", "learning_rate": 0.005},
"training": {"epochs": 2, "batch_size": 64}, "output": )" +
         output + "}";
}
constexpr auto kConvolutional = R"({"type": "Sequential", "layers": [
  {"type": "Conv2d", "in_channels": 1, "out_channels": 8, "kernel_size": 3, "padding": 1}, "ReLU",
  {"type": "MaxPool2d", "kernel_size": 2}, "Flatten",
  {"type": "Linear", "in_features": 128, "out_features": 10}]})";
std::string read_from(const std::string& file) {
  return R"({"type": "onnx.Model", "path": ")" + file + "\"}";
}

}  // namespace

TEST_SUITE("export") {
  TEST_CASE("an ONNX model is trained further by a config, and exported again") {
    const Workspace folder;
    folder.write("made.json", config(kConvolutional, "{}"));
    folder.write("tune.json",
                 config(read_from("made.onnx"), R"({"weights": "tuned.safetensors"})"));
    folder.write("again.json", config(read_from("tuned.onnx"), "{}"));
    const auto run = [&](const std::string& arguments) {
      const Outcome outcome = run_program_in(folder.path(), arguments);
      CAPTURE(arguments);
      REQUIRE(outcome.code == 0);
      return outcome.out;
    };
    CHECK(run("export made.json made.onnx") ==
          "wrote made.onnx: opset 17, weights as the config has them\n");
    run("run tune.json");
    const std::string text = run("export tune.json tuned.onnx");
    CHECK(contains(text, "wrote tuned.onnx: opset 17, weights of "));
    CHECK(folder.read("tuned.onnx") != folder.read("made.onnx"));
    CHECK(folder.read("tuned.onnx").size() == folder.read("made.onnx").size());
    // The weights are in the file: the trained model and the one that is read compute the same.
    run("predict tune.json " TENON_DIGITS " -o trained.csv");
    run("export again.json none.onnx");
    CHECK(folder.read("none.onnx") == folder.read("tuned.onnx"));
    run("convert tuned.onnx weights.npz");
    run("predict again.json " TENON_DIGITS " -o read.csv --weights tuned.safetensors");
    CHECK(folder.read("read.csv") == folder.read("trained.csv"));
    const auto weights = tenon::state::load_npz(folder.path("weights.npz").string(), {"0.weight"});
    const auto trained =
        tenon::state::load_tensors(folder.path("tuned.safetensors").string(), {"0.weight"});
    CHECK(weights[0].second.to_vector<float>() == trained[0].second.to_vector<float>());
  }

  TEST_CASE("the file is named for what is wrong with it, before the model is made") {
    const Workspace folder;
    folder.write("c.json", R"({"schema_version": 1, "model": "Tanh", "input": {"shape": [3]}})");
    folder.write("none.json", R"({"schema_version": 1})");
    folder.write("bare.json", R"({"schema_version": 1, "model": "Tanh"})");
    const auto fault = [&](const std::string& arguments, int code) {
      const Outcome outcome = run_program_in(folder.path(), "export " + arguments);
      CAPTURE(arguments);
      CHECK(outcome.code == code);
      return outcome.error;
    };
    CHECK(contains(fault("c.json model.tflite", 2),
                   "no plugin writes 'model.tflite': the ending must be one of .onnx"));
    CHECK(contains(fault("c.json c.json", 1), "cannot write 'c.json'"));
    CHECK(contains(fault("c.json nowhere/a.onnx", 1),
                   "cannot write 'nowhere/a.onnx': 'nowhere' is not an existing folder"));
    CHECK(contains(fault("none.json a.onnx", 1), "the config has no \"model\""));
    CHECK(contains(fault("bare.json a.onnx", 1), "there are no inputs to call it with"));
    CHECK(contains(fault("c.json a.onnx --opset 9", 1), "opset must be from 13 to 25, got 9"));
    CHECK(fault("c.json a.onnx --dynamic n --batch 2", 2) != "");
    CHECK(!std::filesystem::exists(folder.path("a.onnx")));
  }

  TEST_CASE("the dimension of the batch has a name, or one size") {
    const Workspace folder;
    folder.write("c.json", R"({"schema_version": 1, "model": "Tanh", "input": {"shape": [3]}})");
    CHECK(run_program_in(folder.path(), "export c.json a.onnx --dynamic samples").code == 0);
    CHECK(contains(folder.read("a.onnx"), "samples"));
    CHECK(run_program_in(folder.path(), "export c.json b.onnx --batch 4 --opset 20").code == 0);
    CHECK(!contains(folder.read("b.onnx"), "batch"));
  }

  TEST_CASE("a plugin writes files of another ending") {
    const Workspace folder;
    folder.write("c.json", R"({"schema_version": 1, "input": {"shape": [3]},
"model": {"type": "Linear", "in_features": 3, "out_features": 2}})");
    const std::string path = std::string("--plugin-path ") + TENON_FIXTURES + "/conversions ";
    const Outcome made = run_program_in(folder.path(), path + "export c.json model.count");
    CHECK(made.error == "");
    CHECK(made.out == "wrote model.count: 8 parameters, weights as the config has them\n");
    CHECK(folder.read("model.count") == "8\n");
    CHECK(run_program_in(folder.path(), path + "export c.json m.count --opset 9").code == 1);
  }
}
