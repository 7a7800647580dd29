// Tables, and a manager whose plugins fill them, apart from those of the process.
#include "core/runtime/table_registrar.hpp"

#include "tests/core/runtime/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status run(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
tenon_status rule(void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
  return TENON_OK;
}
tenon_status answer(void*, const tenon_call*, tenon_value*, tenon_error**) { return TENON_OK; }

template <class Descriptor>
Descriptor sized() {
  Descriptor made{};
  made.size = sizeof made;
  return made;
}

// An op, a type, and an override of the one for the other.
struct Items {
  Items() {
    op.schema = "own.op(Tensor x) -> Tensor";
    op.run = run;
    type.name = "OwnType";
    entry.schema = "own.op(Tensor x) -> Tensor";
    entry.types = "OwnType";
    entry.run = answer;
  }
  ResolvedLoad registration(const std::string& provider) const {
    return {provider, nullptr, nullptr, {&op}, {}, {&type}, {&entry}};
  }
  tenon_op_descriptor op = sized<tenon_op_descriptor>();
  tenon_type_descriptor type = sized<tenon_type_descriptor>();
  tenon_override_descriptor entry = sized<tenon_override_descriptor>();
};

}  // namespace

TEST_SUITE("runtime/table_registrar") {
  TEST_CASE("an op that is looked up loads its plugin into these tables alone") {
    World world;
    world.folder.add("plain");
    const tenon_op* op = world.ops.require("plain.add_one");
    CHECK(op->implementation.load()->provider == "plain");
    CHECK(world.manager->list()[0].state == PluginState::Active);
    const tenon_op* of_process = Registry::process().find("plain.add_one");
    CHECK(of_process != op);
  }

  TEST_CASE("what a plugin registers is in every table at once") {
    World world;
    const Items items;
    world.registrar.commit(items.registration("own"));
    CHECK(world.ops.find("own.op") != nullptr);
    REQUIRE(world.types.find("OwnType") != nullptr);
    REQUIRE(world.types.overrides("own.op").size() == 1);
    OperandTypes operands;
    operands.add(*world.types.find("OwnType"));
    const Plan& plan = world.plans.find(*world.ops.find("own.op")->implementation.load(), operands);
    REQUIRE(plan.chains.size() == 1);
    CHECK(candidate_text(plan.chains[0].candidates[0]) == "override own.op[OwnType]");
    CHECK(TypeTable::process().find("OwnType") == nullptr);
  }

  TEST_CASE("a fault in one of the items leaves all tables as they were") {
    const auto refused = [](auto&& change) {
      World world;
      Items items;
      change(items);
      const std::string text =
          message_of([&] { world.registrar.commit(items.registration("own")); });
      CHECK(world.ops.find("own.op") == nullptr);
      CHECK(world.types.types().empty());
      CHECK(world.types.overrides().empty());
      return text;
    };
    CHECK(contains(refused([](Items& items) { items.op.schema = "own.op("; }), "own.op("));
    CHECK(contains(refused([](Items& items) { items.type.name = "no type"; }), "letters"));
    CHECK(contains(refused([](Items& items) { items.entry.types = "Other"; }), "'Other'"));
    CHECK(
        contains(refused([](Items& items) { items.entry.schema = "own.opp(Tensor x) -> Tensor"; }),
                 "no op is named 'own.opp'"));
  }

  TEST_CASE("names that no plugin declares are refused with the folders that were searched") {
    World world;
    world.folder.add("plain");
    for (const std::string& text : {message_of([&] { world.ops.require("plain.add_on"); }),
                                    message_of([&] { world.types.require("NoType"); }),
                                    message_of([&] { world.modules.require("NoModule"); })})
      CHECK(contains(text, world.folder.path()));
    CHECK(contains(message_of([&] { world.ops.require("plain.add_on"); }),
                   "did you mean 'plain.add_one'?"));
    CHECK(contains(message_of([&] { world.ops.require("add_one"); }),
                   "its full name is 'plain.add_one'"));
  }

  TEST_CASE("a second provider of an override is refused, and registers nothing") {
    World world;
    const Items items;
    world.registrar.commit(items.registration("own"));
    tenon_op_descriptor op = items.op;
    op.schema = "second.op() -> int";
    const ResolvedLoad second{"second", nullptr, nullptr, {&op}, {}, {}, {&items.entry}};
    CHECK(contains(message_of([&] { world.registrar.commit(second); }),
                   "override own.op[OwnType] has two providers: 'own' and 'second'"));
    CHECK(world.ops.find("second.op") == nullptr);
    CHECK(world.types.overrides("own.op").size() == 1);
  }

  TEST_CASE("rules of a plugin take the place of the op's") {
    World world;
    const Items items;
    tenon_op_descriptor rules = sized<tenon_op_descriptor>();
    rules.schema = items.op.schema;
    rules.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    rules.backward = rule;
    tenon_override_descriptor entry = sized<tenon_override_descriptor>();
    entry.schema = items.op.schema;
    entry.types = "Tensor";
    entry.rules = &rules;
    const ResolvedLoad op{"own", nullptr, nullptr, {&items.op}, {}, {}, {}};
    const ResolvedLoad given{"rules", nullptr, nullptr, {}, {}, {}, {&entry}};
    world.registrar.commit(op);
    world.registrar.commit(given);
    const Implementation* active = world.ops.find("own.op")->implementation.load();
    CHECK(active->rules_provider == "rules");
    CHECK(active->provider == "own");
  }

  TEST_CASE("rules that do not fit the code that takes a place are left out, not an error") {
    World world;
    const Items items;
    tenon_op_descriptor rules = sized<tenon_op_descriptor>();
    rules.schema = items.op.schema;
    rules.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    rules.backward = rule;
    rules.saves = "x";
    tenon_override_descriptor entry = sized<tenon_override_descriptor>();
    entry.schema = items.op.schema;
    entry.types = "Tensor";
    entry.rules = &rules;
    PluginCode before("own", 1), after("own", 2);
    world.registrar.commit({"own", &before, nullptr, {&items.op}, {}, {}, {}});
    world.registrar.commit({"rules", nullptr, nullptr, {}, {}, {}, {&entry}});
    const auto active = [&] { return world.ops.find("own.op")->implementation.load(); };
    CHECK(active()->rules_provider == "rules");
    tenon_op_descriptor next = items.op;
    next.schema = "own.op(Tensor y) -> Tensor";  // there is no x to save
    const ResolvedLoad again{"own", &after, &before, {&next}, {}, {}, {}};
    CHECK_NOTHROW(world.registrar.commit(again));
    CHECK(active()->code == &after);
    CHECK(active()->rules_provider.empty());
    CHECK_NOTHROW(world.registrar.withdraw(before));
    CHECK(active()->code == &after);
    CHECK_NOTHROW(world.registrar.withdraw(after));
    CHECK(active() == nullptr);
  }
}
