// Policies applied to a manager of the test's own, and overrides by their keys in its table.
#include "core/runtime/runtime.hpp"

#include "core/plugin/resolve/policy.hpp"
#include "core/runtime/slots.hpp"
#include "tests/core/runtime/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// The types and overrides of plugin `ties`.
struct Ties : World {
  Ties() { folder.add("ties/ties", "ties.so"); }
  const Override& find(const char* key, const char* provider = "") {
    return find_override(types, key, provider);
  }
  std::string refusal(const char* key, const char* provider = "") {
    return message_of([&] { find(key, provider); });
  }
};

}  // namespace

TEST_SUITE("runtime/runtime") {
  TEST_CASE(
      "an override is found by op and types in any order, which loads the plugin of the types") {
    Ties world;
    CHECK(world.manager->list()[0].state == PluginState::Indexed);
    const Override& entry = world.find("ties.meet[TieB, TieA]");
    CHECK(entry.key() == "ties.meet[TieA, TieB]");
    CHECK(entry.provider == "ties");
    CHECK(world.manager->list()[0].state == PluginState::Active);
    CHECK(&world.find("ties.meet[TieA,TieB]", "ties") == &entry);
  }

  TEST_CASE("one that is not registered is refused with what was meant, and by whom there is one") {
    Ties world;
    CHECK(contains(world.refusal("ties.mee[TieA, TieB]"), "did you mean 'ties.meet[TieA, TieB]'?"));
    CHECK(contains(world.refusal("ties.meet[TieA, TieB]", "other"), "one by 'ties'"));
    CHECK(contains(world.refusal("ties.meet"), "types belong to its name"));
    CHECK(contains(world.refusal("ties.meet[TieA, TieZ]"), "'TieZ'"));
  }

  TEST_CASE("a policy is applied to the manager: eager plugins at once, or at their first use") {
    World world;
    world.folder.add("plain");
    const auto state = [&] { return world.manager->list()[0].state; };
    const Json policy = parse_json(R"({"plugins": [{"name": "plain", "load": "eager"}]})");
    world.manager->apply(policy_of(*policy, true));
    CHECK(state() == PluginState::Indexed);
    CHECK(world.ops.find("plain.add_one") == nullptr);
    world.manager->apply(policy_of(*policy));
    CHECK(state() == PluginState::Active);
    CHECK(world.ops.find("plain.add_one") != nullptr);
  }

  TEST_CASE("what a policy leaves out is left out lazily too") {
    World world;
    world.folder.add("plain");
    const Json policy = parse_json(R"({"plugins": [{"name": "plain", "load": "never"}]})");
    world.manager->apply(policy_of(*policy, true));
    CHECK(world.manager->list()[0].state == PluginState::Excluded);
  }
}
