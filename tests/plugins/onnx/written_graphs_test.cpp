// Random graphs as ONNX files, files that are written again, and what cannot be exported.
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>
#include <tenon/runtime.hpp>
#include <tenon/tenon.hpp>

#include "../compare.hpp"
#include "model_writer.hpp"
#include "outputs.hpp"

using namespace tenon;
using namespace model_writer;
using compare::refusal;
using model_writer::Folder;

namespace {

Module exporter(const Module& model, const std::string& path,
                const std::string& dynamic = "batch") {
  return Module::create("onnx.Exporter", arg("model") = model, arg("path") = path,
                        arg("dynamic") = dynamic);
}
void export_to(const std::string& path, const Module& model, const std::vector<Tensor>& inputs,
               const std::string& dynamic = "batch") {
  exporter(model, path, dynamic).call<Value>(inputs);
}
Module load(const std::string& path) { return Module::create("onnx.Model", arg("path") = path); }
Module graph_of(const std::string& json) { return create_module(Json::parse(json)); }
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Nodes whose results stay finite; each reads earlier ones of the shape that it needs.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : engine_(seed) {}

  std::string json(int nodes) {
    names_ = {{"input", {0, 4, 6}}};
    std::string text;
    for (int i = 0; i < nodes; ++i)
      text +=
          (i > 0 ? ", \"n" : "\"n") + std::to_string(i) + "\": " + node("n" + std::to_string(i));
    return R"({"type": "Graph", "nodes": {)" + text + R"(}, "outputs": [")" + names_.back().first +
           "\"]}";
  }

 private:
  using Shape = std::vector<int64_t>;  // 0: the batch

  size_t draw(size_t below) { return engine_() % below; }
  std::string node(const std::string& name) {
    const auto [input, shape] = names_[draw(names_.size())];
    const std::string rank = std::to_string(shape.size());
    const auto of = [&](const std::string& op, const std::string& rest) {
      return R"({"op": ")" + op + R"(", "inputs": [")" + input + "\"]" + rest + "}";
    };
    static const char* const unary[] = {"tanh",
                                        "sigmoid",
                                        "relu",
                                        "neg",
                                        "abs",
                                        "sin",
                                        "cos",
                                        "square",
                                        "erf",
                                        "nn.functional.silu",
                                        "nn.functional.gelu",
                                        "nn.functional.mish",
                                        "nn.functional.softsign",
                                        "nn.functional.hardswish",
                                        "clone"};
    static const char* const binary[] = {"add", "sub", "mul", "maximum", "minimum"};
    Shape made = shape;
    std::string text;
    switch (draw(9)) {
      case 0: {
        std::vector<std::string> same;
        for (const auto& [other, sizes] : names_) {
          if (sizes == shape) same.push_back(other);
        }
        text = R"({"op": ")" + std::string(binary[draw(std::size(binary))]) + R"(", "inputs": [")" +
               input + "\", \"" + same[draw(same.size())] + "\"]}";
        break;
      }
      case 1:
        text = of(binary[draw(std::size(binary))], R"(, "other": 0.25)");
        break;
      case 2:
        text = of("add", R"(, "other": -1, "alpha": 0.5)");
        break;
      case 3:
        if (shape.size() == 3) {
          std::swap(made[1], made[2]);
          text = of("transpose", R"(, "dim0": 1, "dim1": -1)");
        } else {
          text = of("unsqueeze", R"(, "dim": 1)");
          made.insert(made.begin() + 1, 1);
        }
        break;
      case 4:
        text = of("nn.functional.softmax", R"(, "dim": -1)");
        break;
      case 5:
        text = of("mean", R"(, "dim": [-1], "keepdim": true)");
        made.back() = 1;
        break;
      case 6:
        if (made.back() > 1) {
          made.back() -= 1;
          text =
              of("narrow", R"(, "dim": -1, "start": 1, "length": )" + std::to_string(made.back()));
          break;
        }
        text = of("cumsum", R"(, "dim": )" + std::to_string(shape.size() - 1));
        break;
      case 7:
        if (shape.size() == 3) {
          made = {0, shape[1] * shape[2]};
          text = of("flatten", R"(, "start_dim": 1)");
          break;
        }
        text = of("flip", R"(, "dims": [1])");
        break;
      default:
        text = of(unary[draw(std::size(unary))], "");
    }
    names_.emplace_back(name, made);
    return text;
  }

  std::mt19937 engine_;
  std::vector<std::pair<std::string, Shape>> names_;
};

// A file whose words are not those that the exporter would choose.
Message own_words() {
  const Graph graph{
      {node("Gemm", {"x", "layer.weight", "layer.bias"}, {"hidden out"},
            {attribute("transB", int64_t{1})}, "", "first node"),
       node("Relu", {"hidden out"}, {"scores"}, {}, "", "last node")},
      {"x"},
      {"scores"},
      {tensor("layer.weight", {2, 3}, {1, 2, 3, 4, 5, 6}), tensor("layer.bias", {2}, {-1, 1})}};
  const Message note = Fields().text(1, "author").text(2, "a person");
  return Fields(model(graph, 14)).text(14, note).text(2, "another tool");
}

}  // namespace

TEST_CASE("random graphs are exported, and compute the same when they are read again") {
  const Folder folder;
  const NoGrad no_grad;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const std::string json = RandomGraph(seed).json(2 + static_cast<int>(seed % 11));
    CAPTURE(json);
    const Module module = graph_of(json);
    module.eval();
    const Tensor example = Op("randn").call<Tensor>(std::vector<int64_t>{2, 4, 6});
    const std::string path = folder.write("graph.onnx", "");
    export_to(path, module, {example});
    const Module again = load(path);
    for (const int64_t batch : {1, 4}) {
      const Tensor input = Op("randn").call<Tensor>(std::vector<int64_t>{batch, 4, 6});
      CHECK(outputs::difference(again(input), module(input)) <= 2e-6);
    }
  }
}

TEST_CASE("a file that was read is written again byte for byte") {
  const Folder folder;
  const std::string path = folder.write("read.onnx", own_words());
  const std::string written = folder.write("written.onnx", "");
  export_to(written, load(path), {});
  CHECK(bytes_of(written) == bytes_of(path));
}

TEST_CASE("trained weights are written under the names of the file") {
  const Folder folder;
  const NoGrad no_grad;
  const std::string path = folder.write("read.onnx", own_words());
  const std::string written = folder.write("written.onnx", "");
  const Module model = load(path);
  Op("fill_").call<Tensor>(model.tensor("layer.weight"), 0.5);
  export_to(written, model, {});
  const Tensor input = Op("ones").call<Tensor>(std::vector<int64_t>{2, 3});
  CHECK(outputs::difference(load(written)(input), model(input)) == 0);
  const std::string bytes = bytes_of(written);
  for (const char* word : {"layer.weight", "hidden out", "first node", "author", "another tool"}) {
    CAPTURE(word);
    CHECK(has(bytes, word));
  }
  CHECK(bytes.size() == bytes_of(path).size());
}

TEST_CASE("a model that was read is part of another") {
  const Folder folder;
  const NoGrad no_grad;
  const std::string path = folder.write("read.onnx", own_words());
  const Module model =
      graph_of(R"({"type": "Sequential", "layers": [
      {"type": "Linear", "in_features": 4, "out_features": 3}, {"type": "onnx.Model", "path": ")" +
               path + R"("}, {"type": "Linear", "in_features": 2, "out_features": 2}]})");
  const std::string written = folder.write("written.onnx", "");
  export_to(written, model, {Op("ones").call<Tensor>(std::vector<int64_t>{1, 4})});
  const Tensor input = Op("randn").call<Tensor>(std::vector<int64_t>{3, 4});
  CHECK(outputs::difference(load(written)(input), model(input)) <= 1e-6);
  CHECK(has(bytes_of(written), "/1/first node"));
}

TEST_CASE("a plugin says in its file how its op is exported") {
  tenon::add_plugin_path(TENON_CONVERSIONS_FIXTURE);
  const Folder folder;
  const Module model = graph_of(R"({"type": "Graph", "nodes": {"a": {"op": "acme.half"}}})");
  const std::string path = folder.write("half.onnx", "");
  export_to(path, model, {Op("ones").call<Tensor>(std::vector<int64_t>{1, 2})});
  const Tensor input = Op("randn").call<Tensor>(std::vector<int64_t>{3, 2});
  CHECK(outputs::difference(load(path)(input), model(input)) <= 1e-6);
}

TEST_CASE("calls that no operator stands for are named at once, and nothing is written") {
  const Folder folder;
  const std::string path = folder.write("kept.onnx", "kept");
  const Module model = graph_of(R"({"type": "Sequential", "layers": [
      {"type": "Graph", "nodes": {"a": {"op": "linalg.pinv"}, "b": {"op": "nextafter", "other": 1.0}}},
      {"type": "Graph", "nodes": {"a": {"op": "linalg.pinv"}}}]})");
  const Tensor input = Op("ones").call<Tensor>(std::vector<int64_t>{2, 3, 3});
  const std::string text = refusal([&] { export_to(path, model, {input}); });
  CHECK(has(text, "no operator of ONNX stands for these calls:"));
  CHECK(has(text, "nextafter"));
  CHECK(has(text, "'0'"));
  CHECK(has(text, "'1'"));
  CHECK(bytes_of(path) == "kept");
}

TEST_CASE("a size of the batch where a file has a fixed number is refused") {
  const Folder folder;
  const Module model = graph_of(R"({"type": "Graph", "nodes": {
      "row": {"op": "reshape", "shape": [1, 1, -1]},
      "halves": {"op": "nn.functional.adaptive_avg_pool1d", "output_size": [2]}}})");
  const Tensor input = Op("ones").call<Tensor>(std::vector<int64_t>{2, 4});
  const std::string path = folder.write("kept.onnx", "kept");
  CHECK(has(refusal([&] { export_to(path, model, {input}); }),
            "an attribute of AveragePool in the model depends on the size of the batch"));
  CHECK(bytes_of(path) == "kept");
  export_to(path, model, {input}, "");
  CHECK(outputs::difference(load(path)(input), model(input)) <= 1e-6);
}

TEST_CASE("arguments of an exporter are checked") {
  const Folder folder;
  const Module model = Module::create("Tanh");
  const Tensor input = Op("ones").call<Tensor>(std::vector<int64_t>{2, 2});
  const auto opset = [&](int64_t number) {
    return refusal([&] {
      Module::create("onnx.Exporter", arg("model") = model, arg("path") = "x.onnx",
                     arg("opset") = number);
    });
  };
  CHECK(has(opset(12), "opset must be from 13 to 25, got 12"));
  CHECK(has(opset(26), "opset must be from 13 to 25, got 26"));
  const std::string path = folder.write("a.onnx", "");
  CHECK(has(refusal([&] { export_to(path, model, {}); }), "there are no inputs to call it with"));
  const Tensor number = Op("ones").call<Tensor>(std::vector<int64_t>{});
  CHECK(has(refusal([&] { export_to(path, model, {number}); }), "has no batch"));
  CHECK(has(refusal([&] { export_to("/nonexistent/a.onnx", model, {input}); }), "/nonexistent"));
  const std::string read = folder.write("read.onnx", own_words());
  CHECK(has(refusal([&] { export_to(read, load(read), {}); }),
            "it is the file that the model is read from"));
}

TEST_CASE("a module is in its own mode again after it was exported") {
  const Folder folder;
  const Module model = graph_of(R"({"type": "Sequential", "layers": ["Dropout", "Tanh"]})");
  model.child("1").eval();
  export_to(folder.write("a.onnx", ""), model,
            {Op("ones").call<Tensor>(std::vector<int64_t>{2, 2})});
  CHECK(model.training());
  CHECK(model.child("0").training());
  CHECK(!model.child("1").training());
}
