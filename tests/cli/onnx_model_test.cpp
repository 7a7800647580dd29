// ONNX files on the command line: plans of models that compute shapes, and a training by config.
#include <cmath>
#include <fstream>

#include <doctest/doctest.h>

#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "program.hpp"
#include "tests/plugins/onnx/model_writer.hpp"

namespace {

using model_writer::Graph, model_writer::Message, model_writer::node;

void save(const Workspace& folder, const std::string& name, const Message& model) {
  std::ofstream(folder.path(name), std::ios::binary) << model;
}

std::vector<float> weights(size_t count, float scale) {
  std::vector<float> values(count);
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = scale * (static_cast<float>(state >> 8U) / static_cast<float>(1U << 23U) - 1);
  }
  return values;
}

// x[N, 1, 8, 8] -> Conv, Relu, Flatten, Gemm -> y[N, 10], with the names of a PyTorch module.
Message digits_model() {
  return model_writer::model(
      {{node("Conv", {"x", "conv1.weight", "conv1.bias"}, {"a"}, {}, "", "conv1"),
        node("Relu", {"a"}, {"b"}), node("Flatten", {"b"}, {"c"}),
        node("Gemm", {"c", "head.fc.weight", "head.fc.bias"}, {"y"},
             {model_writer::attribute("transB", int64_t{1})}, "", "fc")},
       {"x"},
       {"y"},
       {model_writer::tensor("conv1.weight", {4, 1, 3, 3}, weights(36, 0.3F)),
        model_writer::tensor("conv1.bias", {4}, weights(4, 0.1F)),
        model_writer::tensor("head.fc.weight", {10, 144}, weights(1440, 0.1F)),
        model_writer::tensor("head.fc.bias", {10}, weights(10, 0.1F))}});
}

// The first lines of the digits of the examples.
void save_digits(const Workspace& folder, int lines) {
  std::ifstream all(TENON_DIGITS);
  std::string text, line;
  for (int i = 0; i < lines && std::getline(all, line); ++i) text += line + "\n";
  folder.write("digits.csv", text);
}

constexpr const char* kFineTune = R"({"schema_version": 1,
  "data": {"path": "digits.csv", "scale": 0.0625, "shape": [1, 8, 8]},
  "model": {"type": "net.onnx", "frozen": ["conv1.*"]},
  "loss": "cross_entropy", "optimizer": {"type": "adam", "learning_rate": 0.01},
  "training": {"epochs": 4, "batch_size": 32}, "output": {"weights": "tuned.safetensors"}})";

}  // namespace

TEST_SUITE("onnx models") {
  TEST_CASE("a config trains the layers of an ONNX file that it does not freeze") {
    const Workspace folder;
    save(folder, "net.onnx", digits_model());
    save_digits(folder, 300);
    folder.write("finetune.json", kFineTune);
    const Outcome trained = run_program_in(folder.path(), "run finetune.json -q --json");
    REQUIRE(trained.error == "");
    const tenon::Json epochs = trained.json()["history"];
    CHECK(epochs[3]["train_loss"].number() < 0.75 * epochs[int64_t{0}]["train_loss"].number());
    // The names are those of the file, so the weights load into the module that was exported.
    const auto tuned = tenon::state::load_tensors(folder.path("tuned.safetensors"));
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tuned) names.push_back(name);
    CHECK(names ==
          std::vector<std::string>{"conv1.weight", "conv1.bias", "head.fc.weight", "head.fc.bias"});
    for (const auto& [name, tensor] : tuned) {
      if (name == "conv1.weight") CHECK(tensor.to_vector<float>() == weights(36, 0.3F));
      if (name == "head.fc.weight") CHECK(tensor.to_vector<float>() != weights(1440, 0.1F));
    }
    CHECK(run_program_in(folder.path(), "run finetune.json --evaluate tuned.safetensors").code ==
          0);
  }

  TEST_CASE("a plan knows what a model computes of shapes, and says where elements decide") {
    const Workspace folder;
    // y: x in the shape [batch, everything else], which the model computes; z: as many numbers as x says.
    save(
        folder, "net.onnx",
        model_writer::model({{node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"batch"}),
                              node("Unsqueeze", {"batch", "axes"}, {"b"}),
                              node("Concat", {"b", "rest"}, {"target"},
                                   {model_writer::attribute("axis", int64_t{0})}),
                              node("Reshape", {"x", "target"}, {"y"}, {}, "", "flat")},
                             {"x"},
                             {"y"},
                             {model_writer::integer_tensor("zero", {}, {0}),
                              model_writer::integer_tensor("axes", {1}, {0}),
                              model_writer::integer_tensor("rest", {1}, {-1})}}));
    const Outcome plan = run_program_in(folder.path(), "plan net.onnx --input x=2x3x4");
    CHECK(plan.error == "");
    CHECK(contains(plan.out, "onnx.Model  [2, 12]"));
    save(folder, "unknown.onnx",
         model_writer::model(
             {{node("Cast", {"x"}, {"n"}, {model_writer::attribute("to", int64_t{7})}),
               node("Reshape", {"x", "n"}, {"y"}, {}, "", "flat")},
              {"x"},
              {"y"}}));
    const Outcome unknown = run_program_in(folder.path(), "plan unknown.onnx --input x=1");
    CHECK(unknown.code == 0);
    CHECK(contains(unknown.out, "node 'flat': argument 1 depends on elements"));
  }

  TEST_CASE("a check of a file has no fault for a branch not taken, nor for a cast to f32") {
    const Workspace folder;
    const auto branch = [](const std::string& weight) {
      return Graph{{node("MatMul", {"f", weight}, {"r_" + weight})}, {}, {"r_" + weight}};
    };
    save(folder, "net.onnx",
         model_writer::model(
             {{node("Cast", {"x"}, {"f"}, {model_writer::attribute("to", int64_t{1})}),
               node("Size", {"x"}, {"s"}), node("Greater", {"s", "two"}, {"many"}),
               node("If", {"many"}, {"y"},
                    {model_writer::graph_attribute("then_branch", branch("w").message()),
                     model_writer::graph_attribute("else_branch", branch("v").message())})},
              {"x"},
              {"y"},
              {model_writer::integer_tensor("two", {}, {2}),
               model_writer::tensor("w", {3, 2}, weights(6, 1)),
               model_writer::tensor("v", {3, 2}, weights(6, 1))}}));
    const Outcome checked = run_program_in(folder.path(), "check net.onnx --input x=2x3");
    CHECK(checked.code == 0);
    CHECK(contains(checked.out, "no faults"));
  }
}
