// Ops and overrides by their handles, without the process's tables where that is possible.
#include "core/dispatch/types/type_table.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

// Ops of a table that the test makes.
struct Ops {
  Ops() {
    const tenon_op_descriptor ops[] = {
        descriptor("slots.scale(Tensor x, *, float by=2.0, str mode='fast') -> Tensor", nothing),
        descriptor("slots.two(Tensor x) -> (Tensor, Tensor)", nothing),
        descriptor("slots.one(Tensor x) -> (Tensor)", nothing)};
    const tenon_op_descriptor* pointers[] = {&ops[0], &ops[1], &ops[2]};
    table.commit("slots", pointers);
  }
  const tenon_op* operator[](const char* name) const { return table.find(name); }
  Registry table;
};

}  // namespace

TEST_SUITE("runtime/op_slots") {
  TEST_CASE("results and parameters of an op are read by its handle") {
    const Ops ops;
    CHECK(std::string(slots().ops.name(ops["slots.two"])) == "slots.two");
    CHECK(slots().ops.result_count(ops["slots.two"]) == 2);
    CHECK(slots().ops.result_count(ops["slots.scale"]) == 1);
    CHECK(slots().ops.returns_tuple(ops["slots.two"]) == 1);
    CHECK(slots().ops.returns_tuple(ops["slots.scale"]) == 0);
    int64_t index = -1;
    CHECK(slots().ops.parameter(ops["slots.scale"], "mode", 4, &index, nullptr) == TENON_OK);
    CHECK(index == 2);
    CHECK(message_of_slot(TENON_ERROR_INDEX, [&](tenon_error** error) {
            return slots().ops.parameter(ops["slots.scale"], "modes", 5, &index, error);
          }) == "'slots.scale' has no parameter 'modes' (did you mean 'mode'?)");
    CHECK(index == 2);
  }

  TEST_CASE("a handle without an implementation has no results, and says what is missing") {
    const tenon_op gone("slots.gone");
    CHECK(slots().ops.result_count(&gone) == 0);
    CHECK(slots().ops.returns_tuple(&gone) == 0);
    int64_t index = 0;
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().ops.parameter(&gone, "x", 1, &index, error);
          }) == "the implementation of the op is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().ops.parameter(nullptr, "x", 1, &index, error);
          }) == "the op is null");
  }

  TEST_CASE("attributes are the keywords of an op, bound with their defaults, as owned values") {
    const Ops ops;
    char fast[] = "slow";
    const tenon_string keywords[] = {{"mode", 4}};
    tenon_value given{};
    given.tag = TENON_VALUE_STRING;
    given.length = 4;
    given.as.string = fast;
    int64_t positional = -1;
    Given names, by, mode;
    tenon_value values[2] = {};
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().ops.bind_attributes(ops["slots.scale"], keywords, &given, 1, &positional,
                                               &names.value, values, error);
          }) == "");
    by.value = values[0];
    mode.value = values[1];
    CHECK(positional == 1);
    CHECK(names.texts() == std::vector<std::string>{"by", "mode"});
    CHECK(by.value.as.number == 2);
    fast[0] = 'x';
    CHECK(mode.text() == "slow");
    const tenon_string wrong[] = {{"mood", 4}};
    CHECK(has(message_of_slot(TENON_ERROR_TYPE,
                              [&](tenon_error** error) {
                                return slots().ops.bind_attributes(ops["slots.scale"], wrong,
                                                                   &given, 1, &positional,
                                                                   &names.value, values, error);
                              }),
              "mood"));
  }

  TEST_CASE("arguments are bound without a call, by the words of one") {
    const Ops ops;
    const TensorRef x = floats({1});
    const tenon_value arguments[] = {tensor_value(x.get()), number(3)};
    const tenon_string keywords[] = {{"by", 2}};
    CHECK(slots().ops.bind(ops["slots.scale"], arguments, 1, keywords, arguments + 1, 1, nullptr) ==
          TENON_OK);
    const std::string bound = message_of_slot(TENON_ERROR_TYPE, [&](tenon_error** error) {
      return slots().ops.bind(ops["slots.scale"], arguments, 0, nullptr, nullptr, 0, error);
    });
    Outcome called;
    call(called, ops["slots.scale"], {});
    CHECK(bound == called.message);
  }

  TEST_CASE("an override that was withdrawn is a stale handle") {
    TypeTable table;
    PluginCode code("p", 1);
    Plugin plugin{"p", {}, {}};
    plugin.type("A");
    plugin.entry("A");
    std::vector<const tenon_type_descriptor*> types{&plugin.types[0]};
    std::vector<const tenon_override_descriptor*> overrides{&plugin.overrides[0]};
    table.commit(table.prepare("p", types, overrides,
                               [](std::string_view) {
                                 return TypeTable::OpSource{kAddSchema, "math"};
                               },
                               {}, {&code, nullptr}));
    const auto* entry = reinterpret_cast<const tenon_override*>(table.find_override("add[A]", ""));
    REQUIRE(entry != nullptr);
    CHECK(std::string(slots().types.override_provider(entry)) == "p");
    CHECK(slots().types.override_enabled(entry) == 1);
    table.withdraw(code);
    const std::string message = message_of_slot(TENON_ERROR_PLUGIN, [&](tenon_error** error) {
      tenon_value results[kMaxResults] = {};
      return slots().types.override_call(entry, nullptr, 0, nullptr, nullptr, 0, results, error);
    });
    CHECK(has(message, "stale handle: override add[A]"));
    CHECK(has(message, "'p'"));
  }

  TEST_CASE("no override is refused, or not enabled") {
    CHECK(slots().types.override_enabled(nullptr) == 0);
    slots().types.override_disable(nullptr);
    slots().types.override_enable(nullptr);
    const tenon_override* entry = nullptr;
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().types.override_find(nullptr, nullptr, &entry, error);
          }) == "the key of an override is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            tenon_value results[kMaxResults] = {};
            return slots().types.override_call(nullptr, nullptr, 0, nullptr, nullptr, 0, results,
                                               error);
          }) == "the override is null");
  }
}
