// Which plugins policies and this host take, in the order in which reasons count.
#include "core/plugin/admission.hpp"

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
    const Admission found = admit(plugin, policies, host.table(), quarantine);
    CHECK((found.state == PluginState::Failed) == found.failure.has_value());
    return std::string(plugin_state_text(found.state)) +
           (found.failure          ? ": " + found.failure->problem
            : found.reason.empty() ? ""
                                   : ": " + found.reason);
  }

  KnownPlugin plugin;
  PolicyStack policies;
  FakeHost host;
  Quarantine quarantine{"", ""};
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
    const Admission refused =
        admit(world.plugin, world.policies, world.host.table(), world.quarantine);
    REQUIRE(refused.failure);
    CHECK(refused.failure->expected == "version >=2");
    CHECK(refused.failure->asked_by == "config 'c'");
    PluginPolicy newer;
    newer.plugins.emplace_back().name = "made@1.2.0";
    world.policies.list.insert(world.policies.list.begin(), newer);
    CHECK(world.admitted() == "indexed");
  }

  TEST_CASE("the terms of a load are what the newest policy pins, and the locks of all") {
    World world;
    CHECK_FALSE(terms_of(world.plugin, world.policies, world.quarantine, {}).judge_bytes());
    world.entry().sha256 = "ab";
    auto lock = std::make_shared<const PluginLock>();
    world.policies.list.emplace_back().lock = lock;
    const LoadTerms terms = terms_of(world.plugin, world.policies, world.quarantine, {});
    CHECK(terms.pinned.sha256 == "ab");
    CHECK(terms.locks == std::vector<std::shared_ptr<const PluginLock>>{lock});
    CHECK(terms.judge_bytes());
    CHECK_FALSE(terms.trial);
    const Quarantine kept("/nowhere/tenon", "");
    const std::vector<SearchFolder> folders = {{"/plugins", PluginOrigin::User, "", 1}};
    const Json trial = terms_of(world.plugin, world.policies, kept, folders).trial;
    REQUIRE(trial);
    CHECK(dump(*trial, 0).find(R"("search_paths":["/plugins"])") != std::string::npos);
    CHECK(dump(*trial, 0).find(R"("path":"/made.so")") != std::string::npos);
    world.policies.list.front().quarantine = false;
    CHECK_FALSE(terms_of(world.plugin, world.policies, kept, folders).trial);
  }
}
