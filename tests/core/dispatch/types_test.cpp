// Tables of types: ids, names, what is active, and what changes with registrations and settings.
#include "core/dispatch/types/type_table.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

std::vector<std::string> keys(const TypeTable& table, std::string_view op = {}) {
  std::vector<std::string> list;
  for (const Override* entry : table.overrides(op)) list.push_back(entry->key());
  return list;
}

}  // namespace

TEST_SUITE("dispatch/types") {
  TEST_CASE("tables do not know of each other") {
    TypeTable one, other;
    Plugin plugin{"p", {}, {}};
    plugin.type("A");
    plugin.commit(one);
    CHECK(one.find("A") != nullptr);
    CHECK(other.find("A") == nullptr);
    CHECK(&one.tensor() != &other.tensor());
    CHECK(one.tensor().is_plain());
    CHECK(other.tensor().is_plain());
    CHECK_FALSE(one.find("A")->is_plain());
  }

  TEST_CASE("ids lead to their types, however many there are") {
    constexpr size_t kTypes = 2500;  // more than a chunk of the table holds
    TypeTable table;
    std::deque<std::string> names;
    Plugin plugin{"p", {}, {}};
    for (size_t i = 0; i < kTypes; ++i)
      plugin.type(names.emplace_back("T" + std::to_string(i)).c_str());
    plugin.commit(table);
    for (const std::string& name : names) {
      const TensorType* type = table.find(name);
      REQUIRE(type != nullptr);
      CHECK(&table.at(type->id) == type);
      CHECK(&table.checked(type->id) == type);
    }
    CHECK(table.types().size() == kTypes);
    CHECK(table.known(kTypes));
    CHECK_FALSE(table.known(kTypes + 1));
    CHECK(has(refusal([&] { table.checked(kTypes + 1); }, TENON_ERROR_VALUE), "has the id 2501"));
  }

  TEST_CASE("a name that is not there is asked of the finder") {
    TypeTable table;
    CHECK(refusal([&] { table.require("A"); }, TENON_ERROR_VALUE) == "no tensor type is named 'A'");
    table.set_finder([&](std::string_view name) {
      if (name != "A") throw Error(TENON_ERROR_PLUGIN, "cannot be loaded");
      Plugin plugin{"late", {}, {}};
      plugin.type("A");
      plugin.commit(table);
    });
    CHECK(table.require("A").provider == "late");
    CHECK(&table.require("A") == table.find("A"));
    CHECK(refusal([&] { table.require("B"); }, TENON_ERROR_PLUGIN) == "cannot be loaded");
  }

  TEST_CASE("overrides are listed by op and key, without those that are switched off") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A");
    plugin.type("B");
    plugin.entry("B");
    plugin.entry("B, A");
    plugin.entry("A");
    plugin.commit(table);
    CHECK(keys(table) == std::vector<std::string>{"add[A, B]", "add[A]", "add[B]"});
    CHECK(keys(table, "mul").empty());
    const Override& entry = *table.find_override("add[A]", "");
    const uint64_t before = table.generation();
    table.switch_off(entry);
    table.switch_off(entry);
    CHECK(table.generation() > before);
    table.switch_on(entry);
    CHECK(keys(table, "add") == std::vector<std::string>{"add[A, B]", "add[B]"});
    table.switch_on(entry);
    table.switch_on(entry);
    CHECK(keys(table, "add").size() == 3);
    CHECK(table.find_override("add[A]", "other") == nullptr);
  }

  TEST_CASE("a type whose overrides are all switched off is asked for nothing") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A");
    plugin.type("B");
    plugin.entry("A");
    plugin.entry("A, B");
    plugin.commit(table);
    const TensorType &a = *table.find("A"), &b = *table.find("B");
    CHECK(a.dispatches());
    table.switch_off(*table.find_override("add[A, B]", ""));
    CHECK(a.dispatches());
    CHECK_FALSE(b.dispatches());
    table.switch_off(*table.find_override("add[A]", ""));
    CHECK_FALSE(a.dispatches());
    table.switch_on(*table.find_override("add[A]", ""));
    CHECK(a.dispatches());
  }

  TEST_CASE("settings reach a type that is registered, and one that will be") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A");
    plugin.commit(table);
    TypeSettings settings;
    settings.fallback = TENON_FALLBACK_DECLINE;
    for (const char* name : {"A", "B"}) table.configure(name, settings);
    CHECK(table.find("A")->settings.load() == table.settings("A"));
    Plugin later{"q", {}, {}};
    later.type("B");
    later.commit(table);
    REQUIRE(table.settings("B") != nullptr);
    CHECK(table.find("B")->settings.load() == table.settings("B"));
    CHECK(table.settings("C") == nullptr);
  }

  TEST_CASE("a type is complete once the completer has said so, its ancestors too") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    plugin.type("A", "Tensor");
    plugin.type("B", "A");
    plugin.commit(table);
    std::vector<std::string> asked;
    bool done = false;
    table.set_completer([&](std::string_view name) {
      asked.emplace_back(name);
      return done;
    });
    table.complete(*table.find("B"));
    CHECK(asked == std::vector<std::string>{"B", "A"});
    done = true;
    table.complete(*table.find("B"));
    table.complete(*table.find("B"));
    CHECK(asked == std::vector<std::string>{"B", "A", "B", "A"});
  }
}
