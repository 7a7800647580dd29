// Plans: candidates in the order in which a call asks them. In tables that the test makes.
#include "core/dispatch/types/plan.hpp"

#include <algorithm>
#include <random>

#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
tenon_status handle(void*, const tenon_call*, tenon_value*, tenon_error**) { return TENON_OK; }

const Implementation& add() {
  static const auto made = make_implementation(descriptor(kAddSchema, nothing), "math");
  return *made;
}

OperandTypes operands(const TypeTable& table, std::initializer_list<const char*> names,
                      bool plain = false) {
  OperandTypes types;
  for (const char* name : names) types.add(*table.find(name));
  types.plain = plain;
  return types;
}

std::vector<std::string> texts(const DispatchChain& chain) {
  std::vector<std::string> list;
  for (const Candidate& candidate : chain.candidates) list.push_back(candidate_text(candidate));
  return list;
}

}  // namespace

TEST_SUITE("dispatch/plan") {
  TEST_CASE("a type's own candidates come first, then those of its line, Tensor's default last") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A", "Tensor").handler = handle;
    plugin.type("B", "A");
    plugin.entry("A");
    plugin.entry("B");
    plugin.commit(table);
    const Plan plan = make_plan(table, add(), operands(table, {"B"}));
    REQUIRE(plan.chains.size() == 1);
    CHECK(texts(plan.chains[0]) == std::vector<std::string>{"override add[B]", "override add[A]",
                                                            "handler of A", "default handler"});
    CHECK(plan.chains[0].first_override == 0);
    CHECK(plan.chains[0].first_handler == 2);
    CHECK(provider_of(plan.chains[0].candidates[0]) == "p");
  }

  TEST_CASE("a subclass's default handler declines types outside of its line, and says so") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A", "Tensor").handler = handle;
    plugin.type("C").handler = handle;
    plugin.commit(table);
    std::vector<Rejection> rejections;
    const Plan plan = make_plan(table, add(), operands(table, {"A", "C"}), &rejections);
    REQUIRE(plan.chains.size() == 2);
    CHECK(texts(plan.chains[0]) == std::vector<std::string>{"handler of A"});
    REQUIRE(rejections.size() == 1);
    CHECK(rejections[0].type == table.find("A"));
    CHECK(has(rejections[0].text, "C is not in its line of descent"));
  }

  TEST_CASE("an override takes plain operands where it accepts Tensor, in any table") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A").handler = handle;
    plugin.type("B").handler = handle;
    plugin.entry("A");
    plugin.entry("B").accepts = "B";
    plugin.commit(table);
    std::vector<Rejection> rejections;
    const Plan a = make_plan(table, add(), operands(table, {"A"}, true), &rejections);
    CHECK(texts(a.chains[0]) == std::vector<std::string>{"override add[A]", "handler of A"});
    CHECK(rejections.empty());
    const Plan b = make_plan(table, add(), operands(table, {"B"}, true), &rejections);
    CHECK(texts(b.chains[0]) == std::vector<std::string>{"handler of B"});
    REQUIRE(rejections.size() == 1);
    CHECK(has(rejections[0].text, "it does not accept Tensor"));
  }

  TEST_CASE("an override for more of the types is asked before one for fewer") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A");
    plugin.type("B");
    plugin.entry("A").accepts = "B";
    plugin.entry("A, B").accepts = "";
    plugin.commit(table);
    const auto first = [&] {
      return texts(make_plan(table, add(), operands(table, {"A", "B"})).chains[0]).front();
    };
    CHECK(first() == "override add[A, B]");
    table.switch_off(*table.find_override("add[A, B]", ""));
    CHECK(first() == "override add[A]");
  }

  TEST_CASE("a type that is never an operand is refused by the check of the plan") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("N").flags = TENON_TYPE_NEVER_OPERAND;
    plugin.commit(table);
    const Plan plan = make_plan(table, add(), operands(table, {"N"}));
    CHECK(plan.refused == table.find("N"));
    CHECK(has(refusal([&] { check_plan(plan, add(), nullptr); }, TENON_ERROR_TYPE),
              "add(): N is declared never to be an operand (by plugin 'p')"));
  }

  TEST_CASE("in random lines of types the candidates are those of each level, from below") {
    std::mt19937 random(3);
    for (int round = 0; round < 100; ++round) {
      TypeTable table;
      std::deque<std::string> names;
      Plugin plugin{"p", {}, {}};
      const size_t length = 1 + random() % 6;
      const bool of_tensor = random() % 2 == 0;
      std::vector<std::string> expected;  // from the root down, then turned around
      if (of_tensor) expected.emplace_back("default handler");
      for (size_t i = 0; i < length; ++i) {
        const char* parent = i > 0 ? names.back().c_str() : of_tensor ? "Tensor" : nullptr;
        const std::string& name = names.emplace_back("L" + std::to_string(i));
        tenon_type_descriptor& type = plugin.type(name.c_str(), parent);
        if (random() % 2 == 0) {
          type.handler = handle;
          expected.push_back("handler of " + name);
        }
        if (random() % 2 == 0) {
          plugin.entry(name.c_str());
          expected.push_back("override add[" + name + "]");
        }
      }
      std::reverse(expected.begin(), expected.end());
      plugin.commit(table);
      const Plan plan = make_plan(table, add(), operands(table, {names.back().c_str()}));
      if (expected.empty()) {
        CHECK(plan.chains.empty());
        continue;
      }
      REQUIRE(plan.chains.size() == 1);
      CHECK(texts(plan.chains[0]) == expected);
    }
  }
}
