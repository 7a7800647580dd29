// Summaries of models: shapes, parameters, multiply-adds, and shapes that do not fit.
#include <tenon/state/module_file.hpp>

#include "support.hpp"
#include "tests/support/emulation.hpp"

namespace {

training::ModelSummary summary_of(const Folder& folder, const std::string& sections) {
  const Json config =
      training::read_config(folder.write("m.json", "{\"schema_version\": 1,\n" + sections + "}"));
  tenon::config::apply(config, tenon::EagerPlugins::wait);
  const training::Outline outline = training::outline(config);
  REQUIRE(outline.faults.empty());
  return training::summarize_model(config, outline.data);
}
using Shapes = std::vector<std::vector<int64_t>>;

}  // namespace

TEST_SUITE("training model_summary") {
  TEST_CASE("each layer's shapes, parameters, bytes and multiply-adds, and their totals") {
    const Folder folder;
    const training::ModelSummary summary = summary_of(folder, R"(
"model": {"type": "Sequential", "layers": [
  {"type": "Conv2d", "in_channels": 1, "out_channels": 4, "kernel_size": 3},
  {"type": "BatchNorm2d", "num_features": 4, "frozen": true}, "ReLU", "Flatten",
  {"type": "Linear", "in_features": 144, "out_features": 10, "dtype": "float64"}]},
"input": {"shape": [1, 8, 8]})");
    CAPTURE(summary.faults.size());
    // The Linear's f64 does not fit.
    REQUIRE(summary.faults.size() == 1);
    CHECK(
        contains(summary.faults[0], "m.json:6:3: /model/layers/4: layer '4' (Linear): linear(): "));
    CHECK(summary.inputs == Shapes{{1, 1, 8, 8}});
    REQUIRE(summary.layers.size() == 6);
    CHECK(summary.layers[0].name == "");
    CHECK(summary.layers[1].name == "0");
    CHECK(summary.layers[1].type == "Conv2d");
    CHECK(summary.layers[1].outputs == Shapes{{1, 4, 6, 6}});
    CHECK(summary.layers[1].parameters == 40);
    CHECK(summary.layers[1].bytes == 160);
    CHECK(summary.layers[1].multiply_adds == 9 * 4 * 36);
    CHECK(summary.layers[2].parameters == 8);
    CHECK(summary.layers[2].bytes == 8 * 4 + 8 * 4 + 8);
    CHECK(summary.layers[4].outputs == Shapes{{1, 144}});
    CHECK(summary.layers[5].outputs.empty());
    CHECK(summary.layers[5].bytes == 1450 * 8);
    CHECK(summary.parameters == 1498);
    CHECK(summary.trainable == 1490);
  }

  TEST_CASE(
      "F-243 a shape error names layer, place and both shapes, in nested modules and Graphs") {
    const Folder folder;
    const training::ModelSummary nested = summary_of(folder, R"(
"model": {"type": "Sequential", "layers": ["ReLU", {"type": "Sequential", "layers": [
  {"type": "Linear", "in_features": 4, "out_features": 3}, "Tanh",
  {"type": "Linear", "in_features": 5, "out_features": 4}]}]},
"input": {"shape": [4]})");
    REQUIRE(nested.faults.size() == 1);
    CHECK(
        contains(nested.faults[0],
                 "m.json:5:3: /model/layers/1/layers/2: layer '1.2' (Linear): linear(): 'input' of "
                 "shape [1, 3] does not fit 'weight' of shape [4, 5]"));
    CHECK_FALSE(contains(nested.faults[0], "\n"));

    const training::ModelSummary graph = summary_of(folder, R"(
"model": {"type": "Graph", "inputs": ["a", "b"], "nodes": {
  "left": {"module": {"type": "Linear", "in_features": 4, "out_features": 3}, "inputs": ["a"]},
  "both": {"op": "add", "inputs": ["left", "b"]}}},
"input": [{"shape": [4]}, {"shape": [2]}])");
    REQUIRE(graph.faults.size() == 1);
    CHECK(contains(graph.faults[0], "m.json:5:11: /model/nodes/both: node 'both': add(): "));
    CHECK(contains(graph.faults[0], "[1, 3]"));
    CHECK(contains(graph.faults[0], "[1, 2]"));
    CHECK(graph.layers[1].outputs == Shapes{{1, 3}});
  }

  TEST_CASE("F-243 a Graph of ops that refuse zeros has no false fault") {
    const Folder folder;
    const training::ModelSummary summary = summary_of(folder, R"(
"model": {"type": "Graph", "inputs": ["a", "b"], "nodes": {
  "lower": {"op": "linalg.cholesky", "inputs": ["a"]},
  "inverse": {"op": "linalg.inv", "inputs": ["lower"]},
  "power": {"op": "linalg.matrix_power", "inputs": ["inverse"], "n": -2},
  "solved": {"op": "linalg.solve", "inputs": ["power", "b"]},
  "number": {"op": "linalg.cond", "inputs": ["a"], "p": 1}},
  "outputs": ["solved", "number"]},
"input": [{"shape": [3, 3]}, {"shape": [3, 2]}])");
    CHECK(summary.faults.empty());
    CHECK(summary.unknown.empty());
    CHECK(summary.layers[0].outputs == Shapes{{1, 3, 2}, {1}});
  }

  TEST_CASE("init, load, dtype and frozen of modules are part of the summary") {
    const Folder folder;
    tenon::seed_generator(3);
    const auto linear = [](const std::string& settings) {
      return R"({"type": "Linear", "in_features": 4, "out_features": 3)" + settings + "}";
    };
    tenon::state::save(tenon::create_module(Json::parse(linear(""))), folder.file("s.safetensors"));
    const auto summarize = [&](const std::string& settings) {
      return summary_of(folder, R"("model": {"type": "Sequential", "layers": [)" +
                                    linear(settings) + R"(]}, "input": {"shape": [4]})");
    };
    const training::ModelSummary sound =
        summarize(R"(, "load": "s.safetensors", "frozen": true, "init": {"*": "nn.init.zeros_"})");
    CHECK(sound.faults.empty());
    CHECK(sound.layers[1].outputs == Shapes{{1, 3}});
    CHECK(sound.parameters == 15);
    CHECK(sound.trainable == 0);
    CHECK(summarize(R"(, "dtype": "bfloat16")").bytes == 30);

    const auto fault = [&](const std::string& settings) {
      const training::ModelSummary summary = summarize(settings);
      REQUIRE(summary.faults.size() == 1);
      return summary.faults[0];
    };
    CHECK(contains(fault(R"(, "load": "gone.safetensors")"), "/model/layers/0/load: cannot read"));
    CHECK(contains(fault(R"(, "load": {"file": "s.safetensors", "prefix": "0."})"),
                   "/model/layers/0/load: no tensor of"));
    CHECK(contains(fault(R"(, "dtype": "int64")"),
                   "/model/layers/0/dtype: modules are converted to floating point dtypes only"));
    CHECK(contains(fault(R"(, "init": {"wieght": "nn.init.zeros_"})"),
                   "/model/layers/0/init: no parameter of Linear fits 'wieght'"));
    CHECK(contains(fault(R"(, "init": {"bias": {"type": "nn.init.constant_", "value": 1}})"),
                   "/model/layers/0/init"));
    // The loaded tensor has another size.
    folder.write("m.json", "");
    const std::string misfit = summary_of(folder, R"(
"model": {"type": "Linear", "in_features": 5, "out_features": 3, "load": "s.safetensors"},
"input": {"shape": [5]})")
                                   .faults[0];
    CHECK(contains(misfit, "/model/load: Error(s) in loading state_dict for Linear:"));
    CHECK(contains(misfit, "size mismatch for weight"));
  }

  TEST_CASE("what a module refuses when it is made is a fault with its place") {
    const Folder folder;
    const training::ModelSummary summary =
        summary_of(folder, R"("model": {"type": "Dropout", "p": 3}, "input": {"shape": [4]})");
    REQUIRE(summary.faults.size() == 1);
    CHECK(contains(summary.faults[0], "m.json:2:10: /model: "));
  }

  TEST_CASE("samples say what the input is; the batch is the training's") {
    use_trainers();
    const Folder folder;
    const std::string train = R"(, "loss": "mse_loss", "optimizer": {"type": "sgd",
      "learning_rate": 1}, "training": {"epochs": 1, "batch_size": 7})";
    folder.write("t.csv", "1,2,3\n4,5,6\n");
    const std::string linear =
        R"("model": {"type": "Linear", "in_features": 2, "out_features": 1})";
    CHECK(summary_of(folder, R"("data": {"path": "t.csv"}, )" + linear + train).inputs ==
          Shapes{{7, 2}});
    CHECK(summary_of(folder, R"("data": {"path": "t.csv", "shape": [1, 2]}, )" + linear + train)
              .layers[0]
              .outputs == Shapes{{7, 1, 1}});
    // A reader of another plugin is asked.
    CHECK(summary_of(folder, R"("data": {"type": "trainers.line", "count": 40},
      "model": {"type": "Linear", "in_features": 1, "out_features": 1})" +
                                 train)
              .inputs == Shapes{{7, 1}});
    const training::ModelSummary unknown = summary_of(folder, linear);
    CHECK(unknown.faults.empty());
    CHECK(contains(unknown.unknown, "\"input\""));
    CHECK(unknown.parameters == 3);
  }

  TEST_CASE("a shape that depends on elements is not known, and not a fault") {
    const Folder folder;
    const training::ModelSummary summary = summary_of(folder, R"(
"model": {"type": "Graph", "nodes": {"some": {"op": "nonzero"}, "all": {"op": "to",
  "dtype": "float32"}}}, "input": {"shape": [4], "dtype": "int64"})");
    CHECK(summary.faults.empty());
    CHECK(contains(summary.unknown, "node 'some': nonzero(): the shape of its result depends"));
  }

#if !defined(__SANITIZE_THREAD__)  // which has no room for such a mapping
  TEST_CASE("a model larger than the memory") {
    if (tenon_test::cannot_emulate(tenon_test::kPageRecords)) return;
    const Folder folder;
    const training::ModelSummary summary = summary_of(folder, R"(
"model": {"type": "Sequential", "layers": [
  {"type": "Linear", "in_features": 1000000, "out_features": 2000000},
  {"type": "Linear", "in_features": 2000000, "out_features": 10}]},
"input": {"shape": [1000000]})");
    CHECK(summary.faults.empty());
    CHECK(summary.parameters == 2000000LL * 1000001 + 20000010);
    CHECK(summary.multiply_adds == 2000000LL * 1000000 + 20000000);
    CHECK(summary.layers[0].outputs == Shapes{{1, 10}});
  }
#endif
}
