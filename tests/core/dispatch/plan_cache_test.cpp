// Plans are kept until their table changes, and are those that would be made.
#include <atomic>
#include <random>
#include <thread>

#include "core/dispatch/types/plan.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
std::unique_ptr<Implementation> add() {
  return make_implementation(descriptor(kAddSchema, nothing), "math");
}

OperandTypes operands(const TensorType& type, bool plain = false) {
  OperandTypes types;
  types.add(type);
  types.plain = plain;
  return types;
}

std::vector<std::string> texts(const Plan& plan) {
  std::vector<std::string> list;
  for (const DispatchChain& chain : plan.chains) {
    for (const Candidate& candidate : chain.candidates) list.push_back(candidate_text(candidate));
  }
  return list;
}

}  // namespace

TEST_SUITE("dispatch/plan_cache") {
  TEST_CASE("the plan of an op and types is made once, each its own") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A");
    plugin.type("B");
    plugin.entry("A");
    plugin.entry("B");
    plugin.commit(table);
    PlanCache cache(table);
    const auto one = add(), two = add();
    const TensorType &a = *table.find("A"), &b = *table.find("B");
    const Plan& plan = cache.find(*one, operands(a));
    CHECK(&cache.find(*one, operands(a)) == &plan);
    CHECK(&cache.find(*one, operands(a, true)) != &plan);
    CHECK(&cache.find(*one, operands(b)) != &plan);
    CHECK(&cache.find(*two, operands(a)) != &plan);
    CHECK(&cache.find(*one, operands(a)) == &plan);
    CHECK(plan.implementation == one.get());
  }

  TEST_CASE("a change of the table makes plans new, those in use stay readable") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A", "Tensor");
    plugin.entry("A");
    plugin.commit(table);
    PlanCache cache(table);
    const auto op = add();
    const TensorType& a = *table.find("A");
    const Plan& before = cache.find(*op, operands(a));
    CHECK(texts(before) == std::vector<std::string>{"override add[A]", "default handler"});
    table.switch_off(*table.find_override("add[A]", ""));
    CHECK(texts(cache.find(*op, operands(a))) != texts(before));
    CHECK(texts(before) == std::vector<std::string>{"override add[A]", "default handler"});
    table.switch_on(*table.find_override("add[A]", ""));
    CHECK(texts(cache.find(*op, operands(a))) == texts(before));
  }

  TEST_CASE("caches of two tables are independent") {
    TypeTable first, second;
    for (TypeTable* table : {&first, &second}) {
      Plugin plugin{"p", {}, {}};
      plugin.type("A");
      plugin.entry("A");
      plugin.commit(*table);
    }
    PlanCache one(first), other(second);
    const auto op = add();
    const Plan& plan = one.find(*op, operands(*first.find("A")));
    second.switch_off(*second.find_override("add[A]", ""));
    CHECK(&one.find(*op, operands(*first.find("A"))) == &plan);
    CHECK(texts(other.find(*op, operands(*second.find("A")))).empty());
  }

  TEST_CASE("overrides that other plugins provide are loaded before a plan is made") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A");
    plugin.commit(table);
    table.set_completer([&](std::string_view) {
      Plugin late{"late", {}, {}};
      late.entry("A");
      table.commit(late.prepare(table));
      return true;
    });
    PlanCache cache(table);
    const auto op = add();
    CHECK(texts(cache.find(*op, operands(*table.find("A")))) ==
          std::vector<std::string>{"override add[A]"});
  }

  TEST_CASE("with many more plans than slots each is the one that would be made") {
    TypeTable table;
    std::deque<std::string> names;
    Plugin plugin{"p", {}, {}};
    std::mt19937 random(4);
    for (int i = 0; i < 40; ++i) {
      const std::string& name = names.emplace_back("M" + std::to_string(i));
      plugin.type(name.c_str());
      if (random() % 2 == 0) plugin.entry(name.c_str());
    }
    plugin.commit(table);
    PlanCache cache(table);
    std::vector<std::unique_ptr<Implementation>> ops;
    for (int i = 0; i < 150; ++i) ops.push_back(add());
    for (int round = 0; round < 2; ++round) {
      for (const auto& op : ops) {
        for (const std::string& name : names) {
          const OperandTypes types = operands(*table.find(name), round == 1);
          const Plan& plan = cache.find(*op, types);
          const bool same = plan.implementation == op.get() && plan.plain == types.plain &&
                            plan.types.size() == 1 && plan.types[0] == table.find(name);
          if (!same) FAIL("the plan is that of another call");
        }
      }
    }
    for (const std::string& name : names) {
      const OperandTypes types = operands(*table.find(name));
      CHECK(texts(cache.find(*ops[0], types)) == texts(make_plan(table, *ops[0], types)));
    }
  }

  TEST_CASE("threads find plans while the table changes") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A", "Tensor");
    plugin.entry("A");
    plugin.commit(table);
    PlanCache cache(table);
    const auto op = add();
    const OperandTypes types = operands(*table.find("A"));
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t) {
      readers.emplace_back([&] {
        while (!stop) {
          const Plan& plan = cache.find(*op, types);
          wrong += plan.implementation == op.get() && plan.types.size() == 1 ? 0 : 1;
        }
      });
    }
    const Override& entry = *table.find_override("add[A]", "");
    for (int i = 0; i < 200; ++i) {
      table.switch_off(entry);
      table.switch_on(entry);
    }
    stop = true;
    for (std::thread& reader : readers) reader.join();
    CHECK(wrong == 0);
  }
}
