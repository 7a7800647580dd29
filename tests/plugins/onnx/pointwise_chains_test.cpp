// Chains of elementwise nodes, which run in blocks where no call is recorded or watched.
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>
#include <tenon/module.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>
#include <tenon/tenon.hpp>

#include "../compare.hpp"
#include "model_writer.hpp"

namespace {

using namespace model_writer;
using compare::refusal;
using model_writer::Folder;
using tenon::Module, tenon::NoGrad, tenon::Tensor, tenon::Value;

constexpr int64_t kRows = 3, kColumns = 20001;

Module load(const Folder& folder, const Message& bytes) {
  return Module::create("onnx.Model", tenon::arg("path") = folder.write("model.onnx", bytes));
}
Module load_fixture(const Folder& folder, const Graph& graph) {
  tenon::add_plugin_path(TENON_CONVERSIONS_FIXTURE);
  return load(folder, model(graph));
}

struct Threads {
  explicit Threads(int32_t count) { tenon::set_thread_count(count); }
  ~Threads() { tenon::set_thread_count(before); }
  int32_t before = tenon::thread_count();
};

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  const Tensor left = a.contiguous(), right = b.contiguous();
  return std::memcmp(left.view_record().data, right.view_record().data,
                     static_cast<size_t>(left.numel() * tenon::element_size(left.dtype()))) == 0;
}

// Elementwise nodes over tensors of one shape, numbers and columns that are broadcast, and now and then a node
// that is not elementwise.
class RandomChain {
 public:
  explicit RandomChain(unsigned seed) : random_(seed) {}

  Graph graph() {
    Graph graph;
    graph.inputs = {"x", "y"};
    graph.initializers = {model_writer::tensor("half", {}, {0.5f}),
                          model_writer::tensor("two", {1}, {2.f}),
                          model_writer::tensor("low", {1, 1}, {-0.75f}),
                          model_writer::tensor("column", {kRows, 1}, {1.f, -2.f, 0.25f})};
    for (int i = 0; i < 14; ++i) add(graph.nodes);
    graph.outputs = {floats_.back(), any(), any()};
    for (std::string& output : graph.outputs) {
      graph.nodes.push_back(node("Neg", {output}, {name()}));
      output = "v" + std::to_string(count_ - 1);
    }
    return graph;
  }

 private:
  size_t pick(size_t count) { return random_() % count; }
  std::string name() { return "v" + std::to_string(count_++); }
  const std::string& any() { return floats_[pick(floats_.size())]; }
  std::string other() {
    static const char* const numbers[] = {"half", "two", "low", "column"};
    return pick(3) == 0 ? numbers[pick(4)] : any();
  }
  void add(std::vector<Message>& nodes) {
    static const char* const unary[] = {"Neg", "Tanh", "Sigmoid", "Relu", "Abs", "HardSigmoid"};
    static const char* const binary[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
    const std::string made = name();
    switch (pick(8)) {
      case 0:
        nodes.push_back(node("Clip", {any(), "low", "half"}, {made}));
        break;
      case 1: {
        const std::string condition = name();
        nodes.push_back(node("Greater", {any(), other()}, {condition}));
        nodes.push_back(node("Where", {condition, any(), other()}, {made}));
        break;
      }
      case 2:
        nodes.push_back(node("Softmax", {any()}, {made}));
        break;
      case 3:
      case 4:
        nodes.push_back(node(unary[pick(6)], {any()}, {made}));
        break;
      default:
        nodes.push_back(node(binary[pick(6)], {any(), other()}, {made}));
    }
    floats_.push_back(made);
  }

  std::mt19937 random_;
  std::vector<std::string> floats_{"x", "y"};
  int count_ = 0;
};

}  // namespace

TEST_CASE("elementwise nodes that follow each other run in blocks where no gradient is recorded") {
  const Threads one(1);
  const Folder folder;
  const Module model = load_fixture(
      folder, {{node("Neg", {"x"}, {"a"}), node("Seen", {"a"}, {"y"}, {}, "acme")}, {"x"}, {"y"}});
  const Tensor x = tenon::ones({kRows, kColumns});
  CHECK(tenon::amax(model(x)).item<double>() == kRows * kColumns);
  const NoGrad no_grad;
  const Tensor seen = model(x);
  CHECK(seen.sizes() == std::vector<int64_t>{kRows, kColumns});
  CHECK(tenon::amax(seen).item<double>() == 16384);
  CHECK(tenon::amin(seen).item<double>() == kRows * kColumns - 3 * 16384);
}

TEST_CASE("chains of random nodes give the bits of the nodes one by one") {
  const Folder folder;
  for (const int32_t threads : {1, 2}) {
    const Threads scope(threads);
    const int64_t rows = kRows, columns = threads == 1 ? kColumns : 100003;
    for (unsigned seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      const Module model = load(folder, model_writer::model(RandomChain(seed).graph()));
      tenon::seed_generator(seed);
      const Tensor x = tenon::randn({rows, columns}), y = tenon::randn({rows, columns});
      using Three = std::tuple<Tensor, Tensor, Tensor>;
      const auto expected = model.call<Three>(x, y);
      const NoGrad no_grad;
      const auto given = model.call<Three>(x, y);
      CHECK(same_bits(std::get<0>(given), std::get<0>(expected)));
      CHECK(same_bits(std::get<1>(given), std::get<1>(expected)));
      CHECK(same_bits(std::get<2>(given), std::get<2>(expected)));
    }
  }
}

TEST_CASE("an operator that is not what its rule says runs on whole tensors") {
  const Threads one(1);
  const Folder folder;
  const Module model = load_fixture(
      folder, {{node("Neg", {"x"}, {"a"}), node("Total", {"a"}, {"y"}, {}, "acme")}, {"x"}, {"y"}});
  const NoGrad no_grad;
  CHECK(model(tenon::ones({kRows, kColumns})).item<double>() == -kRows * kColumns);
}

TEST_CASE("an error in a chain names its node") {
  const Folder folder;
  const Module model =
      load(folder, model_writer::model({{node("Neg", {"x"}, {"a"}, {}, "", "first"),
                                         node("BitwiseAnd", {"a", "a"}, {"y"}, {}, "", "second")},
                                        {"x"},
                                        {"y"}},
                                       18));
  const NoGrad no_grad;
  const std::string text = refusal([&] { model(tenon::ones({kRows, kColumns})); });
  CHECK(text.find("at node 'second' (BitwiseAnd)") != std::string::npos);
}
