// Which plugins policies and this host take, in the order in which reasons count.
#include "core/plugin/load/load_plugin.hpp"
#include "tests/core/plugin/fake_guard.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

struct World {
  World() {
    auto facts = std::make_shared<PluginFacts>();
    facts->id = "made";
    facts->version = "1.2.0";
    facts->abi_major = TENON_ABI_MAJOR;
    plugin.found.path = "/made.so";
    plugin.found.origin = PluginOrigin::User;
    plugin.found.facts = std::move(facts);
  }
  PluginPolicy& policy() {
    if (policies.list.empty()) policies.list.emplace_back().source = "config 'c'";
    return policies.list.front();
  }
  PluginPolicy::Plugin& entry() {
    if (policy().plugins.empty()) policy().plugins.emplace_back().name = "made";
    return policy().plugins.front();
  }
  std::string admitted() {
    const Admission found = admit(plugin, policies, host.table());
    CHECK((found.state == PluginState::Failed) == found.failure.has_value());
    return std::string(plugin_state_text(found.state)) +
           (found.failure          ? ": " + found.failure->problem
            : found.reason.empty() ? ""
                                   : ": " + found.reason);
  }

  KnownPlugin plugin;
  PolicyStack policies;
  FakeHost host;
};

}  // namespace

TEST_SUITE("plugin/admission") {
  TEST_CASE("a plugin that was found is taken, unless a reason is against it; the first counts") {
    World world;
    CHECK(world.admitted() == "indexed");
    world.host.change().abi_major = TENON_ABI_MAJOR + 1;
    CHECK(world.admitted() == "failed: it is built for a older Tenon than this one serves");
    world.policies.autoload = false;
    CHECK(world.admitted() ==
          "excluded: loading from folders is switched off, and no config names it");
    world.entry().mode = LoadMode::Never;
    CHECK(world.admitted() == R"(excluded: "load" is "never" in config 'c')");
    world.plugin.unloaded = true;
    CHECK(world.admitted() == "excluded: it was unloaded");
    world.plugin.found.shadowed = "'/other.so' comes first";
    CHECK(world.admitted() == "shadowed: '/other.so' comes first");
    world.plugin.found.failure =
        make_failure(PluginStage::Read, "", "", "it is cut off", "copy it");
    CHECK(world.admitted() == "failed: it is cut off");
  }

  TEST_CASE("without loading from folders a plugin is taken by its name or by its path alone") {
    World world;
    world.policy().autoload = false;
    CHECK(world.admitted().starts_with("excluded"));
    world.plugin.named = true;
    CHECK(world.admitted() == "indexed");
    world.plugin.named = false;
    world.plugin.found.origin = PluginOrigin::Path;
    CHECK(world.admitted() == "indexed");
    world.plugin.found.origin = PluginOrigin::Install;
    world.entry();
    CHECK(world.admitted() == "indexed");
  }

  TEST_CASE("the newest policy that names a plugin says which versions it takes") {
    World world;
    world.entry().version = ">=2";
    const Admission refused = admit(world.plugin, world.policies, world.host.table());
    REQUIRE(refused.failure);
    CHECK(refused.failure->expected == "version >=2");
    CHECK(refused.failure->asked_by == "config 'c'");
    PluginPolicy newer;
    newer.plugins.emplace_back().name = "made@1.2.0";
    world.policies.list.insert(world.policies.list.begin(), newer);
    CHECK(world.admitted() == "indexed");
  }

  TEST_CASE("what the guard refuses is failed, behind every other reason") {
    World world;
    FakeGuard fake;
    fake.on_judge = [](const tenon_guarded_file& file, const tenon_guard_report& report) {
      CHECK(file.occasion == TENON_GUARD_FOUND);
      refuse(report, "it is unknown");
      return TENON_ERROR_PLUGIN;
    };
    world.policies.guard = fake.guard();
    CHECK(world.admitted() == "failed: it is unknown");
    world.plugin.unloaded = true;
    CHECK(world.admitted() == "excluded: it was unloaded");
  }

  TEST_CASE("the terms of a load are the entry of the newest policy, and what the guard has kept") {
    World world;
    world.entry().guard = parse_json(R"({"sha256": "ab"})");
    world.policies.list.emplace_back().adopted.document = parse_json("1");
    const std::vector<SearchFolder> folders = {{"/plugins", PluginOrigin::User, "", 1}};
    const LoadTerms terms = terms_of(world.plugin, world.policies, folders);
    CHECK(terms.pinned.name == "made");
    CHECK(dump(*terms.guard.entry) == R"({"sha256":"ab"})");
    CHECK(terms.guard.documents.size() == 1);
    CHECK_FALSE(terms.guard.alone);
    FakeGuard fake;
    world.policies.guard = fake.guard();
    const Json alone = terms_of(world.plugin, world.policies, folders).guard.alone;
    REQUIRE(alone);
    CHECK(contains(dump(*alone), R"("search_paths":["/plugins"])"));
    CHECK(contains(dump(*alone), R"("path":"/made.so")"));
  }
}
