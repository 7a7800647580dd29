// Models with If and Loop, prepared: the bits of the model as it is.
#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/tenon.hpp>

#include "model_writer.hpp"

namespace {

using namespace model_writer;
using model_writer::Folder;
using tenon::Module, tenon::Prepared, tenon::Tensor;

Module load(const Folder& folder, const Message& bytes) {
  const Module module =
      Module::create("onnx.Model", tenon::arg("path") = folder.write("model.onnx", bytes));
  module.eval();
  return module;
}

// Nodes over floats of three elements and integers of none, in blocks: branches and loops read what is
// outside of them.
class RandomControlFlow {
 public:
  explicit RandomControlFlow(unsigned seed) : random_(seed), by_results_(seed % 2 == 0) {}

  Graph graph() {
    Names names{{"x"}, {"n", "two"}};
    Graph graph = block(names, 2, 8);
    graph.inputs = {"x", "n"};
    graph.initializers = {integer_tensor("two", {}, {2}), integer_tensor("three", {}, {3})};
    return graph;
  }

 private:
  struct Names {
    std::vector<std::string> floats, integers;
  };
  size_t pick(size_t count) { return random_() % count; }
  std::string any(const std::vector<std::string>& names) { return names[pick(names.size())]; }
  std::string name() { return "v" + std::to_string(count_++); }

  // Its one output is the float that was made last.
  Graph block(Names names, int depth, int length) {
    Graph graph;
    for (int i = 0; i < length; ++i) add(graph.nodes, names, depth);
    const std::string last = name();
    graph.nodes.push_back(node("Neg", {names.floats.back()}, {last}));
    graph.outputs = {last};
    return graph;
  }
  void add(std::vector<Message>& nodes, Names& names, int depth) {
    const std::string made = name();
    switch (pick(depth > 0 ? 8 : 6)) {
      case 0:
        nodes.push_back(node("Tanh", {any(names.floats)}, {made}));
        break;
      case 1:
      case 2:
        nodes.push_back(node("Add", {any(names.floats), any(names.floats)}, {made}));
        break;
      case 3: {
        const std::string real = name();
        nodes.push_back(node("Cast", {any(names.integers)}, {real}, {attribute("to", int64_t{1})}));
        nodes.push_back(node("Mul", {any(names.floats), real}, {made}));
        break;
      }
      case 4:
        nodes.push_back(node("Add", {any(names.integers), any(names.integers)}, {made}));
        names.integers.push_back(made);
        return;
      case 5: {
        if (!by_results_) return;
        const std::string sum = name();
        nodes.push_back(
            node("ReduceSum", {any(names.floats)}, {sum}, {attribute("keepdims", int64_t{0})}));
        nodes.push_back(node("Cast", {sum}, {made}, {attribute("to", int64_t{7})}));
        names.integers.push_back(made);
        return;
      }
      case 6: {
        const std::string condition = name();
        nodes.push_back(node("Less", {any(names.integers), "two"}, {condition}));
        nodes.push_back(
            node("If", {condition}, {made},
                 {graph_attribute("then_branch", block(names, depth - 1, 4).message()),
                  graph_attribute("else_branch", block(names, depth - 1, 4).message())}));
        break;
      }
      default: {
        const std::string trips = name(), i = name(), c = name(), s = name(), d = name();
        nodes.push_back(node("Mod", {any(names.integers), "three"}, {trips}));
        Names inner = names;
        inner.integers.push_back(i);
        inner.floats.push_back(s);
        Graph body = block(inner, depth - 1, 4);
        body.nodes.push_back(node("Identity", {c}, {d}));
        body.inputs = {i, c, s};
        body.outputs.insert(body.outputs.begin(), d);
        nodes.push_back(node("Loop", {trips, "", any(names.floats)}, {made},
                             {graph_attribute("body", body.message())}));
      }
    }
    names.floats.push_back(made);
  }

  std::mt19937 random_;
  const bool by_results_;
  int count_ = 0;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  const std::vector<float> one = a.to_vector<float>(), other = b.to_vector<float>();
  return a.sizes() == b.sizes() && std::equal(one.begin(), one.end(), other.begin(), other.end(),
                                              [](float x, float y) { return x == y || x != x; });
}

}  // namespace

TEST_CASE("random branches and loops give the same bits when they are prepared") {
  const Folder folder;
  const tenon::NoGrad no_grad;
  int64_t listed = 0, runs = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Module loaded = load(folder, model(RandomControlFlow(seed).graph()));
    const Prepared prepared = tenon::prepare(loaded);
    for (const int number : {0, 1, 4, 1, -3, 0}) {
      const Tensor x = tenon::randn({3}), n = tenon::full(tenon::IntList(), number, tenon::i64);
      REQUIRE(same_bits(prepared.call<Tensor>(x, n), loaded.call<Tensor>(x, n)));
    }
    CAPTURE(prepared.reasons());
    listed += prepared.listed_runs();
    runs += prepared.listed_runs() + prepared.runs_as_is();
  }
  CHECK(listed > runs * 9 / 10);
}

TEST_CASE("the iteration of a loop is a number for what is computed of it") {
  const Folder folder;
  const Graph body{{node("Identity", {"c"}, {"d"}), node("Mul", {"i", "i"}, {"square"}),
                    node("Cast", {"square"}, {"real"}, {attribute("to", int64_t{1})}),
                    node("Add", {"s", "real"}, {"t"})},
                   {"i", "c", "s"},
                   {"d", "t"}};
  const Module loaded = load(folder, model(Graph{{node("Loop", {"four", "", "x"}, {"y"},
                                                       {graph_attribute("body", body.message())})},
                                                 {"x"},
                                                 {"y"},
                                                 {integer_tensor("four", {}, {4})}}));
  const Prepared prepared = tenon::prepare(loaded);
  const tenon::NoGrad no_grad;
  CHECK(prepared(tenon::zeros({1})).to_vector<float>() == std::vector<float>{14});
  CHECK(prepared.listed_runs() == 1);
  CHECK(prepared.lists().front().compared == 0);
}

TEST_CASE("projections that an exporter joined are computed apart, where their sizes are equal") {
  const Folder folder;
  const tenon::NoGrad no_grad;
  std::mt19937 random(3);
  const auto numbers = [&](size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random() % 1000) / 500 - 1;
    return values;
  };
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{4, 4, 4}, {2, 4, 6}}) {
    const Module loaded =
        load(folder,
             model(Graph{
                 {node("MatMul", {"x", "w"}, {"m"}), node("Add", {"m", "b"}, {"p"}),
                  node("Split", {"p", "sizes"}, {"q", "k", "v"}, {attribute("axis", int64_t{-1})}),
                  node("Reshape", {"q", "shape"}, {"a"}), node("Reshape", {"k", "shape"}, {"c"}),
                  node("Reshape", {"v", "shape"}, {"d"}),
                  node("Concat", {"a", "c", "d"}, {"y"}, {attribute("axis", int64_t{1})})},
                 {"x"},
                 {"y"},
                 {tensor("w", {5, 12}, numbers(60)), tensor("b", {12}, numbers(12)),
                  integer_tensor("sizes", {3}, sizes), integer_tensor("shape", {3}, {6, -1, 2})}}));
    const Prepared prepared = tenon::prepare(loaded);
    const Tensor x = tenon::randn({6, 3, 5});
    const std::vector<float> expected = loaded.call<Tensor>(x).to_vector<float>(),
                             found = prepared.call<Tensor>(x).to_vector<float>();
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-4F);
    const tenon::PreparedList list = prepared.lists().front();
    CHECK(list.reason == "");
    const bool apart =
        std::any_of(list.rewrites.begin(), list.rewrites.end(),
                    [](const auto& applied) { return applied.rule == "onnx.split_projections"; });
    CHECK(apart == (sizes[0] == 4));
  }
}

TEST_CASE("a pool of maxima of a file is the op that rules of other plugins know") {
  const Folder folder;
  const tenon::NoGrad no_grad;
  using Sizes = std::vector<int64_t>;
  struct Case {
    Sizes pads, dilations;
    bool plain;
  };
  for (const Case& one : {Case{{1, 0, 1, 0}, {}, true}, Case{{1, 0, 1, 0}, {2, 1}, true},
                          Case{{}, {}, true}, Case{{1, 0, 0, 0}, {}, false}}) {
    std::vector<Message> attributes = {integers_attribute("kernel_shape", {3, 2}),
                                       integers_attribute("strides", {2, 1})};
    if (!one.pads.empty()) attributes.push_back(integers_attribute("pads", one.pads));
    if (!one.dilations.empty())
      attributes.push_back(integers_attribute("dilations", one.dilations));
    const Module loaded =
        load(folder, model(Graph{{node("MaxPool", {"x"}, {"y"}, attributes)}, {"x"}, {"y"}, {}}));
    const Prepared prepared = tenon::prepare(loaded);
    const Tensor x = tenon::randn({2, 3, 9, 8});
    CHECK(prepared.call<Tensor>(x).to_vector<float>() == loaded.call<Tensor>(x).to_vector<float>());
    const tenon::PreparedList list = prepared.lists().front();
    CHECK(list.reason == "");
    CHECK((list.calls.front().op == "nn.functional.max_pool2d") == one.plain);
  }
}

TEST_CASE(
    "a convolution without pads, and the larger one of an element and a number, are ops that rules "
    "know") {
  const Folder folder;
  const tenon::NoGrad no_grad;
  using Sizes = std::vector<int64_t>;
  struct Case {
    float least;
    Sizes bound_shape;
    bool clamps;
  };
  for (const Case& one : {Case{-0.25F, {1, 1, 1, 1}, true}, Case{-0.25F, {}, true},
                          Case{0, {1}, false}, Case{-0.25F, {1, 1, 1, 1, 1}, false}}) {
    const Module loaded =
        load(folder, model(Graph{{node("Conv", {"x", "w"}, {"c"},
                                       {integers_attribute("strides", {1, 1}),
                                        integers_attribute("dilations", {1, 1})}),
                                  node("Max", {"c", "least"}, {"y"})},
                                 {"x"},
                                 {"y"},
                                 {tensor("w", {2, 1, 3, 1}, {1, -1, 0.5F, 2, 0, -0.5F}),
                                  tensor("least", one.bound_shape, {one.least})}}));
    const Prepared prepared = tenon::prepare(loaded);
    const Tensor x = tenon::randn({2, 1, 6, 5});
    const std::vector<float> expected = loaded.call<Tensor>(x).to_vector<float>(),
                             found = prepared.call<Tensor>(x).to_vector<float>();
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-5F);
    const tenon::PreparedList list = prepared.lists().front();
    CHECK(list.reason == "");
    const auto calls = [&](const std::string& op) {
      return std::any_of(list.calls.begin(), list.calls.end(),
                         [&](const auto& call) { return call.op == op; });
    };
    CHECK_FALSE(calls("onnx.conv"));
    CHECK(calls("onnx.max") != one.clamps);
  }
}
