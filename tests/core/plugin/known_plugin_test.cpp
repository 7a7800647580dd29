// Which plugin a name means, and why it means none.
#include "core/plugin/resolve/known_plugin.hpp"

#include <list>

#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

struct World {
  KnownPlugin& add(const std::string& path, const std::string& id, const std::string& version) {
    auto facts = std::make_shared<PluginFacts>();
    facts->id = id;
    facts->version = version;
    KnownPlugin& plugin = plugins.emplace_back();
    plugin.found.path = path;
    plugin.found.facts = std::move(facts);
    return plugin;
  }
  KnownPlugins known() const {
    KnownPlugins known;
    for (const KnownPlugin& plugin : plugins) known.push_back(&plugin);
    return known;
  }
  PluginFailure missing(const std::string& name) const { return missing_plugin(name, known(), {}); }

  std::list<KnownPlugin> plugins;
};

}  // namespace

TEST_SUITE("plugin/known_plugin") {
  TEST_CASE("an id means the file that has it, with a version also one beside it") {
    World world;
    KnownPlugin& first = world.add("/first.so", "cube", "1.3.0");
    KnownPlugin& side = world.add("/side.so", "cube", "1.2.0");
    KnownPlugin& shadowed = world.add("/shadowed.so", "cube", "1.1.0");
    side.found.side_name = "cube@1.2.0";
    shadowed.state = PluginState::Shadowed;
    CHECK(find_id(world.known(), "cube") == &first);
    CHECK(find_id(world.known(), "cube@1.3.0") == &first);
    CHECK(find_id(world.known(), "cube@1.2.0") == &side);
    CHECK(find_id(world.known(), "cube@1.1.0") == nullptr);
    CHECK(find_path(world.known(), "/shadowed.so") == &shadowed);
    CHECK(find_path(world.known(), "cube") == nullptr);
    CHECK(side.text() == "'cube@1.2.0' (/side.so)");
  }

  TEST_CASE("a name that means none is explained by what is nearest to it") {
    World world;
    CHECK(world.missing("cube").problem == "no plugin has this id; no folder was searched");
    world.add("/a.so", "cube", "1.2.0");
    CHECK(contains(world.missing("cub").problem, "did you mean 'cube'?"));
    const PluginFailure version = world.missing("cube@2.0.0");
    CHECK(version.problem == "no file of this version of plugin 'cube'");
    CHECK(version.found == "1.2.0 (/a.so)");
    KnownPlugin& unreadable = world.plugins.emplace_back();
    unreadable.found.path = "/lib/broken.so";
    unreadable.fail(
        make_failure(PluginStage::Read, "", "/lib/broken.so", "it is cut off", "copy it"));
    CHECK(world.missing("broken").problem == "it is cut off");
    CHECK(world.missing("broken").plugin == "broken");
    CHECK(world.missing("broken").stage == PluginStage::Read);
  }

  TEST_CASE("another file with the same bytes is the same plugin, one with others is refused") {
    const TemporaryFolder folder;
    write_file(folder / "a.so", "one");
    write_file(folder / "b.so", "one");
    write_file(folder / "c.so", "two");
    World world;
    KnownPlugin& first = world.add(folder / "a.so", "cube", "1.0.0");
    const auto add = [&](const char* name) -> KnownPlugin& {
      KnownPlugin& plugin = world.add(folder / name, "cube", "2.0.0");
      plugin.state = PluginState::Shadowed;
      plugin.found.stamp = {1, 2, 3};
      return plugin;
    };
    first.found.stamp = {1, 1, 3};
    CHECK(&same_plugin(add("b.so"), world.known()) == &first);
    const PluginFailure failure = failure_of([&] { same_plugin(add("c.so"), world.known()); });
    CHECK(contains(failure.problem, "another file stands for this id"));
    CHECK(failure.expected == "version 2.0.0");
    CHECK(failure.found == "1.0.0");
  }
}
