// Graph and the other containers: what documents describe, and what they are refused for.
#include <random>

#include "../compare.hpp"

using namespace tenon;

namespace {

Module graph(const std::string& rest) {
  return create_module(Json::parse(R"({"type": "Graph", )" + rest + "}"));
}
std::string refused(const std::string& rest) {
  try {
    graph(rest);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was made";
}
std::string failure(const Module& module, const Tensor& input) {
  try {
    module(input);
  } catch (const Error& error) {
    return error.what();
  }
  return "it ran";
}
#define CHECK_HAS(text, part) CHECK_MESSAGE((text).find(part) != std::string::npos, text)

}  // namespace

TEST_SUITE("nn/graph") {
  TEST_CASE("ops and modules run as named nodes, on the node before or on their inputs") {
    const Module module = graph(R"("nodes": {
        "hidden": {"module": {"type": "Linear", "in_features": 3, "out_features": 3}},
        "bent": {"op": "tanh"},
        "sum": {"op": "add", "inputs": ["bent", "input"], "alpha": 2},
        "again": {"same": "hidden", "inputs": ["sum"]},
        "joined": {"op": "cat", "inputs": [["again", "input"]], "dim": 1}})");
    const Tensor x = rand({2, 3});
    const Module linear = module.child("hidden");
    const Tensor sum = linear(x).tanh() + x * 2;
    CHECK((module(x) - cat(std::vector<Tensor>{linear(sum), x}, 1)).abs().amax().item() < 1e-6);
    CHECK(module.forward_schema() == "forward(Tensor input) -> Tensor");
    CHECK(module.named_parameters().size() == 2);
    module(x).sum().backward();
    CHECK(linear.tensor("weight").grad().defined());
    const Module copy = module.clone();
    CHECK((copy(x) - module(x)).abs().amax().item() == 0);
    CHECK_FALSE(copy.child("hidden").is_same(linear));
  }

  TEST_CASE("inputs may be optional, outputs several, results named, graphs nested") {
    const Module module = graph(R"("inputs": ["x", "state=None"], "outputs": ["lstm.hidden", "top"],
        "nodes": {
          "lstm": {"module": {"type": "LSTM", "input_size": 3, "hidden_size": 2},
                   "inputs": {"input": "x"}},
          "top": {"module": {"type": "Graph", "nodes": {"a": {"op": "relu"}, "b": {"op": "neg"}}},
                  "inputs": ["lstm.output"]}})");
    CHECK(module.forward_schema() == "forward(Tensor x, Tensor? state=None) -> (Tensor, Tensor)");
    const Tensor x = rand({4, 1, 3});
    const auto [hidden, top] = module.call<std::tuple<Tensor, Tensor>>(x);
    const auto [output, last, cell] =
        module.child("lstm").call<std::tuple<Tensor, Tensor, Tensor>>(x);
    CHECK((hidden - last).abs().amax().item() == 0);
    CHECK((top + output.relu()).abs().amax().item() == 0);
  }

  TEST_CASE("an error names the node and its place, and the module that raised it") {
    const Module module = graph(R"("nodes": {
        "first": {"module": {"type": "Linear", "in_features": 3, "out_features": 4}},
        "second": {"module": {"type": "Linear", "in_features": 3, "out_features": 4}}})");
    const std::string text = failure(module, rand({2, 3}));
    CHECK_HAS(text, "at node 'second' (");
    CHECK_HAS(text, "/nodes/second");
    CHECK_HAS(text, "in Linear at ");
    const Module steps = create_module(Json::parse(R"({"type": "Sequential", "layers": [
        {"type": "Linear", "in_features": 3, "out_features": 4},
        {"type": "Linear", "in_features": 3, "out_features": 4}]})"));
    CHECK_HAS(failure(steps, rand({2, 3})), "in Linear at ");
    CHECK_HAS(failure(steps, rand({2, 3})), "/layers/1");
  }

  TEST_CASE("descriptions that cannot be are refused, with the place") {
    CHECK_HAS(refused(R"("nodes": {})"), "with at least one");
    CHECK_HAS(refused(R"("nodes": {"a": {}})"), "one of \"op\", \"module\" and \"same\"");
    CHECK_HAS(refused(R"("nodes": {"a": {"op": "relu", "same": "a"}})"), "has one of");
    CHECK_HAS(refused(R"("nodes": {"a": {"op": "reluu"}})"), "did you mean");
    CHECK_HAS(refused(R"("nodes": {"a": {"op": "relu", "inputs": ["b"]}, "b": {"op": "relu"}})"),
              "'b' is not an input or an earlier node; these are: input");
    CHECK_HAS(refused(R"("nodes": {"a.b": {"op": "relu"}})"), "has no dots");
    CHECK_HAS(refused(R"("nodes": {"input": {"op": "relu"}})"), "'input' is there twice");
    CHECK_HAS(refused(R"("nodes": {"a": {"same": "c"}})"), "no earlier node 'c' has a module");
    CHECK_HAS(refused(R"("nodes": {"a": {"op": "relu"}}, "outputs": ["c"])"), "the output 'c'");
    CHECK_HAS(refused(R"("nodes": {"a": {"module": "ReLU", "dim": 1}})"),
              "attributes are inside of \"module\"");
    CHECK_HAS(refused(R"("nodes": {"a": {"module": {"type": "LSTM", "input_size": 1,
        "hidden_size": 1}}, "b": {"op": "relu", "inputs": ["a"]}})"),
              "node 'a' has 3 results; name one of a.output, a.hidden, a.cell");
    CHECK_HAS(refused(R"("nodes": {"a": {"op": "relu"}}, "inputs": ["x=1"])"),
              "an input is a name");
  }

  TEST_CASE("random graphs give what the same calls give, written in C++") {
    std::mt19937 random(5);
    const char* const ops[] = {"tanh", "sigmoid", "neg", "abs", "add", "mul", "maximum"};
    for (int round = 0; round < 60; ++round) {
      std::string nodes;
      std::vector<std::string> names{"input"};
      std::vector<Tensor> values{rand({2, 3})};
      const int count = 1 + static_cast<int>(random() % 12);
      for (int i = 0; i < count; ++i) {
        const size_t op = random() % 7, a = random() % names.size(), b = random() % names.size();
        const bool binary = op >= 4;
        const std::string name = "n" + std::to_string(i);
        nodes += (i > 0 ? ", \"" : "\"") + name + R"(": {"op": ")" + ops[op] +
                 R"(", "inputs": [")" + names[a] + (binary ? "\", \"" + names[b] : "") + "\"]}";
        const Op called(ops[op]);
        values.push_back(binary ? called.call<Tensor>(values[a], values[b])
                                : called.call<Tensor>(values[a]));
        names.push_back(name);
      }
      const size_t output = random() % names.size();
      const Module module =
          graph("\"nodes\": {" + nodes + "}, \"outputs\": [\"" + names[output] + "\"]");
      CHECK((module(values[0]) - values[output]).abs().amax().item() == 0);
    }
  }

  TEST_CASE("Residual, Parallel, ModuleList and ModuleDict") {
    const Tensor x = rand({2, 3});
    const auto made = [](const char* json) { return create_module(Json::parse(json)); };
    CHECK(
        (made(R"({"type": "Residual", "body": "Tanh"})")(x) - (x + x.tanh())).abs().amax().item() ==
        0);
    CHECK((made(R"({"type": "Parallel", "branches": ["Tanh", "ReLU"]})")(x) -
           cat(std::vector<Tensor>{x.tanh(), x.relu()}, 1))
              .abs()
              .amax()
              .item() == 0);
    CHECK((made(R"({"type": "Parallel", "branches": {"a": "Tanh", "b": "ReLU"}, "reduce": "sum"})")(
               x) -
           (x.tanh() + x.relu()))
              .abs()
              .amax()
              .item() == 0);
    CHECK(made(R"({"type": "ModuleDict", "modules": {"a": "Tanh", "b": "ReLU"}})").text() ==
          "ModuleDict(\n  (a): Tanh()\n  (b): ReLU()\n)");
    const Module list = made(R"({"type": "ModuleList", "modules": ["Tanh", "ReLU"]})");
    CHECK(list.children().size() == 2);
    CHECK_HAS(failure(list, x), "ModuleList has no forward schema");
  }
}
