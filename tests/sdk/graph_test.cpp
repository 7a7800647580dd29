// Nodes as users see them, graphs in their three forms, and counts of live nodes.
#include <functional>
#include <set>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

int64_t live(const std::string& provider) {
  const Json list = document(Document::live);
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list[i]["provider"].text() == provider) return list[i]["nodes"].integer();
  }
  return 0;
}

}  // namespace

TEST_SUITE("sdk/graph") {
  TEST_CASE("a node names its op and plugin, what it saved, and where gradients go") {
    const Tensor x = leaf({1, 2}), y = x * x;
    const Node node = (y + 1).grad_fn();
    CHECK(node.name() == "AddBackward0");
    CHECK(node.op() == "add");
    CHECK(node.provider() == "math");
    CHECK(node.saved_tensors() == 0);
    const Node product = node.next_edges()[0].node;
    CHECK(product.is_same(y.grad_fn()));
    CHECK(product.sequence() < node.sequence());
    CHECK(product.saved_tensors() == 2);
    CHECK(product.saved_bytes() == 32);
    const Node leaf_node = product.next_edges()[1].node;
    CHECK(leaf_node.name() == "AccumulateGrad");
    CHECK(leaf_node.op().empty());
    CHECK(leaf_node.next_edges().empty());
    CHECK_FALSE(x.grad_fn().defined());
    CHECK_FALSE(node.next_edges()[1].node.defined());
    sum(y).backward();
    CHECK(product.released());
    CHECK(product.saved_tensors() == 0);
    CHECK(has(y.text(), "grad_fn=<MulBackward0>"));
  }

  TEST_CASE("F-002 a fused op shows by saving less than the ops that it stands for") {
    const Tensor x = ones({4, 8}, f64).requires_grad_(), w = ones({3, 8}, f64).requires_grad_(),
                 b = ones({3}, f64).requires_grad_();
    const auto saved = [](const Tensor& root) {
      const Json nodes = graph_document({root})["nodes"];
      int64_t bytes = 0;
      for (int64_t i = 0; i < nodes.size(); ++i) bytes += nodes[i]["saved_bytes"].integer();
      return bytes;
    };
    const int64_t fused = saved(relu(Op("nn.functional.linear").call<Tensor>(x, w, b)));
    const int64_t composed = saved(relu(mm(x, w.t().clone()) * ones({4, 3}, f64) + b));
    CHECK(fused > 0);
    CHECK(fused < composed);
  }

  TEST_CASE("F-007 F-031 a graph lists op and plugin of every node, and what Functions stash") {
    const Tensor a = leaf({1, 2}), b = leaf({3, 4}), shared = a * b;
    const Tensor r = sum(apply("mix", shared, 2, shared));
    const Json document = graph_document({r, shared}), nodes = document["nodes"];
    REQUIRE(nodes.size() == 5);
    CHECK(document["roots"][0]["node"].integer() == 0);
    CHECK(nodes[0]["op"].text() == "sum");
    CHECK(nodes[document["roots"][1]["node"].integer()]["op"].text() == "mul");
    std::set<std::string> plugins;
    for (int64_t i = 0; i < nodes.size(); ++i) {
      CHECK(nodes[i]["id"].integer() == i);
      plugins.insert(nodes[i]["plugin"].text());
      const bool mix = nodes[i]["op"].text() == "fx.mix";
      CHECK(nodes[i]["ctx-stashed"].as_bool() == mix);
      if (mix) {
        CHECK(nodes[i]["saved_bytes"].integer() == 32);
        CHECK(nodes[i]["edges"].size() == 2);
        CHECK(nodes[i]["edges"][1]["input"].integer() == 2);
      }
    }
    CHECK(plugins == std::set<std::string>{"", "functions", "math"});
    CHECK(nodes[0]["sequence"].defined());
    CHECK(nodes[4]["name"].text() == "AccumulateGrad");
    CHECK_FALSE(nodes[4]["sequence"].defined());
    CHECK(Json::parse(graph_json({r, shared}))["nodes"].size() == 5);
  }

  TEST_CASE("a graph as text") {
    const Tensor x = leaf({1, 2});
    CHECK(graph_text({sum(exp(x) * x)}) ==
          "#0 SumBackward0 (sum of plugin math) <- #1\n"
          "#1 MulBackward0 (mul of plugin math; saved: 2 tensors, 32 bytes) <- #2, #3\n"
          "#2 ExpBackward0 (exp of plugin math; saved: 1 tensor, 16 bytes) <- #3\n"
          "#3 AccumulateGrad\n");
    CHECK(graph_text({row({1})}).empty());
    CHECK(refusal([] { graph_text({Tensor()}); }).kind == TENON_ERROR_ARGUMENT);
  }

  TEST_CASE("a graph for Graphviz") {
    const Tensor x = leaf({1, 2});
    CHECK(graph_dot({x * 2}) ==
          "digraph graph_of_calls {\n  node [shape=box];\n"
          "  n0 [label=\"MulBackward0\\nmul of plugin math\"];\n"
          "  n0 -> n1 [label=\"0\"];\n"
          "  n1 [label=\"AccumulateGrad\"];\n}\n");
    CHECK(detail::dot_escaped("a\"b\\c") == "a\\\"b\\\\c");
  }

  TEST_CASE("a view of a changed base knows of its history before it is used") {
    const Tensor w = leaf({10, 20}), base = row({1, 2, 3, 4});
    const Tensor first = base.slice(0, 0, 2);
    CHECK_FALSE(first.requires_grad());
    Tensor(base.slice(0, 1, 3)).mul_(w);
    CHECK(first.requires_grad());
    const Tensor untouched = base.slice(0, 3, 4);
    CHECK(untouched.requires_grad());
    CHECK(first.grad_fn().name() == "AsStridedBackward0");
    CHECK_FALSE(first.is_leaf());
  }

  TEST_CASE("F-315 nodes that are alive are counted by provider while tracking is on") {
    const bool before = track_live(true);
    const int64_t ops = live("math"), functions = live("functions");
    const Tensor x = leaf({1, 2});
    {
      const Tensor y = x * x, z = apply("mix", y, 2, y);
      CHECK(live("math") == ops + 1);
      CHECK(live("functions") == functions + 1);
      track_live(false);
      const Tensor uncounted = x * x;
      CHECK(live("math") == ops + 1);
      track_live(true);
    }
    CHECK(live("math") == ops);
    CHECK(live("functions") == functions);
    track_live(before);
  }

  TEST_CASE("a tensor changed in place by what was computed from it keeps no graph alive") {
    const bool before = track_live(true);
    using Change = std::function<void(const Tensor& x)>;
    const std::vector<std::pair<const char*, Change>> changes{
        {"a result",
         [](const Tensor& x) {
           Tensor y = x * 1;
           y.add_(y * x);
         }},
        {"again and again",
         [](const Tensor& x) {
           Tensor y = x * 1, m = y * x;
           for (int i = 0; i < 5; ++i) {
             y.add_(1);
             y.add_(m);
             m = exp(y * x) + m;
           }
         }},
        {"a constant",
         [](const Tensor& x) {
           Tensor y = row({3, 4});
           y.add_(y * x);
         }},
        {"the base of a view",
         [](const Tensor& x) {
           Tensor y = x * 1;
           const Tensor view = y.slice(0, 0, 1);
           y.add_(view * x);
           y.mul_(view);
         }},
        {"a view",
         [](const Tensor& x) {
           const Tensor y = x * 1;
           Tensor view = y.slice(0, 0, 1);
           view.add_((view * x).slice(0, 0, 1));
           view.add_((y * x).slice(0, 1, 2));
         }},
        {"two buffers",
         [](const Tensor& x) {
           Tensor y = x * 1, z = x * 2;
           for (int i = 0; i < 5; ++i) {
             y.add_(z * y);
             z.add_(y * z * x);
           }
         }},
        {"an input of a Function",
         [](const Tensor& x) {
           Tensor y = x * 1;
           y.add_(apply("cube", y));
           y.add_(apply("cube_by_result", y));
         }},
        {"an operand of a list",
         [](const Tensor& x) {
           Tensor y = x * 1, z = x * 1;
           apply("multiply_all_", z, std::vector<Tensor>{y, x});
           y.add_(z);
         }},
        {"an operand with a tangent",
         [](const Tensor& x) {
           const DualLevel level;
           Tensor y = make_dual(x * 1, row({1, 1}));
           y.add_(y * x);
         }},
    };
    for (const auto& each : changes) {
      INFO(each.first);
      const int64_t ops = live("math"), functions = live("functions");
      for (int i = 0; i < 20; ++i) each.second(leaf({1, 2}));
      CHECK(live("math") == ops);
      CHECK(live("functions") == functions);
    }
    track_live(before);
    // Saved tensors are still checked for changes.
    const Tensor x = leaf({1, 2});
    Tensor y = x * 1;
    y.add_(y * x);
    CHECK(refusal([&] { sum(y).backward(); }).kind == TENON_ERROR_INPLACE);
  }
}
