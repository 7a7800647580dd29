// Code on its way out: what keeps it, in which order it ends, and any sequence of leases against a model.
#include "core/plugin/unload/retirement.hpp"

#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>

#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// The body of the shutdown of a test's code.
std::function<void()>& at_shutdown() {
  static std::function<void()> body;
  return body;
}

// Generations without a library: their verdict keeps them mapped, so that the test owns their code.
struct World {
  World() {
    table.id = "made";
    table.shutdown = [] { at_shutdown()(); };
    at_shutdown() = [this] { ++shutdowns; };
  }
  ~World() {
    at_shutdown() = [] {};
  }

  std::shared_ptr<RetiredCode> retire(uint64_t generation) {
    codes.push_back(std::make_unique<PluginCode>("made", generation));
    return retire(*codes.back());
  }
  std::shared_ptr<RetiredCode> retire(PluginCode& held) {
    LoadedPlugin loaded;
    loaded.table = &table;
    loaded.code = &held;
    auto code = std::make_shared<RetiredCode>("made", "/made.so", held.generation(),
                                              UnmapVerdict{{"the test owns it"}}, loaded);
    code->withdrawn = kept;
    retirement.add(code);
    return code;
  }
  PluginCode& code() { return *codes.back(); }

  tenon_plugin table{};
  int shutdowns = 0;
  FakeRegistrar registrar;
  std::shared_ptr<int> kept = std::make_shared<int>(0);  // stands for plans
  std::vector<std::unique_ptr<PluginCode>> codes;
  Retirement retirement{registrar};
};

}  // namespace

TEST_SUITE("plugin/retirement") {
  TEST_CASE("code that nothing holds ends at the first look: shutdown, then what the tables kept") {
    World world;
    const auto code = world.retire(3);
    CHECK(code->report().state == RetiredPlugin::State::Draining);
    CHECK(world.kept.use_count() == 2);
    world.registrar.before_forget = [&](const PluginCode&) { CHECK(world.shutdowns == 1); };
    world.retirement.sweep();
    CHECK(world.registrar.forgotten == std::vector<uint64_t>{3});
    CHECK(world.kept.use_count() == 1);
    CHECK(code->report().state == RetiredPlugin::State::Drained);
    CHECK(code->report().kept_by == std::vector<std::string>{"the test owns it"});
    CHECK(world.retirement.reports().empty());
    world.retirement.sweep();
    CHECK(world.shutdowns == 1);
  }

  TEST_CASE(
      "each kind of holder keeps the code, hooks until after the shutdown that removes them") {
    for (size_t kind = 0; kind < kHolders; ++kind) {
      CAPTURE(kind);
      World world;
      const auto holder = static_cast<Holder>(kind);
      const auto code = world.retire(1);
      {
        const CodeLease lease(&world.code(), holder);
        world.retirement.sweep();
        CHECK(world.shutdowns == (holder == Holder::Hook ? 1 : 0));
        CHECK(world.registrar.forgotten.empty());
        REQUIRE(world.retirement.reports().size() == 1);
        CHECK(world.retirement.reports()[0].holders[kind] == 1);
      }
      CHECK(world.retirement.reports().empty());
      CHECK(world.shutdowns == 1);
      CHECK(code->report().state == RetiredPlugin::State::Drained);
    }
  }

  TEST_CASE(
      "a wait ends when the code is drained, when its time is over, or when only types hold it") {
    World world;
    const auto code = world.retire(1);
    CodeLease lease(&world.code(), Holder::Module);
    CHECK(world.retirement.wait(*code, UnloadChoice::Force, -1).state ==
          RetiredPlugin::State::Draining);
    CHECK(world.retirement.wait(*code, UnloadChoice::Refuse, -1)
              .holders[static_cast<size_t>(Holder::Module)] == 1);
    CHECK(world.retirement.wait(*code, UnloadChoice::Wait, 0).state ==
          RetiredPlugin::State::Draining);
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      lease = {};
    });
    CHECK(world.retirement.wait(*code, UnloadChoice::Wait, -1).state ==
          RetiredPlugin::State::Drained);
    other.join();
    const auto typed = world.retire(2);
    const CodeLease type(&world.code(), Holder::Type);
    const RetiredPlugin report = world.retirement.wait(*typed, UnloadChoice::Wait, -1);
    CHECK(report.state == RetiredPlugin::State::Draining);
    CHECK(report.kept_by ==
          std::vector<std::string>{"the test owns it", std::string(kKeptByTypes)});
  }

  TEST_CASE("a shutdown that looks at what drains, or throws, ends all the same") {
    World world;
    const auto code = world.retire(1);
    at_shutdown() = [&] {
      world.retirement.sweep();
      CHECK(world.retirement.reports().size() == 1);
      ++world.shutdowns;
    };
    world.retirement.sweep();
    CHECK(world.shutdowns == 1);
    CHECK(world.retirement.reports().empty());
    world.retire(2);
    at_shutdown() = [] { throw 1; };
    world.retirement.sweep();
    CHECK(world.retirement.reports().empty());
  }

  TEST_CASE("a report says what a shutdown threw") {
    World world;
    const auto fault_of = [&](uint64_t generation, std::function<void()> body) {
      at_shutdown() = std::move(body);
      const auto code = world.retire(generation);
      return world.retirement.wait(*code, UnloadChoice::Wait, -1).fault;
    };
    CHECK(fault_of(1, [] {}).empty());
    CHECK(fault_of(2, [] { throw std::runtime_error("no room"); }) ==
          "its shutdown throws: no room");
    CHECK(fault_of(3, [] { throw 1; }) ==
          "its shutdown throws an object that is not a std::exception");
  }

  TEST_CASE("what throws while code is freed leaves it to the next look") {
    World world;
    world.retire(1);
    world.registrar.before_forget = [](const PluginCode&) { throw std::bad_alloc(); };
    CHECK_THROWS_AS(world.retirement.sweep(), std::bad_alloc);
    world.registrar.before_forget = nullptr;
    CHECK(world.retirement.reports().empty());
    CHECK(world.shutdowns == 1);
  }

  TEST_CASE("any sequence of generations, leases and looks does what a model of counters does") {
    std::mt19937 random(5);
    struct Model {
      PluginCode* code;
      std::vector<std::pair<Holder, CodeLease>> leases;
      std::array<int64_t, kHolders> held{};
      bool shut_down = false;
    };
    for (int round = 0; round < 40; ++round) {
      World world;
      std::vector<Model> model;  // generations that are still there, the oldest first
      std::vector<uint64_t> forgotten;
      int shutdowns = 0;
      uint64_t next = 1;
      const auto look = [&] {
        for (auto one = model.begin(); one != model.end();) {
          const auto& held = one->held;
          const int64_t hooks = held[static_cast<size_t>(Holder::Hook)];
          int64_t others = -hooks;
          for (const int64_t count : held) others += count;
          if (others == 0 && !std::exchange(one->shut_down, true)) ++shutdowns;
          if (others == 0 && hooks == 0) {
            forgotten.push_back(one->code->generation());
            one = model.erase(one);
          } else {
            ++one;
          }
        }
      };
      for (int step = 0; step < 80; ++step) {
        CAPTURE(round);
        CAPTURE(step);
        Model* const one = model.empty() ? nullptr : &model[random() % model.size()];
        switch (random() % 4) {
          case 0: {
            world.codes.push_back(std::make_unique<PluginCode>("made", next++));
            Model made{&world.code(), {}, {}, false};
            for (size_t i = random() % 4; i > 0; --i) {
              const auto kind = static_cast<Holder>(random() % kHolders);
              made.leases.emplace_back(kind, CodeLease(made.code, kind));
              ++made.held[static_cast<size_t>(kind)];
            }
            world.retire(*made.code);
            model.push_back(std::move(made));
            break;
          }
          case 1: {
            if (one == nullptr) break;
            const auto kind = static_cast<Holder>(random() % kHolders);
            one->leases.emplace_back(kind, CodeLease(one->code, kind));
            ++one->held[static_cast<size_t>(kind)];
            break;
          }
          default: {
            if (one == nullptr || one->leases.empty()) break;
            const size_t which = random() % one->leases.size();
            --one->held[static_cast<size_t>(one->leases[which].first)];
            one->leases.erase(one->leases.begin() + static_cast<std::ptrdiff_t>(which));
          }
        }
        if (random() % 2 == 0) continue;
        look();
        const std::vector<RetiredPlugin> reports = world.retirement.reports();
        REQUIRE(reports.size() == model.size());
        for (size_t i = 0; i < reports.size(); ++i) {
          CHECK(reports[i].generation == model[i].code->generation());
          CHECK(reports[i].holders == model[i].held);
        }
        REQUIRE(world.registrar.forgotten == forgotten);
        REQUIRE(world.shutdowns == shutdowns);
      }
    }
  }
}
