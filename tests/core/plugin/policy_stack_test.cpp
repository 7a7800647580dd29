// Combined policies: tables of cases, and any stack against the place of what decides.
#include "core/plugin/resolve/policy_stack.hpp"

#include <algorithm>
#include <list>
#include <random>
#include <tuple>

#include <doctest/doctest.h>

using namespace tenon::core;

namespace {

// Plugins of version 1.2.0, each in the file "/ID.so", and a stack of policies.
struct World {
  KnownPlugin& add(const std::string& id) {
    auto facts = std::make_shared<PluginFacts>();
    facts->id = id;
    facts->version = "1.2.0";
    KnownPlugin& plugin = plugins.emplace_back();
    plugin.found.path = "/" + id + ".so";
    plugin.found.facts = std::move(facts);
    return plugin;
  }
  // Behind those that are there: the first is the newest.
  PluginPolicy& policy(const std::string& source) {
    PluginPolicy& made = stack.list.emplace_back();
    made.source = source;
    return made;
  }
  KnownPlugins all() const {
    KnownPlugins known;
    for (const KnownPlugin& plugin : plugins) known.push_back(&plugin);
    return known;
  }
  std::string source_for(const KnownPlugin& plugin) const {
    const PolicyStack::Entry entry = stack.entry(plugin);
    CHECK((entry.plugin == nullptr) == (entry.policy == nullptr));
    return entry.policy == nullptr ? "none" : entry.policy->source;
  }
  // "one: preferred by b: x"
  std::string preferred(const PreferenceTarget& target) const {
    std::string reason;
    const KnownPlugin* plugin = stack.preferred(target, all(), &reason);
    return plugin == nullptr ? "none" : plugin->id() + ": " + reason;
  }
  std::string by_place() const {
    std::string reason;
    const KnownPlugin* plugin = stack.by_place(all(), &reason);
    return plugin == nullptr ? "none" : plugin->id() + ": " + reason;
  }

  std::list<KnownPlugin> plugins;
  PolicyStack stack;
};

void name(PluginPolicy& policy, const std::string& plugin) {
  policy.plugins.emplace_back().name = plugin;
}
PluginPolicy::Preference for_calls(const std::string& pattern, const std::string& plugin) {
  return {pattern, plugin, {}, std::vector<ShapeCondition>{{"input", ShapeClass("[4]")}}};
}

}  // namespace

TEST_SUITE("plugin/policy_stack") {
  TEST_CASE("the newest policy that names a plugin speaks for it, by its id, version or path") {
    struct Row {
      const char *named, *speaks;
    };
    const Row rows[] = {{"cube", "new"},       {"cube@1.2.0", "new"}, {"/cube.so", "new"},
                        {"cube@2.0.0", "old"}, {"cub", "old"},        {"/other/cube.so", "old"}};
    for (const Row& row : rows) {
      CAPTURE(row.named);
      World world;
      const KnownPlugin& cube = world.add("cube");
      name(world.policy("new"), row.named);
      CHECK(world.source_for(cube) == (row.speaks == std::string("new") ? "new" : "none"));
      name(world.policy("old"), "cube");
      CHECK(world.source_for(cube) == row.speaks);
    }
  }

  TEST_CASE("a side version is meant by its version or its path, not by the id") {
    World world;
    KnownPlugin& side = world.add("cube");
    side.found.side_name = "cube@1.2.0";
    name(world.policy("id"), "cube");
    CHECK(world.source_for(side) == "none");
    name(world.policy("version"), "cube@1.2.0");
    CHECK(world.source_for(side) == "version");
    name(world.stack.list[0], "/cube.so");
    CHECK(world.source_for(side) == "id");
  }

  TEST_CASE("what is disabled for one plugin stays for the others, and the policy is named") {
    World world;
    const KnownPlugin &one = world.add("one"), &two = world.add("two");
    world.policy("silent");
    world.policy("speaks").disable = {{"nn.*", "one"}};
    std::string source;
    REQUIRE(world.stack.disabling(one, {"nn.linear"}, &source) != nullptr);
    CHECK(source == "speaks");
    CHECK(world.stack.disabling(two, {"nn.linear"}) == nullptr);
    CHECK(world.stack.disabling(one, {"mm"}) == nullptr);
  }

  TEST_CASE("an op disabled of every provider keeps its overrides, unless brackets mean them") {
    World world;
    const KnownPlugin& one = world.add("one");
    PluginPolicy& policy = world.policy("c");
    const PreferenceTarget op("add"), entry("add", "add[A, B]");
    const auto disables = [&](const char* pattern, const char* plugin,
                              const PreferenceTarget& target) {
      policy.disable = {{pattern, plugin}};
      return world.stack.disabling(one, target) != nullptr;
    };
    CHECK(disables("add", "", op));
    CHECK_FALSE(disables("add", "", entry));
    CHECK(disables("add", "one", op));
    CHECK(disables("add", "one", entry));
    CHECK_FALSE(disables("add", "two", entry));
    CHECK_FALSE(disables("add[A, B]", "", op));
    CHECK(disables("add[A, B]", "", entry));
    CHECK(disables("*[A, *]", "", entry));
  }

  TEST_CASE("the environment prefers before configs, and the newest config before older ones") {
    World world;
    world.add("one");
    world.add("two");
    CHECK(world.preferred({"x"}) == "none");
    world.policy("new");
    world.policy("old").prefer = {{"x", "one"}};
    CHECK(world.preferred({"x"}) == "one: preferred by old: x");
    world.stack.list[0].prefer = {{"y", "two"}, {"*", "two"}};
    CHECK(world.preferred({"x"}) == "two: preferred by new: *");
    world.stack.environment.source = "TENON_PREFER";
    world.stack.environment.prefer = {{"x", "one"}};
    CHECK(world.preferred({"x"}) == "one: preferred by TENON_PREFER: x");
    CHECK(world.preferred({"y"}) == "two: preferred by new: y");
  }

  TEST_CASE(
      "a preference for a plugin that is not a candidate, or for some calls, is passed over") {
    World world;
    world.add("one");
    world.add("two");
    world.policy("c").prefer = {{"x", "gone"}, for_calls("x", "two"), {"x", "one"}};
    CHECK(world.preferred({"x"}) == "one: preferred by c: x");
    CHECK(world.stack.preferred({"x"}, {}) == nullptr);
  }

  TEST_CASE("preferences for some calls end at the first that decides for all calls") {
    World world;
    const KnownPlugin& one = world.add("one");
    world.add("two");
    CHECK_FALSE(world.stack.prefers_for_calls());
    world.policy("new").prefer = {for_calls("x", "two"), for_calls("x", "gone"),
                                  for_calls("y", "one")};
    world.policy("old").prefer = {for_calls("x", "one"), {"x", "two"}, for_calls("x", "one")};
    CHECK(world.stack.prefers_for_calls());
    const auto found = world.stack.preferred_for_calls({"x"}, world.all());
    REQUIRE(found.size() == 2);
    CHECK(found[0].plugin->id() == "two");
    CHECK(found[0].source == "new");
    CHECK(found[1].plugin == &one);
    CHECK(found[1].preference == &world.stack.list[1].prefer[0]);
    // A preference of the environment is for every call.
    world.stack.environment.prefer = {{"x", "one"}};
    CHECK(world.stack.preferred_for_calls({"x"}, world.all()).empty());
    CHECK(world.stack.preferred_for_calls({"y"}, world.all()).size() == 1);
  }

  TEST_CASE("the place in the list decides where a policy says so, for those it lists") {
    World world;
    world.add("one");
    world.add("two");
    world.add("three");
    PluginPolicy& policy = world.policy("c");
    for (const char* plugin : {"gone", "/two.so", "one"}) name(policy, plugin);
    CHECK(world.by_place() == "none");
    policy.duplicates = DuplicateChoice::First;
    CHECK(world.by_place() == "two: first in the list of c");
    policy.duplicates = DuplicateChoice::Last;
    CHECK(world.by_place() == "one: last in the list of c");
    // A policy that lists none of the candidates leaves the choice to older ones.
    PluginPolicy newer;
    newer.source = "new";
    newer.duplicates = DuplicateChoice::First;
    name(newer, "gone");
    world.stack.list.insert(world.stack.list.begin(), newer);
    CHECK(world.by_place() == "one: last in the list of c");
    name(world.stack.list[0], "three");
    CHECK(world.by_place() == "three: first in the list of new");
  }

  TEST_CASE(
      "what is kept for the guard is that of the newest first; one policy is enough to need it") {
    World world;
    world.policy("new").adopted.document = parse_json("1");
    world.policy("silent");
    world.policy("old").adopted.document = parse_json("2");
    const std::vector<Json> documents = world.stack.guard_documents();
    REQUIRE(documents.size() == 2);
    CHECK(documents[0]->as_int() == 1);
    CHECK(documents[1]->as_int() == 2);
    CHECK(world.stack.guard_needed_by().empty());
    world.stack.list.back().needs_guard = true;
    CHECK(world.stack.guard_needed_by() == "old");
  }

  TEST_CASE("one policy is enough to be strict, or to switch folders off") {
    World world;
    CHECK_FALSE(world.stack.is_strict());
    CHECK_FALSE(world.stack.is_autoload_off());
    world.policy("new");
    PluginPolicy& old = world.policy("old");
    old.strict = true;
    old.autoload = false;
    CHECK(world.stack.is_strict());
    CHECK(world.stack.is_autoload_off());
    old.autoload = true;
    CHECK_FALSE(world.stack.is_autoload_off());
    world.stack.autoload = false;
    CHECK(world.stack.is_autoload_off());
  }

  TEST_CASE("the search has what was asked for by calls before what policies name, newest first") {
    World world;
    world.stack.folders = {"/added"};
    world.stack.files = {"/loaded.so"};
    world.stack.versions = {"cube@1.0.0"};
    PluginPolicy& newer = world.policy("new");
    newer.search_paths = {"/n1", "/n2"};
    name(newer, "cube@1.2.0");
    name(newer, "/nowhere/needed.so");
    newer.plugins.back().id = "needed";
    PluginPolicy& older = world.policy("old");
    older.search_paths = {"/o"};
    name(older, "/nowhere/optional.so");
    older.plugins.back().required = false;
    const Search search = world.stack.search();
    CHECK(search.added == std::vector<std::string>{"/added"});
    CHECK(search.configured == std::vector<std::string>{"/n1", "/n2", "/o"});
    // A file that may be missing, and is, is not looked for; one that must be there is.
    CHECK(search.files == std::vector<std::string>{"/loaded.so", "/nowhere/needed.so"});
    CHECK(search.named == std::vector<std::string>{"cube@1.2.0", "needed", "", "cube@1.0.0"});
  }

  TEST_CASE("of any policies, what comes first in the order of the stack decides") {
    std::mt19937 random(11);
    const char* const ids[] = {"a", "b", "c", "gone"};
    const char* const patterns[] = {"x", "y", "*", "x[A]"};
    for (int round = 0; round < 300; ++round) {
      World world;
      for (const char* id : {"a", "b", "c"}) world.add(id);
      for (size_t count = random() % 4; count > 0; --count) {
        PluginPolicy& policy = world.policy("p" + std::to_string(count));
        policy.duplicates = static_cast<DuplicateChoice>(random() % 3);
        for (size_t n = random() % 4; n > 0; --n) {
          const std::string pattern = patterns[random() % 4], id = ids[random() % 4];
          policy.prefer.push_back(random() % 3 == 0 ? for_calls(pattern, id)
                                                    : PluginPolicy::Preference{pattern, id});
        }
        // Each plugin once, as configs are checked for.
        std::vector<std::string> listed(ids, ids + 4);
        std::shuffle(listed.begin(), listed.end(), random);
        for (size_t n = random() % 4; n > 0; --n) name(policy, listed[n]);
      }
      // Every candidate has a rank, by the first place that speaks for it; the least one wins.
      using Rank = std::tuple<size_t, size_t>;
      const auto best = [&](const auto& rank_of) {
        const KnownPlugin* found = nullptr;
        Rank least{SIZE_MAX, SIZE_MAX};
        for (const KnownPlugin& plugin : world.plugins) {
          const Rank rank = rank_of(plugin);
          if (rank < least) std::tie(found, least) = std::tuple(&plugin, rank);
        }
        return found;
      };
      const std::vector<PluginPolicy>& list = world.stack.list;
      const auto preference_rank = [&](const KnownPlugin& plugin) {
        for (size_t p = 0; p < list.size(); ++p) {
          for (size_t i = 0; i < list[p].prefer.size(); ++i) {
            const PluginPolicy::Preference& one = list[p].prefer[i];
            if (!one.when && one.plugin == plugin.id() &&
                (one.pattern == "x" || one.pattern == "*"))
              return Rank{p, i};
          }
        }
        return Rank{SIZE_MAX, SIZE_MAX};
      };
      const auto place_rank = [&](const KnownPlugin& plugin) {
        for (size_t p = 0; p < list.size(); ++p) {
          if (list[p].duplicates == DuplicateChoice::Error) continue;
          const size_t count = list[p].plugins.size();
          for (size_t i = 0; i < count; ++i) {
            if (list[p].plugins[i].name != plugin.id()) continue;
            return Rank{p, list[p].duplicates == DuplicateChoice::First ? i : count - i};
          }
        }
        return Rank{SIZE_MAX, SIZE_MAX};
      };
      CHECK(world.stack.preferred({"x"}, world.all()) == best(preference_rank));
      CHECK(world.stack.by_place(world.all()) == best(place_rank));
      const KnownPlugin& plugin = world.plugins.front();
      const auto named = std::ranges::find_if(list, [&](const PluginPolicy& policy) {
        return std::ranges::any_of(policy.plugins,
                                   [&](const auto& one) { return one.name == plugin.id(); });
      });
      CHECK(world.stack.entry(plugin).policy == (named == list.end() ? nullptr : &*named));
    }
  }
}
