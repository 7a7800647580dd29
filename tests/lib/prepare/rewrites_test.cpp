// Rewrites of lists: which calls rules fit, what they leave, and when they are not used.
#include <functional>
#include <limits>

#include "tests/lib/prepare/support.hpp"

using namespace preparing;

namespace {

// Options with these rules alone.
PrepareOptions with(const std::vector<std::string>& rules) {
  PrepareOptions options;
  options.rewrites.declared = false;
  for (const std::string& rule : rules)
    options.rewrites.rules.push_back(rewrites::read_rule("", rule));
  return options;
}

// A graph over x of [2, 3] and y of [3, 2], unless it says otherwise.
Module graph(const std::string& nodes, const std::string& outputs) {
  return model_of(R"({"type": "Graph", "inputs": ["x", "y"], "nodes": {)" + nodes +
                  R"(}, "outputs": [)" + outputs + "]}");
}
std::string node(const std::string& name, const std::string& op, const std::string& inputs,
                 const std::string& attributes = "") {
  return "\"" + name + R"(": {"op": ")" + op + R"(", "inputs": [)" + inputs + "]" +
         (attributes.empty() ? "" : ", " + attributes) + "}";
}

struct Prepare {
  Prepared prepared;
  PreparedList list;
  bool same;

  // Every rule can be used.
  Prepare(const Module& model, const PrepareOptions& options,
          const std::vector<Tensor>& inputs = {randn({2, 3}), randn({3, 2})})
      : prepared(prepare(model, {}, options)), same(agrees(prepared, model, inputs)) {
    list = prepared.lists().front();
    CHECK(list.reason == "");
    for (const rewrites::ListedRule& rule : rewrites::rules(options.rewrites)) {
      if (options.rewrites.disable.empty()) CHECK(rule.reason == "");
    }
  }
  std::string ops() const {
    std::string text;
    for (const PreparedCall& call : list.calls) text += (text.empty() ? "" : " ") + call.op;
    return text;
  }
  std::string used() const {
    std::string text;
    for (const rewrites::Applied& one : list.rewrites)
      text += (text.empty() ? "" : " ") + one.rule + ":" + std::to_string(one.count);
    return text;
  }
};

}  // namespace

TEST_SUITE("lib/prepare/rewrites") {
  TEST_CASE("a rule replaces the calls of its pattern") {
    const Prepare made(graph(node("a", "neg", R"("x")") + ", " + node("b", "neg", R"("a")") + ", " +
                                 node("c", "tanh", R"("b")"),
                             R"("c")"),
                       with({"t.neg: tanh(neg(neg(x))) => tanh(x)"}));
    CHECK(made.ops() == "tanh");
    CHECK(made.used() == "t.neg:1");
    CHECK(made.same);
    CHECK(made.list.calls.front().rewrite == "t.neg");
  }

  TEST_CASE("a result that another call reads, or that is an output, is not replaced away") {
    const std::string calls =
        node("a", "neg", R"("x")") + ", " + node("b", "tanh", R"("a")") + ", ";
    const PrepareOptions rules = with({"t.tanh: tanh(neg(x)) => neg(tanh(x))"});
    const Prepare read(graph(calls + node("c", "exp", R"("a")"), R"("b", "c")"), rules);
    CHECK(read.used() == "");
    const Prepare shown(graph(calls + node("c", "exp", R"("b")"), R"("a", "c")"), rules);
    CHECK(shown.used() == "");
    const Prepare alone(graph(calls + node("c", "exp", R"("b")"), R"("c")"), rules);
    CHECK(alone.used() == "t.tanh:1");
    CHECK(alone.ops() == "tanh neg exp");
    CHECK(alone.same);
  }

  TEST_CASE("parameters that a pattern does not mention have their defaults") {
    const PrepareOptions rules = with({"t.soft: nn.functional.leaky_relu(x) => tanh(x)"});
    const auto leaky = [&](const std::string& attributes) {
      const Module model =
          graph(node("a", "nn.functional.leaky_relu", R"("x")", attributes), R"("a")");
      const Prepared prepared = prepare(model, {{randn({2, 3}), randn({3, 2})}}, rules);
      return prepared.lists().front().calls.front().op;
    };
    CHECK(leaky("") == "tanh");
    CHECK(leaky(R"("negative_slope": 0.01)") == "tanh");
    CHECK(leaky(R"("negative_slope": 0.5)") == "nn.functional.leaky_relu");
  }

  TEST_CASE("keywords bind values, and the rest of the parameters goes to the replacement") {
    const Module model =
        graph(node("a", "neg", R"("x")") + ", " +
                  node("b", "nn.functional.leaky_relu", R"("a")", R"("negative_slope": 0.5)"),
              R"("b")");
    const Prepare rest(model, with({"t.a: nn.functional.leaky_relu(neg(x), ...) => "
                                    "nn.functional.leaky_relu(neg(neg(neg(x))), ...)"}));
    CHECK(rest.list.refused.size() == 1);  // it fits what it makes
    const Prepare bound(model, with({"t.a: nn.functional.leaky_relu(neg(x), negative_slope=s) => "
                                     "nn.functional.leaky_relu(mul(x, -1), s) where s > 0.25"}));
    CHECK(bound.ops() == "mul nn.functional.leaky_relu");
    CHECK(bound.same);
    const Prepare refused(model, with({"t.a: nn.functional.leaky_relu(neg(x), negative_slope=s) => "
                                       "tanh(x) where s > 0.75"}));
    CHECK(refused.used() == "");
  }

  TEST_CASE("a variable that is used twice is the same tensor") {
    const PrepareOptions rules = with({"t.twice: add(x, x) => mul(x, 2)"});
    const Prepare same(graph(node("a", "add", R"("x", "x")"), R"("a")"), rules);
    CHECK(same.ops() == "mul");
    CHECK(same.same);
    const Prepare other(
        graph(node("a", "neg", R"("x")") + ", " + node("b", "add", R"("a", "x")"), R"("b")"),
        rules);
    CHECK(other.ops() == "neg add");
  }

  TEST_CASE("lists match item by item") {
    const PrepareOptions rules = with({"t.cat: cat([x, neg(x)], dim=d) => neg(cat([neg(x), x], d))",
                                       "t.reshape: reshape(x, [a, b]) => reshape(x, [b, a])"});
    const Prepare made(graph(node("a", "neg", R"("x")") + ", " +
                                 R"("b": {"op": "cat", "inputs": [["x", "a"]], "dim": 1})",
                             R"("b")"),
                       rules);
    CHECK(made.used() == "t.cat:1");
    CHECK(made.same);
    const Prepare reshaped(graph(node("a", "reshape", R"("x")", R"("shape": [3, 2])"), R"("a")"),
                           rules);
    CHECK(reshaped.used() == "");
    REQUIRE(reshaped.list.refused.size() == 1);
    CHECK(reshaped.list.refused.front() ==
          "t.reshape: it would give f32[2, 3] in place of f32[3, 2]");
  }

  TEST_CASE("several results are replaced one for one") {
    const PrepareOptions rules =
        with({"t.three: [tanh(x), neg(x), exp(x)] => [neg(neg(tanh(x))), mul(x, -1), exp(x)] where "
              "dtype(x) == f64",
              "t.pair: [tanh(x), neg(x)] => [neg(neg(tanh(x))), mul(x, -1)] where dim(x) == 2"});
    const Prepare made(
        graph(node("a", "tanh", R"("x")") + ", " + node("b", "neg", R"("x")") + ", " +
                  node("c", "add", R"("a", "b")"),
              R"("c")"),
        with({"t.pair: [tanh(x), neg(x)] => [tanh(x), mul(x, -1)] where dim(x) == 2, "
              "not constant(x)"}));
    CHECK(made.list.refused.size() == 0);
    CHECK(made.used() == "t.pair:1");
    CHECK(made.ops() == "tanh mul add");
    CHECK(made.same);
  }

  TEST_CASE("the results of one call are replaced by those of another") {
    const PrepareOptions rules = with({"t.chunk: chunk(x, n, dim=1) => chunk(x, n, dim=-1)",
                                       "t.joined: [neg(x), neg(y)] => chunk(neg(cat([x, y])), "
                                       "(1 + 1)) where same_shape(x, y)"});
    const Prepare made(
        graph(node("a", "neg", R"("x")") + ", " + node("b", "tanh", R"("x")") + ", " +
                  node("c", "neg", R"("b")") + ", " + node("d", "add", R"("a", "c")"),
              R"("d")"),
        rules);
    CHECK(made.used() == "t.joined:1");
    CHECK(made.ops() == "tanh cat neg chunk add");
    CHECK(made.same);
  }

  TEST_CASE("calls on constants are folded when a rule makes them") {
    const Module layer = model_of(R"({"type": "Linear", "in_features": 3, "out_features": 4})");
    const PrepareOptions rules =
        with({"t.negated: nn.functional.linear(x, w, b) => nn.functional.linear(x, neg(neg(w)), b) "
              "where "
              "constant(w), w != none"});
    const Prepared prepared = prepare(layer, {{randn({2, 3})}}, rules);
    const PreparedList list = prepared.lists().front();
    CHECK(list.calls.size() == 1);
    CHECK(has(list.refused, "t.negated: stopped"));
    const Prepared once =
        prepare(layer, {},
                with({"t.moved: nn.functional.linear(x, w, b) => "
                      "neg(nn.functional.linear(neg(x), w, neg(neg(neg(b))))) where constant(w)",
                      "t.cancel: neg(neg(x)) => x"}));
    CHECK(agrees(once, layer, {randn({2, 3})}));
  }

  TEST_CASE("conditions read dtypes, shapes, constants and their elements") {
    const auto used = [](const std::string& condition) {
      const Module model =
          graph(node("a", "mul", R"("x", 0.5)") + ", " + node("b", "neg", R"("a")"), R"("b")");
      const Prepare made(model, with({"t.a: neg(mul(x, c)) => mul(neg(x), c) where " + condition}));
      CHECK(made.same);
      return made.used() == "t.a:1";
    };
    CHECK(used("dtype(x) == f32"));
    CHECK(!used("dtype(x) == float64"));
    CHECK(used("dtype(x) in [f32, f64]"));
    CHECK(used("dtype(x) not in [i32, i64]"));
    CHECK(used("shape(x) == [2, 3]"));
    CHECK(used("size(x, 0) * size(x, -1) == numel(x)"));
    CHECK(!used("size(x, 2) == 1"));
    CHECK(!used("not size(x, 2) == 1"));
    CHECK(used("value(c) == 0.5"));
    CHECK(used("near(value(c), 0.50000001)"));
    CHECK(!used("constant(x)"));
    CHECK(used("contiguous(x) and dim(x) == 2 or constant(x)"));
    CHECK(used("7 // 2 == 3, 7 % 4 == 3, -7 // 2 == -4, 7 / 2 == 3.5"));
    CHECK(used("min(1, 2) + max(1, 2) == len([1, 2, 3])"));
    CHECK(used("is_tensor(x), not is_tensor(c)"));
    CHECK(used("finite(c), not finite(x), finite(none)"));
    CHECK(used("least(c) == 0.5"));
    CHECK(!used("least(x) == least(x)"));
  }

  TEST_CASE("conditions read whether constants are finite, and their least element") {
    const auto used = [](float element, const std::string& condition = "finite(w)") {
      const Module layer = model_of(R"({"type": "Linear", "in_features": 3, "out_features": 4})");
      fill_elements(layer.parameters().front(), element);
      const Prepared prepared =
          prepare(layer, {{randn({2, 3})}},
                  with({"t.apart: nn.functional.linear(x, w, b) => "
                        "add(nn.functional.linear(x, w), b) where is_tensor(b), " +
                        condition}));
      const PreparedList list = prepared.lists().front();
      return list.calls.size() == 2;
    };
    CHECK(used(1));
    CHECK(!used(std::numeric_limits<float>::infinity()));
    CHECK(!used(-std::numeric_limits<float>::infinity()));
    CHECK(!used(std::numeric_limits<float>::quiet_NaN()));
    CHECK(used(2, "least(w) == 2"));
    CHECK(!used(-1, "least(w) >= 0"));
    CHECK(!used(std::numeric_limits<float>::quiet_NaN(), "least(w) == least(w)"));
  }

  TEST_CASE("a larger pattern comes first, and preferred rules before it") {
    const Module model =
        graph(node("a", "neg", R"("x")") + ", " + node("b", "tanh", R"("a")"), R"("b")");
    PrepareOptions rules =
        with({"t.a_small: neg(x) => mul(x, -1)", "t.large: tanh(neg(x)) => mul(tanh(x), -1)"});
    CHECK(Prepare(model, rules).used() == "t.large:1");
    rules.rewrites.prefer = {"t.a_*"};
    CHECK(Prepare(model, rules).used() == "t.a_small:1");
    rules.rewrites.disable = {"t.*"};
    CHECK(Prepare(model, rules).used() == "");
  }

  // ---- memory ----

  TEST_CASE("a result that a later call changes in place is not replaced by its operand") {
    const PrepareOptions rules = with({"t.nothing: mul(x, 1) => x"});
    const auto changed = [&](const std::string& last, const std::string& output) {
      return Prepare(graph(node("a", "mul", R"("x", 1)") + ", " + last, output), rules);
    };
    const Prepare read = changed(node("b", "tanh", R"("a")"), R"("b")");
    CHECK(read.ops() == "tanh");
    CHECK(read.same);
    const Prepare written = changed(node("b", "tanh_", R"("a")"), R"("b")");
    CHECK(written.used() == "");
    CHECK(written.same);
    const Prepare operand =
        changed(node("b", "tanh_", R"("x")") + ", " + node("c", "add", R"("a", "b")"), R"("c")");
    CHECK(operand.used() == "");
    CHECK(operand.same);
    const Prepare shown = changed(node("b", "tanh", R"("x")"), R"("a", "b")");
    CHECK(shown.used() == "");
    CHECK(shown.same);
  }

  TEST_CASE("calls that change their operands in place match no pattern") {
    const Prepare made(
        graph(node("a", "neg", R"("x")") + ", " + node("b", "tanh_", R"("a")"), R"("b")"),
        with({"t.a: tanh(neg(x)) => neg(tanh(x))"}));
    CHECK(made.used() == "");
    CHECK(made.same);
  }

  TEST_CASE("an operand that is changed between two calls of a pattern prevents the rule") {
    const PrepareOptions rules = with({"t.a: add(neg(x), _) => sub(x, x)"});
    const Prepare made(graph(node("a", "neg", R"("x")") + ", " + node("b", "tanh_", R"("x")") +
                                 ", " + node("c", "add", R"("a", "b")"),
                             R"("c")"),
                       rules);
    CHECK(made.used() == "");
    CHECK(made.same);
  }

  TEST_CASE("views that cancel leave the operand") {
    const std::string twice = node("a", "transpose", R"("x")", R"("dim0": 0, "dim1": 1)") + ", " +
                              node("b", "transpose", R"("a")", R"("dim0": 0, "dim1": 1)") + ", ";
    const PrepareOptions rules = with({"t.cancel: transpose(transpose(x, a, b), a, b) => x"});
    const Prepare read(graph(twice + node("c", "tanh", R"("b")"), R"("c")"), rules);
    CHECK(read.ops() == "tanh");
    CHECK(read.same);
    const Prepare written(
        graph(twice + node("c", "tanh_", R"("b")") + ", " + node("d", "neg", R"("x")"), R"("d")"),
        rules);
    CHECK(written.ops() == "tanh_ neg");
    CHECK(written.same);
  }

  TEST_CASE("a result behind views that cancelled is replaced by another") {
    const std::string turned = R"("dim0": 0, "dim1": 1)";
    const Prepare made(
        graph(node("a", "neg", R"("x")") + ", " + node("b", "transpose", R"("a")", turned) + ", " +
                  node("c", "transpose", R"("b")", turned),
              R"("c")"),
        with({"t.cancel: transpose(transpose(x, a, b), a, b) => x",
              "t.other: neg(x) => mul(x, -1)"}));
    CHECK(made.ops() == "mul");
    CHECK(made.same);
  }

  TEST_CASE("a view that a rule would replace by a copy stays where memory is changed") {
    const std::string view = node("a", "transpose", R"("x")", R"("dim0": 0, "dim1": 1)") + ", ";
    const PrepareOptions rules = with({"t.copy: transpose(x, 0, 1) => transpose(mul(x, 1), 0, 1)"});
    const Prepare written(graph(view + node("b", "tanh_", R"("a")"), R"("b")"), rules);
    CHECK(written.used() == "");
    CHECK(written.same);
  }

  // ---- no end ----

  TEST_CASE("a rule that never ends is stopped and named") {
    const Module model =
        graph(node("a", "neg", R"("x")") + ", " + node("b", "tanh", R"("a")"), R"("b")");
    const Prepare made(
        model, with({"t.endless: tanh(x) => tanh(neg(neg(x)))", "t.other: neg(x) => mul(x, -1)"}));
    CHECK(made.used() == "t.other:1");
    CHECK(made.same);
    CHECK(has(made.list.refused, "t.endless: stopped, since it fits what it makes without end"));
  }

  TEST_CASE("rules that undo each other are stopped and named") {
    const Prepare made(
        graph(node("a", "neg", R"("x")") + ", " + node("b", "tanh", R"("a")"), R"("b")"),
        with({"t.to: tanh(neg(x)) => neg(tanh(x))", "t.fro: neg(tanh(x)) => tanh(neg(x))"}));
    CHECK(made.used() == "");
    CHECK(made.same);
    CHECK(has(made.list.refused, "t.fro, t.to: stopped, since they undo each other without end"));
  }

  TEST_CASE("a long chain that one rule shortens call by call ends") {
    std::string nodes = node("n0", "neg", R"("x")");
    for (int i = 1; i < 60; ++i)
      nodes += ", " + node("n" + std::to_string(i), i % 2 == 1 ? "tanh" : "neg",
                           "\"n" + std::to_string(i - 1) + "\"");
    const Prepare made(graph(nodes, R"("n59")"), with({"t.outward: tanh(neg(x)) => neg(tanh(x))",
                                                       "t.cancel: neg(neg(x)) => x"}));
    CHECK(made.list.refused.empty());
    CHECK(made.list.calls.size() == 30);
    CHECK(made.same);
  }

  // ---- rules that are not used ----

  TEST_CASE("a rule whose replacement raises is not used, with the reason") {
    const Prepare made(graph(node("a", "neg", R"("x")"), R"("a")"),
                       with({"t.a: neg(x) => matmul(x, x)"}));
    CHECK(made.used() == "");
    CHECK(made.same);
    CHECK(has(made.list.refused, "t.a: "));
  }

  TEST_CASE("a replacement that draws random numbers is not used") {
    const Prepare made(graph(node("a", "neg", R"("x")"), R"("a")"),
                       with({"t.a: neg(x) => nn.functional.dropout(neg(mul(x, 1)), 0.5, true)"}));
    CHECK(made.used() == "");
    CHECK(made.same);
  }
}
