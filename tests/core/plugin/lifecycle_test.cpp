// States of plugins: one thread changes one, others wait, and any sequence of changes and scans
// against a model.
#include "core/plugin/load/lifecycle.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

FoundPlugin file(const std::string& path, const std::string& id, uint64_t written = 1) {
  FoundPlugin found;
  found.path = path;
  found.stamp.inode = written;
  auto facts = std::make_shared<PluginFacts>();
  facts->id = id;
  found.facts = std::move(facts);
  return found;
}

PluginFailure a_failure() {
  return make_failure(PluginStage::Open, "", "", "it is broken", "fix it");
}

// Code that is there without a file.
struct Code {
  explicit Code(uint64_t generation) : code("made", generation) {
    loaded.table = &table;
    loaded.code = &code;
  }
  static inline const tenon_plugin table{};
  PluginCode code;
  LoadedPlugin loaded;
};

struct World {
  explicit World(const std::vector<FoundPlugin>& found = {file("/a.so", "a"), file("/b.so", "b")}) {
    lifecycle.renew(found);
  }
  LivePlugin& at(const std::string& path) {
    return *lifecycle.live(find_path(lifecycle.known(), path));
  }
  // Loads, or replaces, as the next generation.
  void activate(LivePlugin& plugin) {
    Lifecycle::Lock lock = lifecycle.lock();
    Lifecycle::Change change(lifecycle, plugin);
    codes.push_back(std::make_unique<Code>(plugin.generation + 1));
    UnmapVerdict verdict;
    change.activate(codes.back()->loaded, verdict);
    change.end();
  }
  void fail(LivePlugin& plugin, bool opened) {
    Lifecycle::Lock lock = lifecycle.lock();
    Lifecycle::Change(lifecycle, plugin).fail(a_failure(), opened);
  }
  void unload(LivePlugin& plugin) {
    Lifecycle::Lock lock = lifecycle.lock();
    Lifecycle::Change change(lifecycle, plugin);
    change.deactivate();
    change.end();
  }

  Lifecycle lifecycle;
  std::vector<std::unique_ptr<Code>> codes;
};

}  // namespace

TEST_SUITE("plugin/lifecycle") {
  TEST_CASE("a change that is not ended, as by an exception, leaves the plugin as it was") {
    World world;
    LivePlugin& plugin = world.at("/a.so");
    for (const PluginState before : {PluginState::Indexed, PluginState::Active}) {
      {
        Lifecycle::Lock lock = world.lifecycle.lock();
        const Lifecycle::Change change(world.lifecycle, plugin);
        CHECK(plugin.state == PluginState::Loading);
        CHECK(plugin.is_final());
        CHECK(world.lifecycle.is_changing());
      }
      CHECK(plugin.state == before);
      CHECK_FALSE(world.lifecycle.is_changing());
      if (before == PluginState::Indexed) world.activate(plugin);
    }
  }

  TEST_CASE("who waits for a plugin continues when its change has ended") {
    World world;
    LivePlugin& plugin = world.at("/a.so");
    std::atomic<bool> ended{false}, waits{false};
    Lifecycle::Lock lock = world.lifecycle.lock();
    Lifecycle::Change change(world.lifecycle, plugin);
    std::thread other([&] {
      Lifecycle::Lock own = world.lifecycle.lock();
      waits = true;
      world.lifecycle.wait(own, plugin, "a test");  // lets the lock go
      CHECK(ended);
      CHECK(plugin.state == PluginState::Failed);
    });
    lock.unlock();
    while (!waits) std::this_thread::yield();
    lock.lock();
    ended = true;
    change.fail(a_failure(), true);
    lock.unlock();
    other.join();
  }

  TEST_CASE("a thread that waits for itself, directly or by another thread, gets an error") {
    World world;
    LivePlugin &a = world.at("/a.so"), &b = world.at("/b.so");
    Lifecycle::Lock lock = world.lifecycle.lock();
    Lifecycle::Change change(world.lifecycle, a);
    CHECK(contains(failure_of([&] { world.lifecycle.wait(lock, a, "a test"); }).problem,
                   "while it is being loaded"));
    std::atomic<bool> changes{false};
    std::thread other([&] {
      Lifecycle::Lock own = world.lifecycle.lock();
      const Lifecycle::Change inner(world.lifecycle, b);
      changes = true;
      world.lifecycle.wait(own, a, "another");  // lets the lock go
    });
    lock.unlock();
    while (!changes) std::this_thread::yield();
    lock.lock();
    CHECK(failure_of([&] { world.lifecycle.wait(lock, b, "a test"); }).asked_by == "a test");
    change.end();
    lock.unlock();
    other.join();
    CHECK(b.state == PluginState::Indexed);
  }

  TEST_CASE("what runs stays for its id, though its file is gone or another has the id") {
    World world;
    world.activate(world.at("/a.so"));
    world.lifecycle.renew(std::vector{file("/new.so", "a"), file("/b.so", "b")});
    REQUIRE(world.lifecycle.plugins().size() == 3);
    CHECK(world.lifecycle.plugins()[0]->found.path == "/a.so");
    CHECK(world.at("/new.so").found.shadowed == "'/a.so' is loaded already");
    CHECK(world.at("/b.so").found.shadowed.empty());
  }

  TEST_CASE("any sequence of scans, loads, faults, reloads and unloads does what a model does") {
    struct Model {
      PluginState state = PluginState::Indexed;
      uint64_t generation = 0, stamp = 1;
      bool attempted = false, opened = false, unloaded = false, named = false;
      bool is_there = true;  // its file is
    };
    std::mt19937 random(7);
    const std::vector<std::string> paths = {"/a.so", "/b.so", "/c.so", "/d.so"};
    for (int round = 0; round < 60; ++round) {
      World world(std::vector<FoundPlugin>{});
      std::map<std::string, Model> model;
      std::map<std::string, uint64_t> stamps;
      for (int step = 0; step < 120; ++step) {
        CAPTURE(round);
        CAPTURE(step);
        const std::string& path = paths[random() % paths.size()];
        const auto known = model.find(path);
        switch (random() % 6) {
          case 0: {  // files come, change and go
            std::vector<FoundPlugin> found;
            std::map<std::string, Model> next;
            for (const auto& [at, one] : model) {
              if (one.opened) next[at] = one;
            }
            for (const std::string& at : paths) {
              if (random() % 4 == 0) continue;
              if (random() % 4 == 0) ++stamps[at];
              found.push_back(file(at, at, stamps[at]));
              if (next.contains(at)) continue;
              Model one;
              if (const auto old = model.find(at); old != model.end()) {
                one = old->second;
                one.attempted = one.attempted && one.stamp == stamps[at];
                one.state = one.attempted ? PluginState::Failed : PluginState::Indexed;
              }
              one.stamp = stamps[at];
              next[at] = one;
            }
            world.lifecycle.renew(found);
            model = std::move(next);
            break;
          }
          case 1:  // a request, which stays with the file
            if (known == model.end()) break;
            known->second.named = world.at(path).named = random() % 2 == 0;
            break;
          case 2:  // a load, or a reload
            if (known == model.end() || known->second.state == PluginState::Failed) break;
            world.activate(world.at(path));
            known->second.state = PluginState::Active;
            known->second.opened = true;
            ++known->second.generation;
            break;
          case 3: {  // a load that fails
            if (known == model.end() || known->second.state != PluginState::Indexed) break;
            const bool opened = random() % 4 == 0;
            world.fail(world.at(path), opened);
            known->second.state = PluginState::Failed;
            known->second.attempted = true;
            known->second.opened = opened;
            break;
          }
          case 4:
            if (known == model.end() || known->second.state != PluginState::Active) break;
            world.unload(world.at(path));
            known->second.state = PluginState::Excluded;
            known->second.unloaded = true;
            known->second.opened = known->second.attempted = false;
            break;
          default: {  // a change that throws
            if (known == model.end()) break;
            Lifecycle::Lock lock = world.lifecycle.lock();
            const Lifecycle::Change change(world.lifecycle, world.at(path));
          }
        }
        REQUIRE(world.lifecycle.plugins().size() == model.size());
        for (const auto& plugin : world.lifecycle.plugins()) {
          CAPTURE(plugin->found.path);
          const Model& expected = model.at(plugin->found.path);
          REQUIRE(plugin->state == expected.state);
          REQUIRE(plugin->generation == expected.generation);
          REQUIRE(plugin->attempt.has_value() == expected.attempted);
          REQUIRE(plugin->opened == expected.opened);
          REQUIRE(plugin->unloaded == expected.unloaded);
          REQUIRE(plugin->named == expected.named);
          REQUIRE((plugin->loaded.code != nullptr) == (expected.state == PluginState::Active));
          if (plugin->loaded.code != nullptr)
            REQUIRE(plugin->loaded.code->generation() == expected.generation);
        }
      }
    }
  }
}
