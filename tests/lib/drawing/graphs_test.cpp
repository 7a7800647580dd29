// Graphs of models against counts of the same calls.
#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include <tenon/drawing/drawing.hpp>
#include <tenon/graph_text.hpp>
#include <tenon/mode.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;
using drawing::Graph;
using drawing::GraphNode;

namespace {

Module network() {
  return create_module(Json::parse(R"({"type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 3, "out_features": 4}, {"type": "ReLU"},
    {"type": "Sequential", "layers": [
      {"type": "Linear", "in_features": 4, "out_features": 4}, {"type": "Tanh"}]}]})"));
}

// Layers of random kinds, some of them in a Sequential inside.
Module random_network(uint32_t seed) {
  std::mt19937 random(seed);
  const auto layer = [&]() -> std::string {
    switch (random() % 4) {
      case 0:
        return R"({"type": "Linear", "in_features": 3, "out_features": 3})";
      case 1:
        return R"({"type": "ReLU"})";
      case 2:
        return R"({"type": "LayerNorm", "normalized_shape": [3]})";
      default:
        return R"({"type": "Sequential", "layers": [{"type": "Tanh"}, {"type": "Linear", "in_features": 3, "out_features": 3}]})";
    }
  };
  std::string layers = R"({"type": "Linear", "in_features": 3, "out_features": 3})";
  for (uint32_t i = static_cast<uint32_t>(random() % 6); i > 0; --i) layers += "," + layer();
  return create_module(Json::parse(R"({"type": "Sequential", "layers": [)" + layers + "]}"));
}

int64_t count(const Graph& graph, GraphNode::Kind kind) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [&](const GraphNode& node) { return node.kind == kind; });
}
const GraphNode* find(const Graph& graph, const std::string& title) {
  for (const GraphNode& node : graph.nodes) {
    if (node.title == title) return &node;
  }
  return nullptr;
}
bool is_chain(const Graph& graph) {
  for (size_t i = 0; i < graph.edges.size(); ++i) {
    if (graph.edges[i].to != graph.edges[i].from + 1) return false;
  }
  return graph.edges.size() + 1 == graph.nodes.size();
}

}  // namespace

TEST_SUITE("lib/drawing/graphs") {
  TEST_CASE("random models: ops of the graph are those that a mode counts, and make a chain") {
    for (uint32_t seed = 0; seed < 30; ++seed) {
      const Module model = random_network(seed);
      const Tensor x = ones({2, 3});
      CountMode counted;
      {
        const ShapesOnly shapes;
        const NoGrad no_grad;
        const ModeScope scope(counted);
        model(x);
      }
      const Graph graph = drawing::forward_graph(model, {x});
      std::map<std::string, int64_t> ops;
      for (const GraphNode& node : graph.nodes) {
        if (node.kind == GraphNode::Kind::op) ++ops[node.title];
      }
      CHECK_MESSAGE(ops == counted.calls(), "seed " << seed);
      CHECK_MESSAGE(is_chain(graph), "seed " << seed);
    }
  }

  TEST_CASE("nodes have plugin, parameters and module, edges have shapes") {
    const Graph graph = drawing::forward_graph(network(), {ones({5, 3})});
    CHECK(graph.title == "Sequential");
    REQUIRE(graph.nodes.size() == 6);
    CHECK(graph.nodes[0].kind == GraphNode::Kind::input);
    CHECK(graph.nodes[0].lines == std::vector<std::string>{"f32[5, 3]"});
    CHECK(graph.nodes[1].title == "nn.functional.linear");
    CHECK(graph.nodes[1].provider == "nn");
    CHECK(graph.nodes[1].lines == std::vector<std::string>{"weight f32[4, 3]", "bias f32[4]"});
    CHECK(graph.modules[static_cast<size_t>(graph.nodes[1].module)].name == "0");
    CHECK(graph.modules[static_cast<size_t>(graph.nodes[4].module)].name == "2.1");
    CHECK(graph.nodes[5].kind == GraphNode::Kind::output);
    CHECK(graph.edges[0].label == "f32[5, 3]");
    CHECK(graph.edges[1].label == "f32[5, 4]");
  }

  TEST_CASE("calls that a model would join are drawn apart, each in its module") {
    const Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
      {"type": "Conv2d", "in_channels": 1, "out_channels": 4, "kernel_size": 3},
      {"type": "BatchNorm2d", "num_features": 4}, {"type": "ReLU"}]})"));
    model.eval();
    const NoGrad no_grad;
    const Graph graph = drawing::forward_graph(model, {ones({1, 1, 8, 8})});
    std::vector<std::string> modules;
    for (const GraphNode& node : graph.nodes) {
      if (node.module >= 0) modules.push_back(graph.modules[static_cast<size_t>(node.module)].type);
    }
    CHECK(modules.front() == "Conv2d");
    CHECK(modules.back() == "ReLU");
    CHECK(std::count(modules.begin(), modules.end(), "BatchNorm2d") >= 1);
  }

  TEST_CASE("a tensor that two ops use has two edges") {
    const Module model = create_module(Json::parse(R"({"type": "Graph", "inputs": ["x"], "nodes": {
      "a": {"op": "relu", "inputs": ["x"]}, "b": {"op": "add", "inputs": ["a", "x"]}},
      "outputs": ["b"]})"));
    const Graph graph = drawing::forward_graph(model, {ones({2})});
    CHECK(graph.edges.size() == 4);
    CHECK(count(graph, GraphNode::Kind::op) == 2);
  }

  TEST_CASE("a closed module is one node, an expanded one shows what is in it") {
    const Graph graph = drawing::forward_graph(network(), {ones({5, 3})});
    const Graph closed = drawing::collapsed(graph, {});
    CHECK(count(closed, GraphNode::Kind::module) == 3);
    CHECK(count(closed, GraphNode::Kind::op) == 0);
    CHECK(is_chain(closed));
    const GraphNode* const inner = find(closed, "Sequential");
    REQUIRE(inner != nullptr);
    CHECK(inner->lines == std::vector<std::string>{"2", "2 ops of math and nn"});
    CHECK(inner->provider.empty());

    const Graph one = drawing::collapsed(graph, {"2"});
    CHECK(count(one, GraphNode::Kind::module) == 4);
    CHECK(find(one, "Tanh") != nullptr);
    const Graph deep = drawing::collapsed(graph, {"2.1"});
    CHECK(find(deep, "tanh") != nullptr);
    CHECK(count(deep, GraphNode::Kind::module) == 3);
    const Graph all = drawing::collapsed(graph, {"*"});
    CHECK(all.nodes.size() == graph.nodes.size());
    CHECK(all.edges.size() == graph.edges.size());
  }

  TEST_CASE("random models, random expansion: ops that are not shown are counted by their module") {
    for (uint32_t seed = 0; seed < 30; ++seed) {
      const Graph graph = drawing::forward_graph(random_network(seed), {ones({2, 3})});
      std::mt19937 random(seed);
      std::vector<std::string> expanded;
      for (const drawing::GraphModule& module : graph.modules) {
        if (random() % 2 == 0) expanded.push_back(module.name);
      }
      const Graph drawn = drawing::collapsed(graph, expanded);
      int64_t ops = count(drawn, GraphNode::Kind::op);
      for (const GraphNode& node : drawn.nodes) {
        if (node.kind == GraphNode::Kind::module) ops += std::stoll(node.lines.back());
      }
      CHECK_MESSAGE(ops == count(graph, GraphNode::Kind::op), "seed " << seed);
      CHECK_MESSAGE(is_chain(drawn), "seed " << seed);
    }
  }

  TEST_CASE("random models: backward has the nodes and edges of the recorded graph") {
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const Module model = random_network(seed);
      const Tensor x = ones({2, 3});
      const Json recorded = graph_document({model(x)})["nodes"];
      int64_t edges = 0;
      for (int64_t i = 0; i < recorded.size(); ++i) edges += recorded[i]["edges"].size();
      const Graph graph = drawing::backward_graph(model, {x});
      CHECK_MESSAGE(graph.nodes.size() == static_cast<size_t>(recorded.size()) + 1,
                    "seed " << seed);
      CHECK_MESSAGE(graph.edges.size() == static_cast<size_t>(edges) + 1, "seed " << seed);
      for (const drawing::GraphEdge& edge : graph.edges)
        CHECK_MESSAGE(!edge.label.empty(), "seed " << seed);
    }
  }

  TEST_CASE("backward names leaves by parameters, modules by where a call was recorded") {
    const Module model = network();
    const Tensor weight = model.tensor("0.weight");
    Tensor kept = ones({4, 3});
    Tensor(weight).set_grad(kept);
    const Graph graph = drawing::backward_graph(model, {ones({5, 3})});
    const GraphNode* const leaf = find(graph, "0.weight");
    REQUIRE(leaf != nullptr);
    CHECK(leaf->lines == std::vector<std::string>{"gradient of f32[4, 3]"});
    const GraphNode* const tanh_node = find(graph, "TanhBackward0");
    REQUIRE(tanh_node != nullptr);
    CHECK(graph.modules[static_cast<size_t>(tanh_node->module)].name == "2.1");
    CHECK(weight.grad().is_same(kept));
    CHECK_FALSE(model.tensor("2.0.weight").grad().defined());
  }

  TEST_CASE("a model without parameters that require grad has no backward to draw") {
    const Module model = create_module(Json::parse(R"({"type": "ReLU"})"));
    CHECK_THROWS_WITH_AS(drawing::backward_graph(model, {ones({2})}),
                         "no output of the model requires grad: there is no backward to draw",
                         ValueError);
  }

  TEST_CASE("a prepared list has the calls that the model runs") {
    Module model = network();
    model.eval();
    const Tensor x = ones({5, 3});
    const Graph graph = drawing::prepared_graph(model, {x});
    const PreparedList list = prepare(model, {{x}}).lists().front();
    REQUIRE(count(graph, GraphNode::Kind::op) == static_cast<int64_t>(list.calls.size()));
    size_t call = 0;
    for (const GraphNode& node : graph.nodes) {
      if (node.kind != GraphNode::Kind::op) continue;
      CHECK(node.title == list.calls[call].op);
      CHECK(node.provider == list.calls[call].provider);
      ++call;
    }
  }

  TEST_CASE("a model in training mode is not prepared, for the reason that prepare has") {
    const Module model = network();
    CHECK_THROWS_AS(drawing::prepared_graph(model, {ones({5, 3})}), ValueError);
  }

  TEST_CASE("an error of the call is the call's, and leaves no hook or mode behind") {
    const Module model = network();
    CHECK_THROWS_AS(drawing::forward_graph(model, {ones({5, 7})}), Error);
    CHECK(service::calls().watched() == 0);
    CHECK(count(drawing::forward_graph(model, {ones({5, 3})}), GraphNode::Kind::op) == 4);
  }
}
