// Random sequences of scans, loads, faults, retries, unloads and reloads, with leases, against a model
// of states.
#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/plugin/plugin_manager.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

struct Expected {
  std::string id, op;
  PluginState state = PluginState::Indexed;
  bool readable = true;  // its file as the last scan has seen it
  uint64_t generation = 0;
  bool unloaded = false;
  bool final_failure = false;  // code of it has run: not tried again
  bool good = true;            // its file as it is now

  bool is_final() const { return state == PluginState::Active || final_failure; }
};

struct Lease {
  std::string id;
  uint64_t generation;
  CodeLease lease;
};

class Sequence {
 public:
  explicit Sequence(uint32_t seed) : random_(seed) {
    SearchEnvironment environment;
    environment.plugin_path = folder_.path();
    manager_ = std::make_unique<PluginManager>(host_.table(), registrar_, environment);
    for (const Expected& one : plugins_) write(one.id, true);
    manager_->list();
  }

  void step() {
    Expected& one = plugins_[random_() % plugins_.size()];
    switch (random_() % 9) {
      case 0:
        write(one.id, one.good = random_() % 3 != 0);
        break;
      case 1:
        manager_->add_search_path(folder_ / "none");
        scan();
        break;
      case 2:
        use(one);
        break;
      case 3:
      case 4:
        load(one);
        break;
      case 5:
        unload(one);
        break;
      case 6:
        reload(one);
        break;
      case 7:
        if (one.state == PluginState::Active)
          leases_.push_back({one.id, one.generation, current_lease(one)});
        break;
      default:
        if (!leases_.empty())
          leases_.erase(leases_.begin() + static_cast<int>(random_() % leases_.size()));
    }
    agree();
  }

 private:
  // As an installation does it: another file in the place of the one that is there.
  void write(const std::string& id, bool good) {
    const std::string path = folder_ / (id + ".so");
    write_file(path + ".new", good ? read_file(fixture(id)) : "not a library");
    std::filesystem::rename(path + ".new", path);
  }
  CodeLease current_lease(const Expected& one) {
    return {const_cast<PluginCode*>(registrar_.current[one.id]), Holder::Module};
  }
  size_t held(const Expected& one, uint64_t generation) const {
    return static_cast<size_t>(std::ranges::count_if(leases_, [&](const Lease& lease) {
      return lease.id == one.id && lease.generation == generation;
    }));
  }
  bool fails(const std::function<void()>& body) {
    try {
      body();
      return false;
    } catch (const Error& error) {
      CHECK(error.kind == TENON_ERROR_PLUGIN);
      return true;
    }
  }

  // ---- the model ----

  void scan() {
    for (Expected& one : plugins_) {
      if (one.is_final()) continue;
      one.readable = one.good;
      one.state = !one.good      ? PluginState::Failed
                  : one.unloaded ? PluginState::Excluded
                                 : PluginState::Indexed;
    }
  }
  // Whether the file, as it is now, could be loaded.
  bool open(Expected& one) {
    if (!one.good) {
      one.state = PluginState::Failed;  // tried, none of its code ran
      return false;
    }
    if (registrar_.refused == one.id) {
      one.state = PluginState::Failed;
      one.final_failure = true;
      return false;
    }
    one.state = PluginState::Active;
    ++one.generation;
    return true;
  }
  bool expect_load(Expected& one) {
    if (one.state == PluginState::Failed && !one.final_failure) scan();
    if (one.state == PluginState::Failed) return false;
    if (one.state == PluginState::Active) return true;
    one.unloaded = false;
    return open(one);
  }

  // ---- both ----

  void use(Expected& one) {
    if (!one.readable && !one.is_final()) {
      CHECK_FALSE(manager_->ensure_op(one.op));
      return;
    }
    const bool works =
        one.state == PluginState::Active || (one.state == PluginState::Indexed && open(one));
    bool found = false;
    CHECK(fails([&] { found = manager_->ensure_op(one.op); }) == !works);
    CHECK(found == works);
  }
  void load(Expected& one) {
    // Rarely: a plugin whose code has run is not tried again.
    const bool refused = random_() % 24 == 0 && one.state == PluginState::Indexed;
    if (refused) registrar_.refused = one.id;
    const bool works = expect_load(one);
    CHECK(fails([&] { manager_->load(one.id); }) == !works);
    registrar_.refused.clear();
  }
  void unload(Expected& one) {
    const bool force = random_() % 2 == 0;
    const bool works =
        one.state == PluginState::Active && (force || held(one, one.generation) == 0);
    if (works) {
      one.state = PluginState::Excluded;
      one.unloaded = one.readable = true;
    }
    CHECK(fails([&] {
            manager_->unload(one.id, force ? UnloadChoice::Force : UnloadChoice::Refuse);
          }) == !works);
  }
  void reload(Expected& one) {
    bool works = false;
    if (one.state == PluginState::Active) {
      works = one.good;
      if (works) ++one.generation;
    } else {
      works = expect_load(one);
    }
    uint64_t generation = one.generation;
    CHECK(fails([&] { generation = manager_->reload(one.id); }) == !works);
    CHECK(generation == one.generation);
  }

  void agree() {
    const std::vector<PluginListing> listings = manager_->list();
    REQUIRE(listings.size() == plugins_.size());
    size_t retired_leases = 0;
    for (const Expected& one : plugins_) {
      CAPTURE(one.id);
      const auto found =
          std::ranges::find(listings, folder_ / (one.id + ".so"), &PluginListing::path);
      REQUIRE(found != listings.end());
      REQUIRE(plugin_state_text(found->state) == std::string(plugin_state_text(one.state)));
      REQUIRE(found->generation == one.generation);
      if (one.state != PluginState::Active) continue;
      CHECK(found->holders[static_cast<size_t>(Holder::Module)] ==
            static_cast<int64_t>(held(one, one.generation)));
      retired_leases += held(one, one.generation);
    }
    retired_leases = leases_.size() - retired_leases;
    // Retired code is kept exactly as long as something holds it.
    for (const RetiredPlugin& retired : manager_->retired()) {
      const auto one = std::ranges::find(plugins_, retired.id, &Expected::id);
      REQUIRE(one != plugins_.end());
      const size_t count = held(*one, retired.generation);
      CHECK(count > 0);
      CHECK(retired.holders[static_cast<size_t>(Holder::Module)] == static_cast<int64_t>(count));
      retired_leases -= count;
    }
    REQUIRE(retired_leases == 0);
  }

  std::mt19937 random_;
  TemporaryFolder folder_;
  FakeHost host_;
  FakeRegistrar registrar_;
  std::unique_ptr<PluginManager> manager_;
  std::array<Expected, 2> plugins_{Expected{"slow", "slow.first"},
                                   Expected{"plain", "plain.add_one"}};
  std::vector<Lease> leases_;
};

}  // namespace

TEST_SUITE("plugin manager against a model") {
  TEST_CASE(
      "any sequence of scans, loads, faults, retries, unloads and reloads ends as the model does") {
    for (uint32_t seed = 0; seed < 25; ++seed) {
      CAPTURE(seed);
      Sequence sequence(seed);
      for (int step = 0; step < 60; ++step) {
        CAPTURE(step);
        sequence.step();
      }
    }
  }
}
