// onnx.Model: weights, control flow, functions, and what is refused.
#include <algorithm>
#include <unistd.h>

#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>
#include <tenon/module.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/runtime.hpp>
#include <tenon/tenon.hpp>

#include "../compare.hpp"
#include "model_writer.hpp"

namespace {

using namespace model_writer;
using compare::refusal;
using model_writer::Folder;
using tenon::Module, tenon::Tensor, tenon::tensor;

Module load(const std::string& path) {
  return Module::create("onnx.Model", tenon::arg("path") = path);
}
Module load(const Folder& folder, const Message& bytes) {
  return load(folder.write("model.onnx", bytes));
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
// The refusal of a model of the graph.
std::string fault(const Graph& graph, int64_t opset = 17,
                  const std::vector<Message>& functions = {}) {
  const Folder folder;
  return refusal([&] { load(folder, model(graph, opset, functions)); });
}

Graph linear() {
  return {{node("Gemm", {"x", "layer.weight", "layer.bias"}, {"y"},
                {attribute("transB", int64_t{1})}, "", "first")},
          {"x"},
          {"y"},
          {model_writer::tensor("layer.weight", {2, 3}, {1, 2, 3, 4, 5, 6}),
           model_writer::tensor("layer.bias", {2}, {10, 20})}};
}

}  // namespace

TEST_CASE("weights of a model are parameters that are trained") {
  const Folder folder;
  const Module loaded = load(folder, model(linear()));
  const auto parameters = loaded.named_parameters();
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[0].first == "layer.weight");
  CHECK(parameters[1].first == "layer.bias");
  const Tensor x = tensor({{1.f, 0.f, 0.f}});
  const Tensor y = loaded(x);
  CHECK(y.to_vector<float>() == std::vector<float>{11, 24});
  y.sum().backward();
  CHECK(parameters[0].second.grad().to_vector<float>() == std::vector<float>{1, 0, 0, 1, 0, 0});
}

TEST_CASE("writing to a weight does not change the file, and a clone has its own") {
  const Folder folder;
  const std::string path = folder.write("model.onnx", model(linear()));
  const Module loaded = load(path), copy = loaded.clone();
  {
    const tenon::NoGrad no_grad;
    loaded.parameters()[1].fill_(0);
  }
  const Tensor x = tensor({{0.f, 0.f, 0.f}});
  CHECK(loaded(x).to_vector<float>() == std::vector<float>{0, 0});
  CHECK(copy(x).to_vector<float>() == std::vector<float>{10, 20});
  CHECK(load(path)(x).to_vector<float>() == std::vector<float>{10, 20});
}

TEST_CASE("a branch reads values of the graph around it") {
  const Graph then{{node("Neg", {"x"}, {"negative"})}, {}, {"negative"}};
  const Graph other{{node("Add", {"x", "x"}, {"twice"})}, {}, {"twice"}};
  const Graph graph{{node("ReduceSum", {"x"}, {"sum"}, {attribute("keepdims", int64_t{0})}),
                     node("Less", {"sum", "zero"}, {"below"}),
                     node("If", {"below"}, {"y"},
                          {graph_attribute("then_branch", then.message()),
                           graph_attribute("else_branch", other.message())})},
                    {"x"},
                    {"y"},
                    {model_writer::tensor("zero", {}, {0})}};
  const Folder folder;
  const Module loaded = load(folder, model(graph));
  CHECK(loaded(tensor({-1.f, -2.f})).to_vector<float>() == std::vector<float>{1, 2});
  CHECK(loaded(tensor({1.f, 2.f})).to_vector<float>() == std::vector<float>{2, 4});
}

TEST_CASE("a function of the model takes the place of its call, with the call's attributes") {
  const Message scaled =
      function("acme", "Scaled", {"a"}, {"b"},
               {node("LeakyRelu", {"a"}, {"c"}, {reference("alpha", "slope", 1)}),
                node("Neg", {"c"}, {"b"})});
  const Graph graph{
      {node("Scaled", {"x"}, {"y"}, {attribute("slope", 0.5f)}, "acme")}, {"x"}, {"y"}};
  const Folder folder;
  CHECK(load(folder, model(graph, 17, {scaled}))(tensor({-2.f, 3.f})).to_vector<float>() ==
        std::vector<float>{1, -3});
}

TEST_CASE("all nodes without a conversion are named at once, with their opset") {
  const Graph inner{{node("Frobnicate", {"x"}, {"z"}, {}, "", "inside")}, {}, {"z"}};
  const Graph graph{{node("Swish", {"x"}, {"a"}, {}, "", "early"),
                     node("Mystery", {"a"}, {"b"}, {}, "acme", "strange"),
                     node("If", {"b"}, {"y"},
                          {graph_attribute("then_branch", inner.message()),
                           graph_attribute("else_branch", inner.message())})},
                    {"x"},
                    {"y"}};
  const std::string text = fault(graph);
  CHECK(has(text, "Swish of opset 17 (there is a conversion from 24 on): 'early'"));
  CHECK(has(text, "Mystery of acme 1: 'strange'"));
  CHECK(has(text, "Frobnicate of opset 17: 'inside'"));
}

TEST_CASE("the bias of one output is a parameter, a number beside a tensor is none") {
  const Folder folder;
  const Module loaded = load(folder, model({{node("Gemm", {"x", "fc.weight", "fc.bias"}, {"a"}),
                                             node("Mul", {"a", "number"}, {"y"})},
                                            {"x"},
                                            {"y"},
                                            {model_writer::tensor("fc.weight", {2, 1}, {1, 2}),
                                             model_writer::tensor("fc.bias", {1}, {4}),
                                             model_writer::tensor("number", {1}, {3})}}));
  std::vector<std::string> names;
  for (const auto& [name, weight] : loaded.named_parameters()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"fc.weight", "fc.bias"});
  CHECK(loaded(tensor({{1.f, 1.f}})).item<float>() == 21);
}

TEST_CASE("a plugin that is found after a model was read adds its operators") {
  const Graph graph{{node("Twice", {"x"}, {"y"}, {}, "acme", "second")}, {"x"}, {"y"}};
  CHECK(has(fault(graph), "Twice of acme 1: 'second'"));
  tenon::add_plugin_path(TENON_CONVERSIONS_FIXTURE);
  const Folder folder;
  CHECK(load(folder, model(graph))(tensor({2.f, 3.f})).to_vector<float>() ==
        std::vector<float>{4, 6});
}

TEST_CASE("an attribute that no rule names is refused, since it would change the result") {
  const std::string text =
      fault({{node("Relu", {"x"}, {"y"}, {attribute("limit", 6.f)}, "", "act")}, {"x"}, {"y"}});
  CHECK(has(text, "node 'act' (Relu): its attribute 'limit' is not converted"));
}

TEST_CASE("nodes out of order, names given twice and missing inputs are refused by name") {
  CHECK(has(fault({{node("Neg", {"a"}, {"y"}), node("Neg", {"x"}, {"a"})}, {"x"}, {"y"}}),
            "the input 'a' is not an input, an initializer or the output of an earlier node"));
  CHECK(has(fault({{node("Neg", {"y"}, {"y"})}, {"x"}, {"y"}}), "the input 'y' is not"));
  CHECK(has(fault({{node("Neg", {"x"}, {"y"}), node("Abs", {"x"}, {"y"})}, {"x"}, {"y"}}),
            "the value 'y' is there twice"));
  CHECK(has(fault({{node("Neg", {}, {"y"})}, {"x"}, {"y"}}), "its input 1, 'X', is missing"));
  CHECK(has(fault({{node("Neg", {"x"}, {"y"})}, {"x"}, {"z"}}), "the output 'z' is not"));
}

TEST_CASE("a function that calls itself is refused") {
  const Message loop =
      function("acme", "Loops", {"a"}, {"b"}, {node("Loops", {"a"}, {"b"}, {}, "acme")});
  CHECK(has(fault({{node("Loops", {"x"}, {"y"}, {}, "acme")}, {"x"}, {"y"}}, 17, {loop}),
            "the function 'Loops' calls itself"));
}

TEST_CASE("functions and graphs are nested at most 100 deep") {
  const auto chain = [](int length) {
    std::vector<Message> functions;
    for (int i = 0; i < length; ++i) {
      const Message inner = i + 1 < length
                                ? node("F" + std::to_string(i + 1), {"a"}, {"b"}, {}, "acme")
                                : node("Neg", {"a"}, {"b"});
      functions.push_back(function("acme", "F" + std::to_string(i), {"a"}, {"b"}, {inner}));
    }
    return functions;
  };
  const Graph graph{{node("F0", {"x"}, {"y"}, {}, "acme")}, {"x"}, {"y"}};
  const Folder folder;
  CHECK(load(folder, model(graph, 17, chain(90)))(tensor({1.f, 2.f})).to_vector<float>() ==
        std::vector<float>{-1, -2});
  // Without a limit the last would take more stack than there is.
  for (const int length : {101, 20'000})
    CHECK(has(fault(graph, 17, chain(length)), "nested deeper than 100"));
}

TEST_CASE("an input that is there twice is refused") {
  CHECK(
      has(fault({{node("Neg", {"x"}, {"y"})}, {"x", "x"}, {"y"}}), "the value 'x' is there twice"));
}

TEST_CASE("a constant of a function is made once for all of its calls") {
  const Message shifted =
      function("acme", "Shifted", {"a"}, {"b"},
               {node("Constant", {}, {"w"},
                     {tensor_attribute("value", model_writer::tensor("", {2}, {1, 2}))}),
                node("Add", {"a", "w"}, {"b"})});
  const Graph graph{
      {node("Shifted", {"x"}, {"h"}, {}, "acme"), node("Shifted", {"h"}, {"y"}, {}, "acme")},
      {"x"},
      {"y"}};
  const Folder folder;
  const Module loaded = load(folder, model(graph, 17, {shifted}));
  CHECK(loaded.named_parameters().size() == 1);
  CHECK(loaded(tensor({0.f, 0.f})).to_vector<float>() == std::vector<float>{2, 4});
}

TEST_CASE("weights keep the names of the file, where one is not the module of another") {
  const auto add = [](const std::string& a, const std::string& b, const std::string& y) {
    return node("Add", {a, b}, {y});
  };
  const auto weight = [](const std::string& name, float value) {
    return model_writer::tensor(name, {2}, {value, value});
  };
  const Folder folder;
  const Module loaded =
      load(folder, model(Graph{{add("x", "a.b.w", "1"), add("1", "a.b", "2"), add("2", "c", "3"),
                                add("3", "c.w", "4"), add("4", ".d", "5"), add("5", "e..f", "y")},
                               {"x"},
                               {"y"},
                               {weight("a.b.w", 1), weight("a.b", 2), weight("c", 4),
                                weight("c.w", 8), weight(".d", 16), weight("e..f", 32)}}));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : loaded.named_parameters()) names.push_back(name);
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"_d", "a.b.w", "a_b", "c", "c_w", "e__f"});
  const Module copy = loaded.clone();
  const tenon::NoGrad no_grad;
  tenon::fill_elements(loaded.tensor("a.b.w").detach(), 0);
  CHECK(loaded(tensor({0.f, 0.f})).to_vector<float>() == std::vector<float>{62, 62});
  CHECK(copy(tensor({0.f, 0.f})).to_vector<float>() == std::vector<float>{63, 63});
  loaded.to(tenon::f64);
  CHECK(loaded(tensor({0.f, 0.f}).to(tenon::f64)).dtype() == tenon::f64);
}

TEST_CASE("what a file computes of constants takes no memory before the model is run") {
  // Each is 10^9 elements and more: a range by its step, a broadcast of small constants, sizes in an attribute.
  const auto scalar = [](const std::string& name, float value) {
    return model_writer::tensor(name, {}, {value});
  };
  const Graph range{{node("Range", {"zero", "end", "step"}, {"r"}), node("Neg", {"x"}, {"y"})},
                    {"x"},
                    {"y"},
                    {scalar("zero", 0), scalar("end", 1e6f), scalar("step", 1e-6f)}};
  const Graph upsample{
      {node("Upsample", {"one"}, {"u"}, {floats_attribute("scales", {1000, 1000, 1000, 1000})}),
       node("Neg", {"x"}, {"y"})},
      {"x"},
      {"y"},
      {model_writer::tensor("one", {1, 1, 1, 1}, {1})}};
  const Folder folder;
  CHECK_NOTHROW(load(folder, model(range)));
  CHECK_NOTHROW(load(folder, model(upsample, 8)));
}

TEST_CASE("a loop that never ends is refused when it is run, as is a trip count of two numbers") {
  const auto loop = [](const std::string& trips, const Message& condition) {
    const Graph body{{condition, node("Add", {"s", "s"}, {"t"})}, {"i", "c", "s"}, {"d", "t"}};
    return Graph{{node("Loop", {trips, "", "x"}, {"y"}, {graph_attribute("body", body.message())})},
                 {"x"},
                 {"y"},
                 {model_writer::tensor("three", {}, {3}), model_writer::tensor("two", {2}, {3, 3}),
                  model_writer::tensor("none", {0}, {})}};
  };
  const auto ran = [](const Graph& graph) {
    const Folder folder;
    const Module loaded = load(folder, model(graph));
    return refusal([&] { loaded(tensor({1.f})); });
  };
  const Message same = node("Identity", {"c"}, {"d"});
  const Folder folder;
  CHECK(load(folder, model(loop("three", same)))(tensor({1.f})).to_vector<float>() ==
        std::vector<float>{8});
  CHECK(has(ran(loop("", same)), "the loop never ends: it has no trip count"));
  CHECK(has(ran(loop("two", same)), "an input that is one number has 2"));
  CHECK(has(ran(loop("none", same)), "an input that is one number has 0"));
}

TEST_CASE("a scan of nothing is empty along the axis of its output") {
  const auto scan = [](int64_t axis) {
    Graph body{{node("Neg", {"s"}, {"t"})}, {"s"}, {}};
    const Message type =
        Fields().text(1, Fields().number(1, 1).text(2, Fields().text(1, Fields().number(1, 3))));
    const Message declared = Fields(body.message()).text(12, Fields().text(1, "t").text(2, type));
    return Graph{{node("Scan", {"x"}, {"y"},
                       {graph_attribute("body", declared), attribute("num_scan_inputs", int64_t{1}),
                        integers_attribute("scan_output_axes", {axis})})},
                 {"x"},
                 {"y"}};
  };
  const Folder folder;
  CHECK(load(folder, model(scan(1)))(tenon::zeros({0, 3})).sizes() == std::vector<int64_t>{3, 0});
  CHECK(load(folder, model(scan(-2)))(tenon::zeros({0, 3})).sizes() == std::vector<int64_t>{0, 3});
  CHECK(has(fault(scan(2)),
            "scan_output_axes has an axis that an output of 2 dimensions does not have"));
}

TEST_CASE("a tensor whose size is not that of its data is refused before memory is taken") {
  const auto with = [](const Message& weight) {
    return fault({{node("Add", {"x", "w"}, {"y"})}, {"x"}, {"y"}, {weight}});
  };
  CHECK(has(with(model_writer::tensor("w", {int64_t{1} << 40}, {1})),
            "tensor 'w': it has 4 bytes, its dimensions need 4398046511104"));
  CHECK(has(with(model_writer::tensor("w", {int64_t{1} << 40, int64_t{1} << 40}, {1})),
            "tensor 'w': its dimensions are too large"));
  CHECK(has(with(model_writer::tensor("w", {-1}, {1})), "tensor 'w': a dimension is -1"));
}

namespace {

// DequantizeLinear of an initializer: of a type of the format, in these bytes.
Graph dequantized(int64_t type, int64_t size, const std::string& bytes) {
  const Message weight = Fields().number(1, size).number(2, type).text(8, "w").text(9, bytes);
  return {
      {node("DequantizeLinear", {"w", "scale"}, {"scaled"}), node("Add", {"x", "scaled"}, {"y"})},
      {"x"},
      {"y"},
      {weight, model_writer::tensor("scale", {}, {0.5F})}};
}
std::vector<float> sum_with_zeros(const Graph& graph, int64_t size) {
  const Folder folder;
  const tenon::NoGrad no_grad;
  return load(folder, model(graph, 23))(tenon::zeros({size})).to_vector<float>();
}

}  // namespace

TEST_CASE("weights of 8 and 4 bits are dequantized, two of 4 bits to a byte") {
  using Floats = std::vector<float>;
  CHECK(sum_with_zeros(dequantized(17, 3, "\x38\xc0\x7e"), 3) == Floats{0.5F, -1, 224});
  CHECK(sum_with_zeros(dequantized(19, 2, "\x3c\x7b"), 2) == Floats{0.5F, 28672});
  CHECK(sum_with_zeros(dequantized(21, 3, "\xf1\x07"), 3) == Floats{0.5F, 7.5F, 3.5F});
  CHECK(sum_with_zeros(dequantized(22, 3, "\xf1\x07"), 3) == Floats{0.5F, -0.5F, 3.5F});
  CHECK(sum_with_zeros(dequantized(23, 3, "\xf2\x07"), 3) == Floats{0.5F, -3, 3});
}

TEST_CASE(
    "what the file stores in 4 or 8 bits is not computed in, and the error names the tensor or the "
    "node") {
  Graph short_of = dequantized(22, 3, "\xf1");
  CHECK(has(fault(short_of, 21), "tensor 'w': it has 1 bytes, its dimensions need 2"));
  Graph quantized{{node("QuantizeLinear", {"x", "scale", "zero"}, {"y"}, {}, "", "narrow")},
                  {"x"},
                  {"y"},
                  {model_writer::tensor("scale", {}, {0.5F}),
                   Fields().number(2, 22).text(8, "zero").text(9, std::string(1, '\0'))}};
  const std::string text = fault(quantized, 21);
  CHECK(has(text, "integers of 4 bits"));
  CHECK(has(text, "'narrow' (QuantizeLinear)"));
  Graph added{{node("Add", {"w", "w"}, {"y"}, {}, "", "sum")},
              {"x"},
              {"y"},
              {Fields().number(1, 2).number(2, 17).text(8, "w").text(9, "\x38\x38")}};
  CHECK(has(fault(added), "to(float32)"));
}

TEST_CASE("operators on tensors of text are refused with the reason and what to do") {
  const std::string text =
      fault({{node("StringConcat", {"x", "x"}, {"y"}, {}, "", "joined")}, {"x"}, {"y"}}, 20);
  CHECK(has(text, "StringConcat of opset 20 (tensors hold no text: compute texts before"));
  CHECK(has(text, "'joined'"));
}

TEST_CASE(
    "a file's weights are those of its initializers, its constants and the graphs inside of "
    "nodes") {
  const Graph inner{{}, {}, {"c"}, {model_writer::tensor("w", {2}, {5, 6})}};
  const Graph graph{{node("Constant", {}, {"kernel"},
                          {tensor_attribute("value", model_writer::tensor("", {2}, {3, 4}))}),
                     node("Constant", {}, {"axis"},
                          {tensor_attribute("value", model_writer::tensor("", {}, {1}))}),
                     node("If", {"x"}, {"y"}, {graph_attribute("then_branch", inner.message())})},
                    {"x"},
                    {"y"},
                    {model_writer::tensor("w", {2}, {1, 2})}};
  const Folder folder;
  const std::string path = folder.write("model.onnx", model(graph));
  static const tenon::Op read("onnx.read_weights");
  const auto [names, tensors] =
      read.call<std::tuple<std::vector<std::string>, std::vector<Tensor>>>(path);
  CHECK(names == std::vector<std::string>{"w", "kernel", "w_1"});
  REQUIRE(tensors.size() == 3);
  CHECK(tensors[1].to_vector<float>() == std::vector<float>{3, 4});
  CHECK(tensors[2].to_vector<float>() == std::vector<float>{5, 6});
}

TEST_CASE("data of a tensor in another file stays within the folder of the model") {
  const Folder folder;
  const Graph graph{{node("Add", {"x", "w"}, {"y"})}, {"x"}, {"y"}, {}};
  const auto at = [&](const std::string& location) {
    Graph one = graph;
    one.initializers = {external_tensor("w", {2}, location)};
    return model(one);
  };
  const float numbers[] = {1, 2};
  folder.write("weights.bin", std::string(reinterpret_cast<const char*>(numbers), 8));
  CHECK(load(folder, at("weights.bin"))(tensor({1.f, 1.f})).to_vector<float>() ==
        std::vector<float>{2, 3});
  for (const char* outside : {"/etc/passwd", "../other.bin", ""}) {
    CAPTURE(outside);
    const std::string text = refusal([&] { load(folder, at(outside)); });
    CHECK((has(text, "is not in the folder of the model") || has(text, "is not there")));
  }
  CHECK(has(refusal([&] { load(folder, at("/etc/hostname")); }),
            "is not in the folder of the model"));
}

TEST_CASE("a file that ends early is refused at each length, and names itself") {
  const std::string whole = model(linear());
  const Folder folder;
  for (size_t length = 0; length < whole.size(); length += 7) {
    CAPTURE(length);
    const std::string text = refusal([&] { load(folder, whole.substr(0, length)); });
    CHECK(has(text, "model.onnx: "));
  }
}

TEST_CASE("opsets and versions of the format that are not known are refused") {
  const Graph graph{{node("Neg", {"x"}, {"y"})}, {"x"}, {"y"}};
  CHECK(has(fault(graph, 26), "it uses opset 26; Tenon reads those up to 25"));
}

TEST_CASE("a type that no version of the format has is named by its number") {
  CHECK(has(fault({{node("Cast", {"x"}, {"y"}, {attribute("to", int64_t{77})})}, {"x"}, {"y"}}),
            "it makes tensors of type 77, which Tenon does not compute in"));
}

TEST_CASE("a model that computes a shape from a shape is prepared, for each layout of its input") {
  const Folder folder;
  const Module loaded = load(
      folder, model({{node("Shape", {"x"}, {"sizes"}), node("Gather", {"sizes", "first"}, {"rows"}),
                      node("Concat", {"rows", "rest"}, {"flat"}, {attribute("axis", int64_t{0})}),
                      node("Reshape", {"x", "flat"}, {"matrix"}),
                      node("Gemm", {"matrix", "weight"}, {"y"})},
                     {"x"},
                     {"y"},
                     {model_writer::tensor("weight", {6, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}),
                      integer_tensor("first", {1}, {0}), integer_tensor("rest", {1}, {-1})}}));
  loaded.eval();
  const tenon::Prepared prepared = tenon::prepare(loaded);
  const tenon::NoGrad no_grad;
  for (const int64_t rows : {1, 4, 2, 4}) {
    const Tensor x = tenon::arange(6 * rows).to(tenon::f32).reshape({rows, 2, 3});
    CHECK(prepared(x).to_vector<float>() == loaded(x).to_vector<float>());
  }
  CHECK(prepared.reasons().empty());
  CHECK(prepared.listed_runs() == 4);
}

TEST_CASE("an error of a call names the node") {
  const Folder folder;
  const Module loaded = load(folder, model(linear()));
  CHECK(has(refusal([&] { loaded(tensor({{1.f, 2.f}})); }), "at node 'first' (Gemm)"));
}
