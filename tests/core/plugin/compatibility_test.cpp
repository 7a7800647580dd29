// Differences that callers notice in another build of a plugin: each kind of change, and, for
// random schemas, that a call which bound before binds the same where nothing breaks.
#include "core/plugin/compatibility.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "core/dispatch/binding/arguments.hpp"
#include "tenon/abi/op.h"
#include "tenon/abi/type.h"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

PluginFacts plugin_of(OpFacts op) {
  PluginFacts facts;
  facts.id = "made";
  facts.version = "1.0.0";
  facts.abi_major = 1;
  facts.ops.push_back(std::move(op));
  return facts;
}

OpFacts op_of(std::string schema) {
  OpFacts op;
  op.schema = std::move(schema);
  return op;
}

// "-": breaks, "+": added; one line for each change.
std::string changes(const PluginFacts& before, const PluginFacts& now) {
  std::string text;
  for (const CompatibilityChange& change : compare_plugins(before, now)) {
    CHECK_FALSE(change.name.empty());
    text += (change.breaks ? "-" : "+") + change.what + "\n";
  }
  return text;
}

std::string op_changes(const OpFacts& before, const OpFacts& now) {
  return changes(plugin_of(before), plugin_of(now));
}

std::string schema_changes(const std::string& before, const std::string& now) {
  return op_changes(op_of("m.f" + before), op_of("m.f" + now));
}

template <class Change>
std::string after(OpFacts before, Change change) {
  OpFacts now = before;
  change(now);
  return op_changes(before, now);
}

template <class Facts>
std::string item_changes(std::vector<Facts> PluginFacts::*list, const Facts& before,
                         const Facts& now) {
  PluginFacts old_plugin = plugin_of(op_of("m.f() -> Tensor"));
  PluginFacts new_plugin = old_plugin;
  (old_plugin.*list).push_back(before);
  (new_plugin.*list).push_back(now);
  return changes(old_plugin, new_plugin);
}

}  // namespace

TEST_SUITE("compatibility") {
  TEST_CASE("the same declarations, written otherwise, change nothing") {
    CHECK(schema_changes("(Tensor input, int dim=0) -> Tensor",
                         "( Tensor input , int dim = 0 )->Tensor") == "");
    CHECK(schema_changes("(Tensor(a) input) -> Tensor(a)", "(Tensor(b) input) -> Tensor(b)") == "");
  }

  TEST_CASE("parameters that are gone, renamed, moved, retyped or required break callers") {
    CHECK(schema_changes("(Tensor a, int k=1) -> Tensor", "(Tensor a) -> Tensor") ==
          "-it has no parameter 'k' now\n");
    CHECK(schema_changes("(Tensor a) -> Tensor", "(Tensor b) -> Tensor") ==
          "-its parameter 'a' is called 'b' now\n");
    CHECK(schema_changes("(Tensor a, int k=1) -> Tensor", "(Tensor a, int j) -> Tensor") ==
          "-its parameter 'k' is called 'j' now\n-its parameter 'j' has no default\n");
    CHECK(schema_changes("(Tensor a, Tensor b) -> Tensor", "(Tensor b, Tensor a) -> Tensor") ==
          "-its parameter 'a' has moved from place 1 to 2\n"
          "-its parameter 'b' has moved from place 2 to 1\n");
    CHECK(schema_changes("(float x) -> Tensor", "(int x) -> Tensor") ==
          "-its parameter 'x' takes int instead of float\n");
    CHECK(schema_changes("(Tensor? x) -> Tensor", "(Tensor x) -> Tensor") ==
          "-its parameter 'x' takes Tensor instead of Tensor?\n");
    CHECK(schema_changes("(Tensor a) -> Tensor", "(Tensor a, int k) -> Tensor") ==
          "-it requires a parameter 'k', which was not there\n");
    CHECK(schema_changes("(Tensor a, int k=1) -> Tensor", "(Tensor a, *, int k=1) -> Tensor") ==
          "-its parameter 'k' is taken by name only now\n");
  }

  TEST_CASE("defaults that change or go break callers that left them out") {
    CHECK(schema_changes("(int k=1) -> Tensor", "(int k=2) -> Tensor") ==
          "-the default of its parameter 'k' is 2 instead of 1\n");
    CHECK(schema_changes("(int k=1) -> Tensor", "(int k) -> Tensor") ==
          "-its parameter 'k' has no default now; it was 1\n");
    CHECK(schema_changes("(int k) -> Tensor", "(int k=2) -> Tensor") == "");
  }

  TEST_CASE("what takes more than before, or has a default, breaks nothing") {
    CHECK(schema_changes("(int x, Tensor t) -> Tensor", "(float x, Tensor? t) -> Tensor") == "");
    CHECK(schema_changes("(int x, *, bool b) -> Tensor", "(Scalar x, any b) -> Tensor") == "");
    CHECK(schema_changes("(Tensor a) -> Tensor", "(Tensor a, int k=1) -> Tensor") ==
          "+it has a parameter 'k' with the default 1\n");
  }

  TEST_CASE("results that are other ones break callers") {
    CHECK(schema_changes("(Tensor a) -> Tensor", "(Tensor a) -> (Tensor, Tensor)") ==
          "-it returns 2 results instead of 1\n");
    CHECK(schema_changes("(Tensor a) -> int", "(Tensor a) -> float") ==
          "-its result 1 is float instead of int\n");
    CHECK(schema_changes("(Tensor a) -> (Tensor x, Tensor y)",
                         "(Tensor a) -> (Tensor x, Tensor z)") ==
          "-its result 2 is called 'z'; it was called 'y'\n");
    CHECK(schema_changes("(Tensor a) -> Tensor", "(Tensor(a) a) -> Tensor(a)") ==
          "-its result 1 shares memory with its argument 'a' now\n");
    CHECK(schema_changes("(Tensor(a) a) -> Tensor(a)", "(Tensor a) -> Tensor") ==
          "-its result 1 does not share memory with its argument 'a' now\n");
    CHECK(schema_changes("(Tensor(a) a, Tensor b) -> Tensor(a)",
                         "(Tensor a, Tensor(a) b) -> Tensor(a)") ==
          "-its result 1 does not share memory with its argument 'a' now\n"
          "-its result 1 shares memory with its argument 'b' now\n");
    CHECK(schema_changes("(Tensor a) -> ()", "(Tensor(a!) a) -> ()") ==
          "-it changes its argument 'a' in place now\n");
  }

  TEST_CASE("gradients, tangents and overriding that are lost break callers") {
    OpFacts op = op_of("m.f(Tensor a) -> Tensor");
    op.differentiable = "formula";
    op.jvp = "rule";
    CHECK(after(op, [](OpFacts& now) { now.differentiable = "none"; }) ==
          "-it has no gradient now\n");
    CHECK(after(op, [](OpFacts& now) {
            now.differentiable = "none";
            now.flags |= TENON_OP_ZERO_GRADIENT;
          }) == "-its gradient is zero now\n");
    CHECK(after(op, [](OpFacts& now) { now.differentiable = "composite"; }) == "");
    CHECK(after(op, [](OpFacts& now) { now.jvp = "none"; }) == "-it has no jvp now\n");
    CHECK(after(op,
                [](OpFacts& now) {
                  now.flags |= TENON_OP_ONCE_DIFFERENTIABLE | TENON_OP_JVP_ONCE |
                               TENON_OP_NOT_OVERRIDABLE | TENON_OP_MAY_COPY;
                }) ==
          "-differentiating its backward is an error now\n"
          "-differentiating its jvp is an error now\n"
          "-it cannot be overridden now\n"
          "-its result may be a copy now\n");
    OpFacts zero = op_of("m.f(Tensor a) -> Tensor");
    zero.flags = TENON_OP_ZERO_GRADIENT;
    CHECK(after(zero, [](OpFacts& now) { now.flags = 0; }) ==
          "-a call that is recorded is an error now; its gradient was zero\n");
    CHECK(op_changes(zero, op) == "+it has a gradient\n+it has a jvp\n");
  }

  TEST_CASE("modules, types and overrides are compared, too") {
    ModuleFacts linear;
    linear.schema = "Linear(int width)";
    linear.forward = "forward(Tensor input) -> Tensor";
    linear.mode = true;
    ModuleFacts other = linear;
    other.forward = "forward(Tensor input, Tensor mask) -> Tensor";
    other.mode = false;
    CHECK(item_changes(&PluginFacts::modules, linear, other) ==
          "-it requires a parameter 'mask', which was not there\n"
          "-it cannot be entered as a mode now\n");
    TypeFacts type;
    type.type = "Scaled";
    type.parent = "Tensor";
    type.payload = {8, 8, 1};
    type.handler = true;
    TypeFacts changed = type;
    changed.parent = "";
    changed.payload = {16, 8, 2};
    changed.handler = false;
    changed.fallback = TENON_FALLBACK_DECLINE;
    changed.metadata = TENON_METADATA_DROP;
    changed.flags = TENON_TYPE_NEVER_OPERAND;
    CHECK(item_changes(&PluginFacts::types, type, changed) ==
          "-it derives from no type instead of Tensor\n"
          "-its payload is laid out otherwise: what reads it has to be built again\n"
          "-it has no handler now\n"
          "-ops that it does not handle are treated otherwise\n"
          "-payloads of results are made in another way\n"
          "-no op accepts an operand of it now\n");
    OverrideFacts entry;
    entry.key = "add[Scaled]";
    OverrideFacts narrower = entry;
    narrower.accepts = "f32";
    CHECK(item_changes(&PluginFacts::overrides, entry, narrower) == "-it accepts other operands\n");
  }

  TEST_CASE("what breaks comes first, and names its item") {
    PluginFacts before = plugin_of(op_of("m.old(Tensor a) -> Tensor"));
    PluginFacts now = plugin_of(op_of("m.new(Tensor a) -> Tensor"));
    now.id = "other";
    now.abi_major = 2;
    const std::vector<CompatibilityChange> list = compare_plugins(before, now);
    REQUIRE(list.size() == 4);
    CHECK(list[0].kind == "plugin");
    CHECK(list[0].what == "its id is 'other' now");
    CHECK(list[1].what == "it needs a host of ABI 2 instead of 1");
    CHECK(list[2].kind == "op");
    CHECK(list[2].name == "m.old");
    CHECK(list[2].what == "it is not there now");
    CHECK_FALSE(list[3].breaks);
    CHECK(list[3].name == "m.new");
  }

  TEST_CASE("versions say whether callers may break") {
    CHECK(version_may_break("1.2.3", "2.0.0"));
    CHECK_FALSE(version_may_break("1.2.3", "1.3.0"));
    CHECK(version_may_break("0.2.3", "0.3.0"));
    CHECK_FALSE(version_may_break("0.2.3", "0.2.4"));
  }

  // The oracle is binding: whatever call binds to the old schema binds to the new one, with the
  // same values for the old parameters, unless a change is said to break callers.
  TEST_CASE("where nothing breaks every call binds as before, for random schemas") {
    std::mt19937_64 draw(20);
    const auto below = [&](size_t n) { return static_cast<size_t>(draw() % n); };
    struct Made {
      std::string name, type, value;  // value: its default; empty: none
    };
    static const std::vector<std::string> types = {"int",    "float", "bool",
                                                   "Scalar", "int?",  "float?"};
    const auto made = [&](const std::string& name) {
      static const std::map<std::string, std::vector<std::string>> defaults = {
          {"int", {"1", "2"}},      {"float", {"1.0", "2.5"}}, {"bool", {"True", "False"}},
          {"Scalar", {"1", "2.5"}}, {"int?", {"None", "3"}},   {"float?", {"None", "3.5"}}};
      const std::string& type = types[below(types.size())];
      return Made{name, type, below(2) == 0 ? "" : defaults.at(type)[below(2)]};
    };
    struct List {
      std::vector<Made> parameters;
      size_t positional = 0;
      std::string text() const {
        std::string all = "m.f(";
        for (size_t i = 0; i < parameters.size(); ++i) {
          if (i == positional)
            all += i == 0 ? "*, " : ", *, ";
          else if (i > 0)
            all += ", ";
          all += parameters[i].type + " " + parameters[i].name;
          if (!parameters[i].value.empty()) all += "=" + parameters[i].value;
        }
        return all + ") -> Tensor";
      }
    };
    const auto schema_of = [](const List& list) -> std::optional<Schema> {
      try {
        return parse_schema(list.text());
      } catch (const Error&) {  // a default before a parameter that has none
        return std::nullopt;
      }
    };
    int unbroken = 0, calls = 0;
    for (int round = 0; round < 20000; ++round) {
      List before;
      for (size_t i = 0, n = below(4); i < n; ++i)
        before.parameters.push_back(made(std::string(1, static_cast<char>('a' + i))));
      before.positional = below(before.parameters.size() + 1);
      List now = before;
      for (size_t edits = 1 + below(2); edits-- > 0;) {
        std::vector<Made>& list = now.parameters;
        const size_t at = list.empty() ? 0 : below(list.size());
        switch (below(6)) {
          case 0:
            list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(list.size() + 1)),
                        made("z" + std::to_string(edits)));
            break;
          case 1:
            if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
            break;
          case 2:
            if (!list.empty()) list[at] = made(list[at].name);
            break;
          case 3:
            if (!list.empty()) std::swap(list[at], list[below(list.size())]);
            break;
          case 4:
            if (!list.empty()) list[at].name = "y" + std::to_string(edits);
            break;
          default:
            break;
        }
        now.positional = std::min(
            list.size(), below(3) == 0 ? below(list.size() + 1) : now.positional + below(2));
      }
      const std::optional<Schema> old_schema = schema_of(before), new_schema = schema_of(now);
      if (!old_schema || !new_schema) continue;
      const std::vector<CompatibilityChange> list =
          compare_plugins(plugin_of(op_of(before.text())), plugin_of(op_of(now.text())));
      if (!list.empty() && list.front().breaks) continue;
      ++unbroken;
      CAPTURE(before.text());
      CAPTURE(now.text());
      for (int call = 0; call < 4; ++call) {
        static const tenon_value values[] = {
            {TENON_VALUE_INT, 0, {7}}, {TENON_VALUE_BOOL, 0, {1}}, {TENON_VALUE_NONE, 0, {0}}};
        std::vector<tenon_value> positional, keyword_values;
        std::vector<tenon_string> keywords;
        const size_t given = below(before.positional + 1);
        for (size_t i = 0; i < given; ++i) positional.push_back(values[below(3)]);
        for (size_t i = given; i < before.parameters.size(); ++i) {
          if (below(3) == 0) continue;
          const std::string& name = before.parameters[i].name;
          keywords.push_back({name.data(), static_cast<int64_t>(name.size())});
          keyword_values.push_back(values[below(3)]);
        }
        BoundArguments old_bound, new_bound;
        try {
          bind_arguments(*old_schema, positional, keywords, keyword_values, old_bound);
        } catch (const Error&) {
          continue;
        }
        ++calls;
        REQUIRE_NOTHROW(
            bind_arguments(*new_schema, positional, keywords, keyword_values, new_bound));
        for (size_t i = 0; i < old_schema->parameters.size(); ++i) {
          const int64_t at = new_schema->find(old_schema->parameters[i].name);
          REQUIRE(at >= 0);
          const auto number = [](const tenon_value& value) {
            return value.tag == TENON_VALUE_FLOAT  ? value.as.number
                   : value.tag == TENON_VALUE_NONE ? -1.0
                                                   : static_cast<double>(value.as.integer);
          };
          CHECK(number(old_bound.values[i]) == number(new_bound.values[at]));
        }
      }
    }
    CHECK(unbroken > 500);
    CHECK(calls > 500);
  }
}
