// What a plugin may register, in separate tables.
#include "core/dispatch/type_registration.hpp"

#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

namespace {

constexpr const char* kSchema = "add(Tensor a, Tensor b) -> Tensor";

tenon_status answer(void*, const tenon_call*, tenon_value*, tenon_error**) { return TENON_OK; }

// Types and overrides of one plugin.
struct Plugin {
  std::string name;
  std::deque<tenon_type_descriptor> types;
  std::deque<tenon_override_descriptor> overrides;

  tenon_type_descriptor& type(const char* type_name, const char* parent = nullptr) {
    tenon_type_descriptor& made = types.emplace_back();
    made.size = sizeof(made);
    made.name = type_name;
    made.parent = parent;
    return made;
  }
  tenon_override_descriptor& entry(const char* names, const char* schema = kSchema) {
    tenon_override_descriptor& made = overrides.emplace_back();
    made.size = sizeof(made);
    made.schema = schema;
    made.types = names;
    made.run = answer;
    return made;
  }
  TypeTable::Prepared prepare(const TypeTable& table,
                              const TypeTable::RegistrationPolicy& policy = {}) const {
    std::vector<const tenon_type_descriptor*> type_list;
    for (const auto& made : types) type_list.push_back(&made);
    std::vector<const tenon_override_descriptor*> override_list;
    for (const auto& made : overrides) override_list.push_back(&made);
    return table.prepare(
        name, type_list, override_list,
        [](std::string_view op) {
          return op == "add" ? TypeTable::OpSource{kSchema, "math"}
                             : TypeTable::OpSource{"", "", " (did you mean 'add'?)"};
        },
        policy);
  }
  void commit(TypeTable& table) const { table.commit(prepare(table)); }
  std::string refusal(const TypeTable& table,
                      const TypeTable::RegistrationPolicy& policy = {}) const {
    try {
      prepare(table, policy);
    } catch (const Error& error) {
      return error.message;
    }
    return "";
  }
};

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

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
    has(one.refusal(table), "the name is not made of letters");
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
    has(refused([](Plugin& p) { p.type("A"); }), "'A' of 'one' is registered already by the same");
    has(refused([](Plugin& p) { p.type("C", "Aa"); }), "no type is named 'Aa'");
    has(refused([](Plugin& p) { p.types[0].payload_size = -1; }), "payload size");
    has(refused([](Plugin& p) { p.types[0].metadata = TENON_METADATA_MERGE; }), "has no merge");
    has(refused([](Plugin& p) { p.types[0].component_count = 1; }), "component tensors");
    has(refused([](Plugin& p) { p.types[0].fallback = TENON_FALLBACK_TO_TENSOR; }),
        "has no to_tensor");
    has(refused([](Plugin& p) {
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
    has(refused([](Plugin& p) { p.entry("A").run = nullptr; }), "not one of run and rules");
    has(refused([](Plugin& p) { p.entry("B"); }), "no tensor type is named 'B'");
    has(refused([](Plugin& p) { p.entry("Tensor"); }), "no tensor type other than Tensor");
    has(refused([](Plugin& p) { p.entry("A", "ad(Tensor a) -> Tensor"); }),
        "no op is named 'ad' (did you mean 'add'?)");
    has(refused([](Plugin& p) { p.entry("A", "add(Tensor a) -> Tensor"); }),
        "does not take 'b', which every call passes");
    has(refused([](Plugin& p) {
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
    has(two.refusal(table), "override add[A] has two providers: 'one' and 'two'");
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
    has(warnings[0], "plugin 'other' owns neither the op");
    has(other.refusal(table, {true, false, {}}), "the config is strict");
    CHECK(other.prepare(table, {true, true, {}}).warnings.empty());
  }
}
