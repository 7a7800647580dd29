// Who provides a name: tables of cases, and any set of plugins against a simple oracle.
#include "core/plugin/resolve/resolver.hpp"

#include <algorithm>
#include <list>
#include <random>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

#include "tenon/abi/op.h"

using namespace tenon::core;

namespace {

// Plugins that declare one op "x", policies and tables, and what the resolver makes of them.
struct World {
  World() { policy.source = "config 'c'"; }
  KnownPlugin& add(const std::string& id, bool declines = false,
                   const std::string& schema = "x(Tensor input) -> Tensor") {
    auto facts = std::make_shared<PluginFacts>();
    facts->id = id;
    OpFacts op;
    op.schema = schema;
    op.flags = declines ? TENON_OP_MAY_DECLINE : 0;
    facts->ops.push_back(op);
    KnownPlugin& plugin = plugins.emplace_back();
    plugin.found.path = "/" + id + ".so";
    plugin.found.facts = std::move(facts);
    return plugin;
  }
  KnownPlugin& find(const std::string& id) {
    return *std::ranges::find_if(plugins, [&](const KnownPlugin& one) { return one.id() == id; });
  }
  void prefer(const std::string& id) { policy.prefer.push_back({"x", id}); }
  void prefer_for_calls(const std::string& id, const std::string& input) {
    policy.prefer.push_back(
        {"x", id, {}, std::vector<ShapeCondition>{{"input", ShapeClass(input)}}});
  }
  // "flat [4], other [*]"
  std::string preferences() {
    std::string text;
    for (const ProviderPreference& preference : made().preferences("x"))
      text += (text.empty() ? "" : ", ") + preference.provider + " " +
              preference.when.front().shape.text();
    return text;
  }
  void list(const std::string& id) { policy.plugins.emplace_back().name = id; }
  Resolver& made() {
    stack.list = {policy};
    KnownPlugins known;
    for (const KnownPlugin& plugin : plugins) known.push_back(&plugin);
    resolver.set_plugins(known);
    return resolver;
  }
  // "small > flat | other": levels, and those that are contested.
  std::string levels() {
    std::string text;
    for (const ProviderLevel& level : made().levels(ItemKind::Op, "x")) {
      text += text.empty() ? "" : " > ";
      for (const KnownPlugin* plugin : level.plugins)
        text += (plugin == level.plugins.front() ? "" : " | ") + plugin->id();
    }
    return text;
  }
  std::string standing(const std::string& id) {
    std::string reason;
    const ProviderStanding stands = made().standing(find(id), ItemKind::Op, "x", &reason);
    return provider_standing_text(stands) + (reason.empty() ? "" : ": " + reason);
  }
  bool belongs(const std::string& id) { return made().belongs(find(id), ItemKind::Op, "x"); }
  void register_op(const std::string& id) {
    registered[static_cast<size_t>(ItemKind::Op)]["x"] =
        made().registered_with(find(id), ItemKind::Op, "x");
  }

  std::list<KnownPlugin> plugins;
  PluginPolicy policy;
  PolicyStack stack;
  RegisteredNames registered;
  Resolver resolver{stack, registered};
};

constexpr bool kDeclines = true;

}  // namespace

TEST_SUITE("plugin/resolver") {
  TEST_CASE("one plugin provides what it alone declares, unless it is refused or disabled") {
    World world;
    world.add("one");
    CHECK(world.levels() == "one");
    CHECK(world.standing("one") == "chosen");
    CHECK(world.belongs("one"));
    world.policy.disable.push_back({"x", ""});
    CHECK(world.levels().empty());
    CHECK(world.standing("one") == "disabled: 'x' is disabled by config 'c'");
    world.policy.disable.clear();
    world.find("one").state = PluginState::Failed;
    world.find("one").reason = "it is broken";
    CHECK(world.levels() == "one");
    CHECK(world.standing("one") == "failed: it is broken");
    world.find("one").state = PluginState::Excluded;
    CHECK(world.standing("one") == "excluded: it is broken");
    CHECK_FALSE(world.belongs("one"));
  }

  TEST_CASE("two that take every call are contested until something ranks them") {
    World world;
    world.add("one");
    world.add("two");
    CHECK(world.levels() == "one | two");
    CHECK(world.standing("one") == "contested: nothing ranks it above or below 'two' (/two.so)");
    world.find("two").named = true;
    CHECK(world.levels() == "two");
    CHECK(world.standing("two") == "chosen: asked for by name");
    CHECK(world.standing("one") == "outranked: 'two' (/two.so) ranks above it, asked for by name");
    world.find("one").named = true;
    CHECK(world.levels() == "one | two");
    world.policy.duplicates = DuplicateChoice::Last;
    world.list("two");
    world.list("one");
    CHECK(world.levels() == "one");
    CHECK(world.standing("one") == "chosen: last in the list of config 'c'");
    world.prefer("two");
    CHECK(world.levels() == "two");
    CHECK(world.standing("two") == "chosen: preferred by config 'c': x");
  }

  TEST_CASE("a preference for some calls ranks nothing, and who is preferred so is there") {
    World world;
    world.add("one").named = true;
    world.add("two");
    world.prefer_for_calls("two", "[4]");
    CHECK(world.levels() == "one > two");
    CHECK(world.preferences() == "two [4]");
    CHECK(world.standing("one") == "chosen: asked for by name");
    world.register_op("one");
    CHECK(world.belongs("two"));
    CHECK(world.standing("two") ==
          "next: runs what 'one' (/one.so) declines; config 'c' prefers 'two' where input is [4]");
  }

  TEST_CASE("preferences for some calls count until one decides for all calls") {
    World world;
    world.add("one", kDeclines);
    world.add("two");
    world.prefer_for_calls("two", "[1]");
    world.prefer("one");
    world.prefer_for_calls("two", "[2]");
    CHECK(world.levels() == "one > two");
    CHECK(world.preferences() == "two [1]");
    world.stack.environment.prefer.push_back({"x", "two"});
    CHECK(world.levels() == "two");
    CHECK(world.preferences().empty());
  }

  TEST_CASE(
      "one that means something else by the name is not there for a preference for some calls") {
    World world;
    world.add("one");
    world.add("other", false, "x(Tensor input, int n=1) -> Tensor");
    world.prefer_for_calls("other", "[4]");
    world.prefer("one");
    CHECK(world.levels() == "one");
    CHECK_FALSE(world.belongs("other"));
  }

  TEST_CASE("one that may decline ranks above those that take every call, and they run the rest") {
    World world;
    world.add("general");
    world.add("special", kDeclines);
    CHECK(world.levels() == "special > general");
    CHECK(world.standing("special") == "chosen: asked first, since it may decline");
    CHECK(world.standing("general") == "next: runs what 'special' (/special.so) declines");
    // It belongs in the tables once what is asked first is there.
    CHECK_FALSE(world.belongs("general"));
    world.register_op("special");
    CHECK(world.belongs("general"));
    CHECK(world.standing("general") == "next: runs what 'special' (/special.so) declines");
    // Being named does not change that; a preference does.
    world.find("general").named = true;
    CHECK(world.levels() == "special > general");
    world.prefer("general");
    CHECK(world.levels() == "general");
    world.registered = {};
    CHECK(world.standing("special") ==
          "outranked: 'general' (/general.so) ranks above it, preferred by config 'c': x");
  }

  TEST_CASE("ties are on their level") {
    World world;
    world.add("general");
    world.add("other");
    world.add("special", kDeclines);
    CHECK(world.levels() == "special > general | other");
    CHECK(world.standing("other") ==
          "contested: nothing ranks it above or below 'general' (/general.so)");
    world.add("second", kDeclines);
    CHECK(world.levels() == "special | second");
    CHECK(world.standing("special") ==
          "contested: nothing ranks it above or below 'second' (/second.so)");
    world.prefer("second");
    world.prefer("other");
    CHECK(world.levels() == "second > other");
    world.policy.prefer.pop_back();
    world.find("general").named = true;
    CHECK(world.levels() == "second > special > general");
    CHECK(world.standing("special") == "next: runs what 'second' (/second.so) declines");
    CHECK(world.standing("other") ==
          "outranked: 'general' (/general.so) ranks above it, asked for by name");
  }

  TEST_CASE("what means something else by the name is neither outranked nor next") {
    World world;
    world.add("general", false, "x(Tensor input, int n=1) -> Tensor");
    world.add("special", kDeclines);
    CHECK(world.levels() == "special | general");
    world.prefer("special");
    CHECK(world.levels() == "special");
    CHECK(world.standing("general") ==
          "outranked: 'special' (/special.so) ranks above it, preferred by config 'c': x");
  }

  TEST_CASE("a refused plugin is passed over, unless it was asked for") {
    World world;
    world.add("general");
    world.add("special", kDeclines).state = PluginState::Failed;
    CHECK(world.levels() == "general");
    world.find("special").named = true;
    CHECK(world.levels() == "special > general");
    world.find("special").named = false;
    world.find("special").state = PluginState::Indexed;
    world.find("general").state = PluginState::Failed;
    CHECK(world.levels() == "special");
    CHECK(world.standing("general") == "failed");
  }

  TEST_CASE(
      "what was registered under another policy stays, and what it declines runs the new one") {
    World world;
    world.add("general");
    world.add("special", kDeclines);
    world.register_op("special");
    world.prefer("general");
    CHECK(world.standing("special").starts_with("chosen"));
    CHECK(world.standing("general") == "next: runs what 'special' (/special.so) declines");
    CHECK(world.belongs("general"));
    World other;
    other.add("general");
    other.add("second");
    other.find("general").named = true;
    other.register_op("general");
    other.prefer("second");
    CHECK(other.standing("second") ==
          "contested: 'general' (/general.so) has registered it already");
    CHECK_FALSE(other.belongs("second"));
  }

  TEST_CASE("any set of plugins and policies is ranked as an oracle ranks it") {
    std::mt19937 random(11);
    const auto chance = [&](unsigned of) { return random() % of == 0; };
    for (int round = 0; round < 3000; ++round) {
      World world;
      const size_t count = 1 + random() % 5;
      std::vector<size_t> places(count);
      for (size_t i = 0; i < count; ++i) places[i] = i;
      std::shuffle(places.begin(), places.end(), random);
      world.policy.duplicates = static_cast<DuplicateChoice>(random() % 3);
      struct Facts {
        std::string id;
        bool declines, asked, excluded, failed;
        size_t preference, place;  // SIZE_MAX: in no list
      };
      std::vector<Facts> facts;
      for (size_t i = 0; i < count; ++i) {
        const Facts one{"p" + std::to_string(i),
                        chance(2),
                        chance(3),
                        chance(8),
                        chance(8),
                        SIZE_MAX,
                        SIZE_MAX};
        KnownPlugin& plugin = world.add(one.id, one.declines);
        plugin.named = one.asked;
        if (one.failed) plugin.state = PluginState::Failed;
        if (one.excluded) plugin.state = PluginState::Excluded;
        facts.push_back(one);
      }
      for (const size_t i : places) {
        if (!facts[i].asked) continue;
        facts[i].place = world.policy.plugins.size();
        world.list(facts[i].id);
      }
      while (chance(3)) {
        Facts& one = facts[random() % count];
        if (one.preference == SIZE_MAX) one.preference = world.policy.prefer.size();
        world.prefer(one.id);
      }
      // The least of these answers; equal ones are contested.
      const auto rank = [&](const Facts& one) {
        size_t place = 0;
        if (one.asked && world.policy.duplicates == DuplicateChoice::First) place = one.place;
        if (one.asked && world.policy.duplicates == DuplicateChoice::Last)
          place = count - one.place;
        if (one.preference != SIZE_MAX) return std::tuple(one.preference, false, false, size_t{0});
        return std::tuple(SIZE_MAX, !one.declines, !one.asked, place);
      };
      std::vector<Facts> left;
      for (const Facts& one : facts) {
        if (!one.excluded) left.push_back(one);
      }
      const bool all_failed = std::ranges::all_of(left, [](const Facts& one) {
        return one.failed && !one.asked && one.preference == SIZE_MAX;
      });
      std::vector<std::set<std::string>> expected;
      if (!all_failed) {
        std::erase_if(left, [](const Facts& one) {
          return one.failed && !one.asked && one.preference == SIZE_MAX;
        });
      }
      while (!left.empty()) {
        const auto best = rank(*std::ranges::min_element(left, {}, rank));
        std::set<std::string> level;
        bool declines = false;
        for (const Facts& one : left) {
          if (!all_failed && rank(one) != best) continue;
          level.insert(one.id);
          declines = one.declines;
        }
        expected.push_back(level);
        if (all_failed || level.size() > 1 || !declines) break;
        std::erase_if(left, [&](const Facts& one) { return level.contains(one.id); });
      }
      std::vector<std::set<std::string>> found;
      for (const ProviderLevel& level : world.made().levels(ItemKind::Op, "x")) {
        std::set<std::string> ids;
        for (const KnownPlugin* plugin : level.plugins) ids.insert(plugin->id());
        found.push_back(ids);
      }
      CAPTURE(round);
      REQUIRE(found == expected);
    }
  }
}
