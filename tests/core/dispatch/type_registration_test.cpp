// Registrations that are allowed, in separate tables.
#include "core/dispatch/types/type_table.hpp"
#include "tests/core/dispatch/plugin.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("type_registration") {
  TEST_CASE("types follow their parents and are found afterwards") {
    TypeTable table;
    Plugin one{"one", {}, {}};
    one.type("A", "Tensor");
    one.type("B", "A");
    one.commit(table);
    REQUIRE(table.find("B") != nullptr);
    CHECK(table.find("B")->parent == table.find("A"));
    CHECK(table.find("B")->is_tensor);
    CHECK(table.find("B")->distance(table.tensor()) == 2);
    CHECK(table.tensor().distance(*table.find("B")) == -1);
    CHECK(table.find("B")->provider == "one");
  }

  TEST_CASE("a plugin with one fault registers nothing") {
    TypeTable table;
    const uint64_t before = table.generation();
    Plugin one{"one", {}, {}};
    one.type("A");
    one.type("no type");
    check_has(one.refusal(table), "the name is not made of letters");
    CHECK(table.find("A") == nullptr);
    CHECK(table.generation() == before);
  }

  TEST_CASE("faults of types are named") {
    const auto refused = [](auto&& change) {
      const TypeTable table;
      Plugin one{"one", {}, {}};
      one.type("A");
      change(one);
      return one.refusal(table);
    };
    check_has(refused([](Plugin& p) { p.type("A"); }),
              "'A' of 'one' is registered already by the same");
    check_has(refused([](Plugin& p) { p.type("C", "Aa"); }), "no type is named 'Aa'");
    check_has(refused([](Plugin& p) { p.types[0].payload_size = -1; }),
              "payload_size is -1, expected 0 to 1048576");
    check_has(refused([](Plugin& p) { p.types[0].metadata = TENON_METADATA_MERGE; }),
              "has no merge");
    check_has(refused([](Plugin& p) { p.types[0].component_count = 1; }), "component tensors");
    check_has(refused([](Plugin& p) { p.types[0].fallback = TENON_FALLBACK_TO_TENSOR; }),
              "has no to_tensor");
    check_has(refused([](Plugin& p) {
                p.types[0].payload_size = 16;
                p.type("C", "A").payload_size = 8;
              }),
              "does not begin with that of A");
  }

  TEST_CASE("faults of overrides are named") {
    const auto refused = [](auto&& change) {
      const TypeTable table;
      Plugin one{"one", {}, {}};
      one.type("A");
      change(one);
      return one.refusal(table);
    };
    check_has(refused([](Plugin& p) { p.entry("A").run = nullptr; }), "not one of run and rules");
    check_has(refused([](Plugin& p) { p.entry("B"); }), "no tensor type is named 'B'");
    check_has(refused([](Plugin& p) { p.entry("Tensor"); }), "no tensor type other than Tensor");
    check_has(refused([](Plugin& p) { p.entry("A", "ad(Tensor a) -> Tensor"); }),
              "no op is named 'ad' (did you mean 'add'?)");
    check_has(refused([](Plugin& p) { p.entry("A", "add(Tensor a) -> Tensor"); }),
              "does not take 'b', which every call passes");
    check_has(refused([](Plugin& p) {
                p.entry("A");
                p.entry("A, A");
              }),
              "registers add[A] twice");
  }

  TEST_CASE("a second provider is refused unless a preference ranks the two") {
    TypeTable table;
    Plugin one{"one", {}, {}};
    one.type("A");
    one.entry("A");
    one.commit(table);
    Plugin two{"two", {}, {}};
    two.type("B");
    two.entry("A");
    check_has(two.refusal(table), "override add[A] has two providers: 'one' and 'two'");
    CHECK(table.find("B") == nullptr);
    table.set_preference([](const Override&, const std::string& a, const std::string&) {
      return a == "two" ? a : std::string("two");
    });
    two.commit(table);
    REQUIRE(table.overrides("add").size() == 1);
    CHECK(table.overrides("add")[0]->provider == "two");
  }

  TEST_CASE("overriding foreign types is a warning, an error when strict, allowed as glue") {
    TypeTable table;
    Plugin one{"one", {}, {}};
    one.type("A");
    one.commit(table);
    Plugin other{"other", {}, {}};
    other.entry("A");
    const auto warnings = other.prepare(table).warnings;
    REQUIRE(warnings.size() == 1);
    check_has(warnings[0], "plugin 'other' owns neither the op");
    check_has(other.refusal(table, {true, false, {}}), "the config is strict");
    CHECK(other.prepare(table, {true, true, {}}).warnings.empty());
  }
}
