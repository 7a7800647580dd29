// Differences that callers notice in another build of a plugin: each kind of change, and, for
// random schemas, that a call which bound before binds the same where nothing breaks.
#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include <doctest/doctest.h>

#include <tenon/listing/compatibility.hpp>
#include <tenon/runtime.hpp>

using tenon::Json, tenon::JsonArray, tenon::JsonObject;

namespace {

// Items of facts, with the members that comparisons read.
struct OpFacts {
  std::string schema, differentiable = "none", jvp = "none";
  int64_t flags = 0;

  Json json() const {
    return JsonObject()
        .set("name", schema.substr(0, schema.find('(')))
        .set("schema", schema)
        .set("differentiable", differentiable)
        .set("jvp", jvp)
        .set("flags", flags)
        .json();
  }
};
OpFacts op_of(const std::string& schema) { return {schema}; }

Json plugin_of(const OpFacts& op, const char* list = "modules", const Json& item = {},
               const std::string& id = "made", int abi = 1) {
  JsonArray items;
  if (item.defined()) items.add(item);
  return JsonObject()
      .set("id", id)
      .set("abi", JsonArray().add(abi).add(0).json())
      .set("ops", JsonArray().add(op.json()).json())
      .set(list, items.json())
      .json();
}

// "-": breaks, "+": added; one line for each change.
std::string changes(const Json& before, const Json& now) {
  std::string text;
  const Json list = tenon::listing::changes_between(before, now);
  for (int64_t i = 0; i < list.size(); ++i) {
    CHECK_FALSE(list[i]["name"].text().empty());
    text += (list[i]["breaks"].as_bool() ? "-" : "+") + list[i]["what"].text() + "\n";
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

std::string item_changes(const char* list, const char* before, const char* now) {
  const OpFacts op = op_of("m.f() -> Tensor");
  return changes(plugin_of(op, list, Json::parse(before)), plugin_of(op, list, Json::parse(now)));
}

// ---- binding, as calls do it ----

using Numbers = std::map<std::string, double>;  // by parameter; none is -1

// The values of a call by the parameters' names; nothing where the call is refused. `positional` and
// `named` hold None, False, True and 7 as -1, 0, 1 and 7.
std::optional<Numbers> bound(const Json& parameters, const std::vector<int>& positional,
                             const std::map<std::string, int>& named) {
  Numbers values;
  size_t used = 0;
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const Json parameter = parameters[i];
    const std::string name = parameter["name"].text(), kind = parameter["kind"].text();
    const auto keyword = named.find(name);
    const bool by_place = static_cast<size_t>(i) < positional.size();
    if (by_place && (parameter["keyword_only"].as_bool() || keyword != named.end())) return {};
    if (!by_place && keyword == named.end()) {
      const Json value = parameter["default"];
      if (!value.defined()) return {};
      const std::string text = value.text();
      values[name] = text == "None"    ? -1
                     : text == "True"  ? 1
                     : text == "False" ? 0
                                       : std::stod(text);
      continue;
    }
    const int value = by_place ? positional[static_cast<size_t>(i)] : keyword->second;
    if (keyword != named.end()) ++used;
    if (value == -1 && !parameter["optional"].as_bool()) return {};
    if (value == 7 && kind == "bool") return {};
    values[name] = value;
  }
  if (used != named.size() || positional.size() > static_cast<size_t>(parameters.size())) return {};
  return values;
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
    CHECK(item_changes("modules",
                       R"json({"name": "Linear", "schema": "Linear(int width)", "mode": true,
                               "forward": "forward(Tensor input) -> Tensor"})json",
                       R"json({"name": "Linear", "schema": "Linear(int width)", "mode": false,
                               "forward": "forward(Tensor input, Tensor mask) -> Tensor"})json") ==
          "-it requires a parameter 'mask', which was not there\n"
          "-it cannot be entered as a mode now\n");
    const std::string flags = std::to_string(TENON_TYPE_NEVER_OPERAND);
    const std::string changed = R"json({"name": "Scaled", "payload": [16, 8, 2], "handler": false,
        "fallback": "decline", "metadata": 1, "flags": )json" +
                                flags + "}";
    CHECK(item_changes("types",
                       R"json({"name": "Scaled", "parent": "Tensor", "payload": [8, 8, 1],
                               "handler": true, "fallback": "inherit", "metadata": 0,
                               "flags": 0})json",
                       changed.c_str()) ==
          "-it derives from no type instead of Tensor\n"
          "-its payload is laid out otherwise: what reads it has to be built again\n"
          "-it has no handler now\n"
          "-ops that it does not handle are treated otherwise\n"
          "-payloads of results are made in another way\n"
          "-no op accepts an operand of it now\n");
    CHECK(item_changes("overrides", R"json({"key": "add[Scaled]", "accepts": ""})json",
                       R"json({"key": "add[Scaled]", "accepts": "f32"})json") ==
          "-it accepts other operands\n");
  }

  TEST_CASE("what breaks comes first, and names its item") {
    const Json list = tenon::listing::changes_between(
        plugin_of(op_of("m.old(Tensor a) -> Tensor")),
        plugin_of(op_of("m.new(Tensor a) -> Tensor"), "modules", {}, "other", 2));
    REQUIRE(list.size() == 4);
    CHECK(list[0]["kind"].text() == "plugin");
    CHECK(list[0]["what"].text() == "its id is 'other' now");
    CHECK(list[1]["what"].text() == "it needs a host of ABI 2 instead of 1");
    CHECK(list[2]["kind"].text() == "op");
    CHECK(list[2]["name"].text() == "m.old");
    CHECK(list[2]["what"].text() == "it is not there now");
    CHECK_FALSE(list[3]["breaks"].as_bool());
    CHECK(list[3]["name"].text() == "m.new");
  }

  TEST_CASE("versions say whether callers may break") {
    using tenon::listing::version_may_break;
    CHECK(version_may_break("1.2.3", "2.0.0"));
    CHECK_FALSE(version_may_break("1.2.3", "1.3.0"));
    CHECK(version_may_break("0.2.3", "0.3.0"));
    CHECK_FALSE(version_may_break("0.2.3", "0.2.4"));
    CHECK(version_may_break("1.2.3", "1.2.2"));
    CHECK(version_may_break("1.2.3", "1.2.3-rc.1"));
    CHECK_FALSE(version_may_break("1.2.3-rc.1", "1.2.3"));
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
    const auto schema_of = [](const List& list) {
      try {
        return tenon::parse_schema(list.text())["parameters"];
      } catch (const tenon::ValueError&) {  // a default before a parameter that has none
        return Json();
      }
    };
    int unbroken = 0, calls = 0;
    for (int round = 0; round < 4000; ++round) {
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
      const Json old_schema = schema_of(before), new_schema = schema_of(now);
      if (!old_schema.defined() || !new_schema.defined()) continue;
      if (op_changes(op_of(before.text()), op_of(now.text())).substr(0, 1) == "-") continue;
      ++unbroken;
      CAPTURE(before.text());
      CAPTURE(now.text());
      for (int call = 0; call < 4; ++call) {
        static const int values[] = {7, 1, -1};
        std::vector<int> positional;
        std::map<std::string, int> named;
        const size_t given = below(before.positional + 1);
        for (size_t i = 0; i < given; ++i) positional.push_back(values[below(3)]);
        for (size_t i = given; i < before.parameters.size(); ++i) {
          if (below(3) != 0) named.emplace(before.parameters[i].name, values[below(3)]);
        }
        const std::optional<Numbers> old_values = bound(old_schema, positional, named);
        if (!old_values) continue;
        ++calls;
        const std::optional<Numbers> new_values = bound(new_schema, positional, named);
        REQUIRE(new_values);
        for (const auto& [name, value] : *old_values) CHECK(new_values->at(name) == value);
      }
    }
    CHECK(unbroken > 100);
    CHECK(calls > 100);
  }
}
