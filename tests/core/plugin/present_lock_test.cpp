// The lock of plugins that are there, with a resolver of the test's own.
#include "core/plugin/present_lock.hpp"

#include <list>
#include <string>
#include <vector>

#include "core/plugin/sha256.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// Plugins by their files, as a scan would know them.
struct Shelf {
  KnownPlugin& add(const std::string& path) {
    KnownPlugin& plugin = plugins.emplace_back();
    plugin.found.path = path;
    plugin.found.facts = read_facts_file(path).facts;
    return plugin;
  }
  PluginLock lock(const PluginLock* locked = nullptr) {
    KnownPlugins known;
    for (const KnownPlugin& plugin : plugins) known.push_back(&plugin);
    resolver.set_plugins(known);
    failures.clear();
    return present_lock(known, resolver, locked, failures);
  }

  std::list<KnownPlugin> plugins;
  PolicyStack policies;
  RegisteredNames registered;
  Resolver resolver{policies, registered};
  std::vector<PluginFailure> failures;
};

std::vector<std::string> ids(const PluginLock& lock) {
  std::vector<std::string> list;
  for (const LockedPlugin& plugin : lock.plugins) list.push_back(plugin.id);
  return list;
}
using Ids = std::vector<std::string>;

}  // namespace

TEST_SUITE("plugin/present_lock") {
  TEST_CASE("plugins are locked by their bytes and sorted, names with those that provide them") {
    Shelf shelf;
    shelf.add(fixture("slow"));
    shelf.add(fixture("plain"));
    const PluginLock lock = shelf.lock();
    CHECK(shelf.failures.empty());
    CHECK(ids(lock) == Ids{"plain", "slow"});
    CHECK(lock.plugins[0].sha256 == sha256_file(fixture("plain")));
    CHECK(lock.ops.at("plain.add_one") == "plain");
    CHECK(lock.ops.at("slow.first") == "slow");
    CHECK(lock.modules.at("Slow") == "slow");
    CHECK(lock.types.empty());
  }

  TEST_CASE("what may not be used is not locked") {
    for (const PluginState state :
         {PluginState::Failed, PluginState::Excluded, PluginState::Shadowed}) {
      Shelf shelf;
      shelf.add(fixture("plain"));
      shelf.add(fixture("slow")).state = state;
      CHECK(ids(shelf.lock()) == Ids{"plain"});
      shelf.plugins.back().state = PluginState::Active;
      CHECK(ids(shelf.lock()) == Ids{"plain", "slow"});
    }
  }

  TEST_CASE(
      "a name that several provide is locked with all that may run it, contested ones with none") {
    Shelf shelf;
    shelf.add(fixture("ranked/ranked_general"));
    shelf.add(fixture("ranked/ranked_small"));
    const PluginLock ranked = shelf.lock();
    CHECK(ranked.ops.at("ranked.who") == "ranked_small, ranked_general");
    CHECK(ranked.ops.at("ranked.alone") == "ranked_small");
    Shelf contested;
    contested.add(fixture("plain"));
    contested.add(fixture("duplicate"));
    CHECK_FALSE(contested.lock().ops.contains("plain.add_one"));
  }

  TEST_CASE("held against a lock, only its plugins are read, by their bytes of now") {
    const TemporaryFolder folder;
    Shelf shelf;
    const std::string path = folder.add("plain");
    shelf.add(path);
    PluginLock locked = shelf.lock();
    shelf.add(fixture("slow"));
    CHECK(ids(shelf.lock(&locked)) == Ids{"plain"});
    // The libraries of other bytes are not looked for: those that are locked stand for them.
    locked.plugins[0].libraries = {{"libx.so.1", "/l/libx.so.1", "21"}};
    write_file(path, read_file(path) + "more");
    const PluginLock changed = shelf.lock(&locked);
    REQUIRE(ids(changed) == Ids{"plain"});
    CHECK(changed.plugins[0].sha256 == sha256_file(path));
    CHECK(changed.plugins[0].libraries == locked.plugins[0].libraries);
  }

  TEST_CASE(
      "one whose library is missing is left out with its failure, and the others are locked") {
    const TemporaryFolder folder;
    Shelf shelf;
    shelf.add(fixture("plain"));
    shelf.add(folder.add("beside"));
    const PluginLock lock = shelf.lock();
    CHECK(ids(lock) == Ids{"plain"});
    REQUIRE(shelf.failures.size() == 1);
    CHECK(shelf.failures[0].plugin == "beside");
    CHECK(contains(shelf.failures[0].problem, "libbeside_library.so"));
    CHECK(ids(shelf.lock(&lock)) == Ids{"plain"});
    CHECK(shelf.failures.empty());
  }
}
