// One load, step by step: what each step can end with, and what is left then.
#include <string>
#include <vector>

#include "tests/core/plugin/managed_folder.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("plugin/plugin_load") {
  TEST_CASE("a load that fails is reported each time, listed, and registers nothing") {
    ManagedFolder world;
    world.folder.add("init_fails");
    for (int i = 0; i < 2; ++i) {
      const PluginFailure failure = failure_of([&] { world.manager->ensure_op("init_fails.op"); });
      CHECK(failure.stage == PluginStage::Init);
      CHECK(failure.asked_by == "op 'init_fails.op'");
    }
    CHECK(world.state("init_fails") == PluginState::Failed);
    CHECK(contains(world.listing("init_fails").reason, "cannot reach the device"));
    CHECK(world.listing("init_fails").failure->stage == PluginStage::Init);
    CHECK(world.registrar.names.empty());
    // Its code has run: it is not tried again, and other loads do not make its failure forgotten.
    world.folder.add("plain");
    world.manager->load(world.folder / "plain.so");
    CHECK(world.state("init_fails") == PluginState::Failed);
    failure_of([&] { world.manager->load("init_fails"); });
  }

  TEST_CASE("every fixture that is broken fails at its stage, whole and listed") {
    const struct {
      std::string name;
      PluginStage stage;
    } cases[] = {{"bad_checksum", PluginStage::Read},   {"bad_json", PluginStage::Read},
                 {"no_facts", PluginStage::Read},       {"abi_major", PluginStage::Version},
                 {"abi_minor", PluginStage::Version},   {"missing_symbol", PluginStage::Open},
                 {"no_entry", PluginStage::Symbol},     {"entry_fails", PluginStage::Init},
                 {"entry_throws", PluginStage::Init},   {"init_throws", PluginStage::Init},
                 {"undeclared", PluginStage::Register}, {"bad_descriptor", PluginStage::Register}};
    ManagedFolder world;
    for (const auto& each : cases) world.folder.add(each.name);
    for (const auto& each : cases) {
      CAPTURE(each.name);
      const PluginFailure by_id = failure_of([&] { world.manager->load(each.name, "a test"); });
      CHECK(by_id.stage == each.stage);
      CHECK(by_id.asked_by == "a test");
      const PluginFailure by_path =
          failure_of([&] { world.manager->load(world.folder / (each.name + ".so")); });
      CHECK(by_path.stage == each.stage);
    }
    for (const PluginListing& listing : world.manager->list()) {
      CHECK(listing.state == PluginState::Failed);
      CHECK(!listing.reason.empty());
    }
    CHECK(world.registrar.names.empty());
  }

  TEST_CASE("a plugin that is built again before its first use is read again") {
    ManagedFolder world;
    const std::string path = world.folder.add("plain");
    REQUIRE(world.manager->list().size() == 1);
    std::filesystem::remove(path);
    write_file(path, read_file(fixture("plain")) + "more");
    CHECK(world.manager->ensure_op("plain.add_one"));
    ManagedFolder second;
    const std::string replaced = second.folder.add("plain");
    REQUIRE(second.manager->list().size() == 1);
    std::filesystem::remove(replaced);
    std::filesystem::copy_file(fixture("slow"), replaced);
    const PluginFailure failure = failure_of([&] { second.manager->ensure_op("plain.add_one"); });
    CHECK(contains(failure.problem, "another plugin by now"));
    CHECK(failure.found == "'slow'");
  }

  TEST_CASE("what the table refuses leaves nothing behind") {
    ManagedFolder world;
    world.folder.add("slow");
    world.registrar.refused = "slow";
    const PluginFailure failure = failure_of([&] { world.manager->ensure_op("slow.first"); });
    CHECK(failure.stage == PluginStage::Register);
    CHECK(contains(failure.problem, "the table is full"));
    CHECK(world.state("slow") == PluginState::Failed);
    CHECK(FakeHost::lines() == std::vector<std::string>{"slow: init", "slow: shutdown"});
  }
}
