// Which plugin a first use or a name loads, by how many threads, and what else that loads.
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "tests/core/plugin/managed_folder.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("plugin/plugin_loading") {
  TEST_CASE("what runs the calls that a plugin declines is loaded when it is asked for") {
    ManagedFolder world;
    for (const char* id : {"ranked_small", "ranked_general"})
      world.folder.add(std::string("ranked/") + id, std::string(id) + ".so");
    CHECK(world.manager->ensure_op("ranked.who"));
    CHECK(world.has("ranked_small:ranked.who"));
    CHECK(world.state("ranked_general") == PluginState::Indexed);
    CHECK_FALSE(world.manager->ensure_next_op("ranked.alone", "ranked_small"));
    CHECK(world.manager->ensure_next_op("ranked.who", "ranked_small"));
    CHECK(world.has("ranked_general:ranked.who"));
    CHECK(world.has("ranked_general:ranked.scale"));
    CHECK_FALSE(world.manager->ensure_next_op("ranked.who", "ranked_general"));
    const auto providers = world.manager->providers(ItemKind::Op, "ranked.who");
    REQUIRE(providers.size() == 2);
    CHECK(providers[0].standing == ProviderStanding::Next);
    CHECK_FALSE(providers[0].may_decline);
    CHECK(providers[1].standing == ProviderStanding::Chosen);
    CHECK(providers[1].may_decline);
    const Json ops(world.manager->loadable()->find("ops"));
    CHECK(dump(ops->get("ranked.who")) == R"(["ranked_small","ranked_general"])");
    CHECK(dump(ops->get("ranked.alone")) == R"(["ranked_small"])");
  }

  TEST_CASE("what is loaded for another of its ops registers nothing that is not its turn") {
    ManagedFolder world;
    for (const char* id : {"ranked_small", "ranked_general"})
      world.folder.add(std::string("ranked/") + id, std::string(id) + ".so");
    world.manager->load("ranked_general");
    CHECK_FALSE(world.has("ranked_general:ranked.who"));
    CHECK(world.manager->ensure_op("ranked.who"));
    CHECK(world.has("ranked_small:ranked.who"));
    CHECK(world.manager->ensure_next_op("ranked.who", "ranked_small"));
    CHECK(world.has("ranked_general:ranked.who"));
    // Gone, it leaves what it declined to none; first gone, it leaves all to the next.
    world.manager->unload("ranked_general", UnloadChoice::Force);
    CHECK_FALSE(world.manager->ensure_next_op("ranked.who", "ranked_small"));
    world.manager->load("ranked_general");
    world.manager->unload("ranked_small", UnloadChoice::Force);
    CHECK(world.has("ranked_general:ranked.who"));
    CHECK(world.manager->providers(ItemKind::Op, "ranked.who")[0].standing ==
          ProviderStanding::Chosen);
  }

  TEST_CASE("an index that was made before is what the first use finds its plugin in") {
    ManagedFolder world;
    world.folder.add("slow");
    world.manager->index();
    CHECK(FakeHost::lines().empty());
    world.folder.add("plain");  // after the folder was read
    CHECK_FALSE(world.manager->ensure_op("plain.add_one"));
    CHECK(world.manager->ensure_op("slow.first"));
    // The search has changed: the next index has the new file.
    world.manager->add_search_path(world.folder / "none");
    world.manager->index();
    CHECK(world.manager->ensure_op("plain.add_one"));
  }

  TEST_CASE("listing runs nothing, the first use loads, the second finds it there") {
    ManagedFolder world;
    world.folder.add("slow");
    world.folder.add("plain");
    REQUIRE(world.manager->list().size() == 2);
    CHECK(world.state("slow") == PluginState::Indexed);
    CHECK(world.listing("slow").facts->ops.size() == 2);
    CHECK(FakeHost::lines().empty());
    CHECK(world.manager->ensure_op("slow.second"));
    CHECK(world.state("slow") == PluginState::Active);
    CHECK(world.state("plain") == PluginState::Indexed);
    CHECK(world.registrar.names ==
          std::set<std::string>{"slow:slow.first", "slow:slow.second", "slow:Slow"});
    CHECK(world.manager->ensure_op("slow.first"));
    CHECK(world.manager->ensure_module("Slow"));
    world.manager->load("slow");
    CHECK(world.registrar.commits == 1);
    CHECK(FakeHost::lines() == std::vector<std::string>{"slow: init"});
  }

  TEST_CASE("modules load their plugin as ops do, unknown names load none") {
    ManagedFolder world;
    world.folder.add("slow");
    CHECK(!world.manager->ensure_op("Slow"));
    CHECK(!world.manager->ensure_module("slow.first"));
    CHECK(!world.manager->ensure_op("slow.third"));
    CHECK(world.state("slow") == PluginState::Indexed);
    CHECK(world.manager->ensure_module("Slow"));
    CHECK(world.state("slow") == PluginState::Active);
    CHECK(world.manager->declared_names(ItemKind::Op) ==
          std::vector<std::string>{"slow.first", "slow.second"});
    CHECK(world.manager->declared_names(ItemKind::Module) == std::vector<std::string>{"Slow"});
  }

  TEST_CASE("concurrent first uses load once") {
    ManagedFolder world;
    world.folder.add("slow");
    std::atomic<int> found{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        if (world.manager->ensure_op(i % 2 == 0 ? "slow.first" : "slow.second")) ++found;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(found == 8);
    CHECK(world.registrar.commits == 1);
    CHECK(FakeHost::lines() == std::vector<std::string>{"slow: init"});
  }

  TEST_CASE("a plugin may use another's op in its init, which loads that one first") {
    ManagedFolder world;
    world.folder.add("slow");
    world.folder.add("needs_slow");
    CHECK(world.manager->ensure_op("needs_slow.op"));
    CHECK(world.state("slow") == PluginState::Active);
    CHECK(world.registrar.commits == 2);
  }

  TEST_CASE("plugins whose inits need each other get an error, from one thread or from two") {
    for (int round = 0; round < 10; ++round) {
      ManagedFolder world;
      world.folder.add("needs_left");
      world.folder.add("needs_right");
      std::atomic<int> refused{0};
      const auto use = [&](const char* name) {
        try {
          world.manager->ensure_op(name);
        } catch (const PluginError& error) {
          CHECK(contains(error.message, "while it is being loaded"));
          ++refused;
        }
      };
      std::thread left([&] { use("needs_left.op"); });
      std::thread right([&] { use("needs_right.op"); });
      left.join();
      right.join();
      CHECK(refused == 2);
      CHECK(world.registrar.names.empty());
      CHECK(world.state("needs_left") == PluginState::Failed);
    }
  }

  TEST_CASE("a plugin that is not found is reported with all places that were searched") {
    ManagedFolder world;
    world.folder.add("plain");
    const PluginFailure failure =
        failure_of([&] { world.manager->load("plian", "config 'x.json'"); });
    CHECK(failure.stage == PluginStage::Find);
    CHECK(contains(failure.problem, "did you mean 'plain'?"));
    CHECK(contains(failure.problem, "'" + world.folder.path() + "' (1 plugin file)"));
    CHECK(contains(failure.text(), "asked for by config 'x.json'"));
    CHECK(failure_of([&] { world.manager->load("/no/such/file.so"); }).stage == PluginStage::Find);
    // A plugin that is installed meanwhile is found.
    world.folder.add("slow");
    world.manager->load("slow");
    CHECK(world.state("slow") == PluginState::Active);
  }

  TEST_CASE("a plugin loads by its path, and by another path of the same bytes") {
    ManagedFolder world;
    const TemporaryFolder other;
    const std::string path = other.add("plain", "anything.so");
    world.manager->load(path);
    CHECK(world.state("plain") == PluginState::Active);
    CHECK(world.listing("plain").path == path);
    world.manager->load(other.add("plain", "copy.so"));
    CHECK(world.registrar.commits == 1);
    write_file(other / "changed.so", read_file(fixture("plain")) + "more");
    const PluginFailure failure = failure_of([&] { world.manager->load(other / "changed.so"); });
    CHECK(failure.stage == PluginStage::Register);
    CHECK(contains(failure.problem, path));
  }

  TEST_CASE("a file that is named stands for its id until then loaded from a folder") {
    ManagedFolder world;
    const TemporaryFolder other;
    world.folder.add("plain");
    REQUIRE(world.manager->list().size() == 1);
    const std::string path = other.add("plain");
    world.manager->load(path);
    CHECK(world.listing("plain").path == path);
    CHECK(world.manager->list().size() == 2);
  }

  TEST_CASE("the first use of one of a thousand ops registers all of them") {
    ManagedFolder world;
    world.folder.add("thousand");
    REQUIRE(world.manager->list().size() == 1);
    CHECK(world.manager->ensure_op("thousand.op500"));
    CHECK(world.registrar.names.size() == 1000);
  }
}
