// Rules of rewrites as texts, and the rules that plugins declare.
#include <tenon/runtime.hpp>

#include "tests/lib/prepare/support.hpp"

using namespace preparing;

namespace {

std::string fault(const std::string& rule, const std::string& plugin = "") {
  try {
    rewrites::read_rule(plugin, rule);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}
// The reason for which a rule that can be read is not used.
std::string reason(const std::string& rule) {
  rewrites::Options options;
  options.declared = false;
  options.rules = {rewrites::read_rule("", rule)};
  return rewrites::rules(options).front().reason;
}
bool contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE("'" << part << "' is not in: " << text);
  return false;
}

rewrites::ListedRule declared(const std::string& name) {
  for (const rewrites::ListedRule& rule : rewrites::rules()) {
    if (rule.rule.name == name) return rule;
  }
  FAIL("no rule is named " << name);
  return {};
}

// Finds the fixture whose rules the tests use.
void find_fixture() {
  static const bool added = (add_plugin_path(TENON_FIXTURES "/rewrites"), true);
  REQUIRE(added);
}

}  // namespace

TEST_SUITE("lib/prepare/rewrite_rules") {
  TEST_CASE("a rule is read into pattern, replacement, conditions and bound") {
    const rewrites::Rule rule = rewrites::read_rule(
        "acme",
        "acme.joined: add(mul(x, 2.5), y, alpha=a).0 => acme.joined(x, [y, none], (a * 2)) "
        "where a == 1 or dim(x) in [1, 2], not constant(y) within 1e-6");
    CHECK(rule.name == "acme.joined");
    CHECK(rule.bound == 1e-6);
    CHECK(rule.pattern_text == "add(mul(x, 2.5), y, alpha=a).0");
    CHECK(rule.replacement_text == "acme.joined(x, [y, none], (a * 2))");
    CHECK(rule.condition_text == "a == 1 or dim(x) in [1, 2], not constant(y)");
    REQUIRE(rule.pattern.size() == 1);
    const rewrites::Term& root = rule.pattern.front();
    CHECK(root.name == "add");
    CHECK(root.result == 0);
    REQUIRE(root.items.size() == 3);
    CHECK(root.items[0].items[1].literal.number == 2.5);
    CHECK(root.items[2].keyword == "alpha");
    CHECK(root.items[2].name == "a");
    const rewrites::Term& made = rule.replacement.front();
    CHECK(made.items[1].kind == rewrites::Term::Kind::list);
    CHECK(made.items[2].kind == rewrites::Term::Kind::computed);
    CHECK(made.items[2].computed.name == "*");
    REQUIRE(rule.conditions.size() == 2);
    CHECK(rule.conditions[0].name == "or");
    CHECK(rule.conditions[1].name == "not");
  }

  TEST_CASE("a fault names the plugin, the rule and the column") {
    CHECK(fault("acme.a: add(x, y => x", "acme") ==
          "the rewrite 'acme.a: add(x, y => x' of plugin 'acme' has at column 18 not ',' or ')'");
    CHECK(fault("acme.a: add(x, y) => z", "acme") ==
          "the rewrite 'acme.a: add(x, y) => z' of plugin 'acme' has at column 22 'z', which the "
          "pattern does not have");
    CHECK(fault("other.a: add(x, y) => x", "acme") ==
          "the rewrite 'other.a: add(x, y) => x' of plugin 'acme' has at column 1 not a name that "
          "begins with that of its plugin, 'acme.'");
  }

  TEST_CASE("texts that are not rules are refused") {
    for (const auto& [rule, part] : std::vector<std::pair<std::string, std::string>>{
             {"", "column 1 not the rule's name"},
             {"a.b", "not a colon"},
             {"a.b:", "not a call, a variable or a value"},
             {"a.b: x => x", "column 6 not a call of an op"},
             {"a.b: 1 => 1", "column 6 not a call of an op"},
             {"a.b: f(x) x", "not '=>'"},
             {"a.b: f(x) => x y", "not the end of the line"},
             {"a.b: f(x) => _", "'_', which is for patterns"},
             {"a.b: f(x, ...) => g(x, ...r)", "'...r', which the pattern does not have"},
             {"a.b: f(k=1, x) => x", "column 13 not an argument by position"},
             {"a.b: [f(x), g(x)] => [x]", "not as many results as the pattern's list, 2"},
             {"a.b: f(x) => x where siz(x, 1) == 1", "the unknown function 'siz'"},
             {"a.b: f(x) => x where size(x) == 1", "size() with 1 operand: it takes 2"},
             {"a.b: f(x) => x where y == 1", "'y', which the pattern does not have"},
             {"a.b: f(x) => x where x == ", "not a variable, a function or a value"},
             {"a.b: f(x) => x within 0", "not the largest relative difference"},
             {"a.b: f(x) => x within x", "not the largest relative difference"},
             {"a.b: f('x) => x", "not a text with a quote at its end"},
             {"a.b: f(1.2.3) => x", "not"},
             {"a.b: f(f32=1) => x", "not"},
             {"a.b: f(9999999999999999999) => f(1)", "not a number"}}) {
      CAPTURE(rule);
      CHECK(contains(fault(rule), part));
    }
    std::string deep = "a.b: ";
    for (int i = 0; i < 50; ++i) deep += "f(";
    CHECK(contains(fault(deep + "x"), "at most 40 calls inside of each other"));
    CHECK(contains(fault("a.b: f(" + std::string(20000, 'x') + ") => x"), "at most 16384"));
  }

  TEST_CASE("a rule that calls ops otherwise than their schemas say is not used") {
    CHECK(reason("t.a: neg(neg(x)) => x") == "");
    for (const auto& [rule, part] : std::vector<std::pair<std::string, std::string>>{
             {"t.a: neg(x) => nega(x)", "column 16 the op 'nega', which no plugin declares"},
             {"t.a: neg(x, y) => x", "an argument more than neg() takes by position"},
             {"t.a: neg(x, k=1) => x", "'k', which neg() does not take"},
             {"t.a: neg(x, input=y) => x", "'input' a second time"},
             {"t.a: add(x) => x", "add() without 'other', which has no default"},
             {"t.a: neg(x, out=y) => x", "'out', which neg() changes in place"},
             {"t.a: neg_(x) => x", "changes in place"},
             {"t.a: neg(1) => neg(1)", "a value that does not fit 'input', which is Tensor"},
             {"t.a: neg([x]) => x", "a list for 'input', which is Tensor"},
             {"t.a: neg(x).1 => x", "result 1 of neg(), which has 1"},
             {"t.a: nn.functional.softmax(x, ...) => neg(x, ...)", "neg() does not take it"}}) {
      CAPTURE(rule);
      CHECK(contains(reason(rule), part));
    }
  }

  TEST_CASE("declared rules are listed with the reasons of those that are not used") {
    find_fixture();
    CHECK(declared("rewrites.twice").reason == "");
    CHECK(declared("rewrites.twice").rule.plugin == "rewrites");
    CHECK(declared("rewrites.twice").rule.bound == 0);
    CHECK(contains(declared("rewrites.missing").reason,
                   "the op 'rewrites.nothing', which no plugin declares"));
    CHECK(contains(declared("rewrites.unreadable").reason, "of plugin 'rewrites' has at column"));
    CHECK(contains(declared("other.named").reason, "not a name that begins with"));
    CHECK(declared("rewrites.equal").reason == "2 rules have its name: rename all but one");
  }

  TEST_CASE("a prepared model uses the rules of plugins, unless they are disabled") {
    find_fixture();
    const Module model = model_of(R"({"type": "Graph", "inputs": ["x"], "nodes": {
        "a": {"op": "add", "inputs": ["x", "x"]}, "b": {"op": "rewrites.twice", "inputs": ["a"]}}})");
    const auto ops = [&](const PrepareOptions& options) {
      std::string text;
      const Prepared prepared = prepare(model, {{randn({2, 3})}}, options);
      const PreparedList list = prepared.lists().front();
      for (const PreparedCall& call : list.calls) text += call.op + " ";
      CHECK(agrees(prepared, model, {randn({2, 3})}));
      return text;
    };
    CHECK(ops({}) == "rewrites.twice rewrites.twice ");
    PrepareOptions options;
    options.rewrites.disable = {"rewrites.*"};
    CHECK(ops(options) == "add rewrites.twice ");
    options.rewrites = rewrites::options_of(Json::parse(R"({"enabled": false})"));
    CHECK(ops(options) == "add rewrites.twice ");
    CHECK_THROWS_AS(rewrites::options_of(Json::parse(R"({"disabled": ["a"]})")), ConfigError);
  }

  TEST_CASE("a policy of the process holds for models that are prepared already") {
    find_fixture();
    const Module model = model_of(
        R"({"type": "Graph", "inputs": ["x"], "nodes": {"a": {"op": "add", "inputs": ["x", "x"]}}})");
    const Prepared prepared = prepare(model, {{randn({2, 3})}});
    const auto op = [&] {
      CHECK(agrees(prepared, model, {randn({2, 3})}));
      return prepared.lists().front().calls.front().op;
    };
    CHECK(op() == "rewrites.twice");
    rewrites::apply_policy(Json::parse(R"({"disable": ["rewrites.tw*"]})"));
    CHECK(op() == "add");
    CHECK(declared("rewrites.twice").reason == "it is disabled");
    rewrites::apply_policy(Json::parse("{}"));
    CHECK(op() == "rewrites.twice");
  }

  TEST_CASE("a rule goes with the plugin that declares it") {
    find_fixture();
    const Module model = model_of(
        R"({"type": "Graph", "inputs": ["x"], "nodes": {"a": {"op": "add", "inputs": ["x", "x"]}}})");
    const Prepared prepared = prepare(model, {{randn({2, 3})}});
    CHECK(prepared.lists().front().calls.front().op == "rewrites.twice");
    unload("rewrites");
    CHECK(declared("rewrites.twice").reason == "its plugin is not used, or is unloaded");
    CHECK(agrees(prepared, model, {randn({2, 3})}));
    CHECK(prepared.lists().front().calls.front().op == "add");
    load_plugin("rewrites");
    CHECK(agrees(prepared, model, {randn({2, 3})}));
    CHECK(prepared.lists().front().calls.front().op == "rewrites.twice");
  }
}
