// Unloading and reloading step by step, with faults at each of them and several threads at once.
#include <atomic>
#include <chrono>
#include <thread>

#include "core/plugin/plugin_manager.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// One plugin that can be unmapped, active in its first generation.
struct World {
  World() {
    SearchEnvironment environment;
    environment.plugin_path = folder.path();
    manager = std::make_unique<PluginManager>(host.table(), registrar, environment);
    folder.add("slow");
    REQUIRE(manager->ensure_op("slow.first"));
  }
  PluginListing listing() const { return manager->list().at(0); }
  bool provides() const { return registrar.names.contains("slow:slow.first"); }

  TemporaryFolder folder;
  FakeHost host;
  FakeRegistrar registrar;
  std::unique_ptr<PluginManager> manager;
};

[[noreturn]] void run_out_of_memory() { throw std::bad_alloc(); }

}  // namespace

TEST_SUITE("plugin unloading") {
  TEST_CASE("reloads of one plugin at once follow one another, each from the generation before") {
    World world;
    // Each waits a while for the other to be where one of them alone may be.
    std::atomic<int> inside{0}, most{0};
    world.registrar.before_users = [&] {
      most = std::max<int>(most, ++inside);
      const auto begin = std::chrono::steady_clock::now();
      while (inside < 2 &&
             std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(100))
        std::this_thread::yield();
      most = std::max<int>(most, inside);
      --inside;
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([&] { world.manager->reload("slow"); });
    for (std::thread& thread : threads) thread.join();
    CHECK(most == 1);
    CHECK(world.registrar.withdrawn == std::vector<uint64_t>{1, 2});
    CHECK(world.listing().generation == 3);
    CHECK(world.listing().state == PluginState::Active);
    CHECK(world.registrar.current["slow"]->generation() == 3);
    CHECK(world.manager->retired().empty());
  }

  TEST_CASE("an unload that is refused changes nothing") {
    World world;
    world.registrar.users = {"another"};
    for (const UnloadChoice choice :
         {UnloadChoice::Refuse, UnloadChoice::Wait, UnloadChoice::Force}) {
      const PluginFailure failure = failure_of([&] { world.manager->unload("slow", choice, 0); });
      CHECK(contains(failure.problem, "plugins build on its tensor types: another"));
      CHECK(world.listing().state == PluginState::Active);
      CHECK(world.listing().generation == 1);
      CHECK(world.provides());
    }
    world.registrar.users.clear();
    CHECK(world.manager->unload("slow", UnloadChoice::Refuse).state ==
          RetiredPlugin::State::Unmapped);
  }

  TEST_CASE("no listing reads the code of a plugin that is on its way out") {
    World world;
    // A count here shows a listing that still looks at the code.
    std::atomic<bool> marks{true};
    world.registrar.before_forget = [&](const PluginCode& code) {
      if (marks) const_cast<PluginCode&>(code).acquire(Holder::Memory);
    };
    std::atomic<bool> done{false};
    std::atomic<int64_t> seen{0}, listings{0};
    std::thread reader([&] {
      while (!done) {
        seen += world.listing().holders[static_cast<size_t>(Holder::Memory)];
        ++listings;
      }
    });
    for (int round = 0; round < 60; ++round) {
      world.manager->unload("slow", UnloadChoice::Force);
      world.manager->load("slow");
    }
    done = true;
    reader.join();
    marks = false;
    CHECK(seen == 0);
    CHECK(listings > 0);
    CHECK(world.manager->retired().empty());
  }

  TEST_CASE("what fails once the new code is visible withdraws it, and the old code stays") {
    World world;
    world.registrar.after_commit = [] { throw Error(TENON_ERROR_VALUE, "its rules do not fit"); };
    const PluginFailure failure = failure_of([&] { world.manager->reload("slow"); });
    CHECK(contains(failure.problem, "its rules do not fit"));
    world.registrar.after_commit = nullptr;
    CHECK(world.manager->retired().empty());
    CHECK(world.registrar.withdrawn == std::vector<uint64_t>{2});
    CHECK(world.registrar.forgotten == std::vector<uint64_t>{2});
    CHECK(world.listing().state == PluginState::Active);
    CHECK(world.listing().generation == 1);
    CHECK(world.manager->reload("slow") == 2);
    CHECK(world.provides());
  }

  TEST_CASE("what throws while a plugin is withdrawn leaves it active, for another attempt") {
    World world;
    const auto is_active = [&] {
      CHECK(world.listing().state == PluginState::Active);
      CHECK(world.manager->ensure_op("slow.first"));
      CHECK(world.provides());
    };
    world.registrar.before_withdraw = run_out_of_memory;
    CHECK_THROWS_AS(world.manager->unload("slow", UnloadChoice::Force), std::bad_alloc);
    is_active();
    world.registrar.before_withdraw = nullptr;
    world.registrar.before_users = run_out_of_memory;
    CHECK_THROWS_AS(world.manager->unload("slow", UnloadChoice::Force), std::bad_alloc);
    is_active();
    CHECK_THROWS_AS(world.manager->reload("slow"), std::bad_alloc);
    is_active();
    world.registrar.before_users = nullptr;
    CHECK(world.manager->reload("slow") == 2);
    CHECK(world.manager->unload("slow", UnloadChoice::Refuse).state ==
          RetiredPlugin::State::Unmapped);
  }

  TEST_CASE("what throws while drained code is freed leaves it to the next look") {
    World world;
    world.registrar.before_forget = [](const PluginCode&) { run_out_of_memory(); };
    CHECK_THROWS_AS(world.manager->unload("slow", UnloadChoice::Wait), std::bad_alloc);
    CHECK_THROWS_AS(world.manager->retired(), std::bad_alloc);
    world.registrar.before_forget = nullptr;
    // Another thread, which waits for the one that looks.
    size_t left = 1;
    std::thread([&] { left = world.manager->retired().size(); }).join();
    CHECK(left == 0);
    CHECK(world.registrar.forgotten == std::vector<uint64_t>{1});
    world.manager->load("slow");
    CHECK(world.provides());
  }
}
