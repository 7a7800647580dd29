// Policies held against plugins that are known: all faults of one at once, each with its place.
#include "core/plugin/resolve/policy_check.hpp"

#include <algorithm>
#include <list>

#include "core/plugin/resolve/policy.hpp"
#include "tests/core/plugin/fake_guard.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

constexpr const char* kAdd = "add(Tensor input, Tensor other) -> Tensor";
constexpr const char* kScale = "scale(Tensor input, float factor) -> Tensor";

// Plugin `math` with two ops and an override, `nn` with a module and a type; neither has a file.
struct World {
  World() {
    PluginFacts math;
    math.ops = {op(kAdd), op(kScale)};
    OverrideFacts entry;
    entry.schema = kAdd;
    entry.key = "add[A, B]";
    math.overrides = {entry};
    add("math", math);
    PluginFacts nn;
    ModuleFacts module;
    module.schema = "nn.Linear(int n)";
    nn.modules = {module};
    TypeFacts type;
    type.type = "Block";
    nn.types = {type};
    add("nn", nn);
  }
  static OpFacts op(const char* schema) {
    OpFacts made;
    made.schema = schema;
    return made;
  }
  KnownPlugin& add(const std::string& id, PluginFacts facts) {
    facts.id = id;
    facts.version = "1.2.0";
    KnownPlugin& plugin = plugins.emplace_back();
    plugin.found.path = "/" + id + ".so";
    plugin.found.facts = std::make_shared<const PluginFacts>(std::move(facts));
    return plugin;
  }
  KnownPlugin& find(const std::string& id) {
    return *std::ranges::find_if(plugins, [&](const KnownPlugin& one) { return one.id() == id; });
  }
  KnownPlugins known() const {
    KnownPlugins list;
    for (const KnownPlugin& plugin : plugins) list.push_back(&plugin);
    return list;
  }
  void load(const std::string& id) {
    find(id).state = PluginState::Active;
    find(id).opened = true;
  }
  static PluginPolicy policy(std::string_view config) {
    JsonOptions options;
    options.source = "c";
    return policy_of(*parse_json(config, options));
  }
  std::vector<PluginFailure> check(PluginPolicy policy) {
    stack.list.insert(stack.list.begin(), std::move(policy));
    const KnownPlugins list = known();
    resolver.set_plugins(list);
    std::vector<PluginFailure> found =
        check_policy({list, folders, stack, registrations, resolver});
    stack.list.erase(stack.list.begin());
    return found;
  }
  // "/plugins/0: what is wrong", the places without file, line and column.
  std::vector<std::string> faults(std::string_view config) {
    std::vector<std::string> texts;
    for (const PluginFailure& failure : check(policy(config))) {
      const size_t pointer = failure.place.find('/');
      texts.push_back(
          (pointer == std::string::npos ? failure.asked_by : failure.place.substr(pointer)) + ": " +
          failure.problem);
    }
    return texts;
  }
  std::string fault(std::string_view config) {
    const std::vector<std::string> found = faults(config);
    REQUIRE(found.size() == 1);
    return found.front();
  }

  std::list<KnownPlugin> plugins;
  std::vector<SearchFolder> folders = {{"/plugins", PluginOrigin::User, "", 1}};
  PolicyStack stack;
  Registrations registrations;
  Resolver resolver{stack, registrations.names()};
};

}  // namespace

TEST_SUITE("plugin/policy_check") {
  TEST_CASE("a policy that names what is there has no faults") {
    World world;
    CHECK(world
              .faults(R"({"plugins": [{"name": "math", "version": ">=1"},
                                      {"name": "gone", "load": "never"}],
                          "ops": {"prefer": {"add": "math", "scale": [{"plugin": "math",
                                               "when": {"input": "[4]"}}], "add[A, B]": "math"},
                                  "disable": [{"op": "nn.*"}]},
                          "types": {"Block": {"covers": ["scale"]}}})")
              .empty());
  }

  TEST_CASE("every fault is reported, in the order of the sections, with its place") {
    World world;
    CHECK(world.faults(R"({"types": {"Blocks": {}},
                           "ops": {"disable": [{"op": "scael"}], "prefer": {"add": "gone"}},
                           "plugins": [{"name": "mathh"}]})") ==
          std::vector<std::string>{
              "/plugins/0: no plugin has this id (did you mean 'math'?); looked in: '/plugins' (1 "
              "plugin file)",
              "/ops/disable/0: ops.disable: 'scael' matches no op or module of any plugin (did you "
              "mean 'scale'?)",
              "/ops/prefer/add: it is preferred for 'add' but no plugin has this id; looked in: "
              "'/plugins' (1 plugin file)",
              "/types/Blocks: types: no plugin provides a tensor type 'Blocks' (did you mean "
              "'Block'?)"});
  }

  TEST_CASE("what is said of an optional plugin that is missing is not a fault") {
    World world;
    CHECK(world
              .faults(R"({"plugins": [{"name": "gone", "require": false}],
                          "ops": {"prefer": {"cube": "gone"},
                                  "disable": [{"op": "cube", "plugin": "gone"}]}})")
              .empty());
  }

  TEST_CASE("an entry means a plugin by its id, or by its path; a missing one names who asks") {
    World world;
    const KnownPlugins known = world.known();
    PluginPolicy::Plugin entry;
    const auto meant = [&] { return plugin_of(entry, known, world.folders, "config 'c'"); };
    entry.name = "math";
    CHECK(meant() == known[0]);
    entry.name = "/nn.so";
    CHECK(meant() == known[1]);
    entry.name = "/gone.so";
    CHECK(meant() == nullptr);
    entry.name = "gone";
    const PluginFailure failure = failure_of(meant);
    CHECK(failure.stage == PluginStage::Find);
    CHECK(failure.asked_by == "config 'c'");
    entry.required = false;
    CHECK(meant() == nullptr);
  }

  TEST_CASE("a plugin that may be missing is not missing where its file cannot be read") {
    World world;
    KnownPlugin& broken = world.plugins.emplace_back();
    broken.found.path = "/plugins/broken.so";
    broken.fail(make_failure(PluginStage::Read, "", broken.found.path, "it is cut off", "copy it"));
    PluginPolicy::Plugin entry;
    entry.name = "broken";
    entry.required = false;
    const KnownPlugins known = world.known();
    CHECK(failure_of([&] { plugin_of(entry, known, {}, "config 'c'"); }).problem ==
          "it is cut off");
  }

  TEST_CASE("a shadowed file stands for the one that has its id, if both are one file") {
    World world;
    KnownPlugin& shadowed = world.add("math", {});
    shadowed.found.path = "/copy/math.so";
    shadowed.state = PluginState::Shadowed;
    PluginPolicy::Plugin entry;
    entry.name = "/copy/math.so";
    const KnownPlugins known = world.known();
    CHECK(plugin_of(entry, known, {}, "config 'c'") == known[0]);
    shadowed.found.stamp.inode = 1;
    shadowed.found.stamp.size = 1;
    CHECK(failure_of([&] { plugin_of(entry, known, {}, "config 'c'"); }).problem ==
          "another file stands for this id: '/math.so'");
  }

  TEST_CASE("a path and a name must mean one plugin, and the name may say its version") {
    World world;
    CHECK(world.fault(R"({"plugins": [{"name": "other", "path": "/math.so"}]})") ==
          "/plugins/0: the file at this path is plugin 'math'");
    CHECK(world.fault(R"({"plugins": [{"name": "math@2.0.0", "path": "/math.so"}]})") ==
          "/plugins/0: the file at this path is plugin 'math@1.2.0'");
    CHECK(world.faults(R"({"plugins": [{"name": "math@1.2.0", "path": "/math.so"}]})").empty());
  }

  TEST_CASE("a plugin is listed once, by its id or by its path") {
    World world;
    CHECK(world.fault(R"({"plugins": [{"name": "math"}, {"name": "nn"}, {"path": "/math.so"}]})") ==
          "/plugins/2: the config lists it twice, by its id and by its path");
  }

  TEST_CASE("a plugin that failed is refused with its reason, at `version` where that is it") {
    World world;
    world.find("math").fail(
        make_failure(PluginStage::Version, "math", "/math.so", "it is too old", "update it"));
    world.find("nn").fail(
        make_failure(PluginStage::Read, "nn", "/nn.so", "it is cut off", "copy it"));
    CHECK(
        world.faults(R"({"plugins": [{"name": "math", "version": ">=2"}, {"name": "nn"}]})") ==
        std::vector<std::string>{"/plugins/0/version: it is too old", "/plugins/1: it is cut off"});
  }

  TEST_CASE(
      "what the guard says of a plugin that is listed is a fault, at the place that it names") {
    World world;
    FakeGuard fake;
    fake.on_judge = [](const tenon_guarded_file& file, const tenon_guard_report& report) {
      CHECK(file.occasion == TENON_GUARD_POLICY);
      CHECK(text_in(file.plugin) == "math");
      REQUIRE(file.entry != nullptr);
      CHECK(file.entry->get("sha256").as_string() == "ab");
      refuse(report, "other bytes");
      return TENON_ERROR_PLUGIN;
    };
    world.stack.guard = fake.guard();
    CHECK(world.fault(R"({"plugins": [{"name": "math", "sha256": "ab"}]})") ==
          "/plugins/0: other bytes");
  }

  TEST_CASE("what is loaded takes no other version, no options, and is not disabled any more") {
    World world;
    world.load("math");
    CHECK(world.faults(R"({"plugins": [{"name": "math"}]})").empty());
    CHECK(world.faults(R"({"plugins": [{"name": "math", "version": ">=2", "options": {}}]})") ==
          std::vector<std::string>{
              "/plugins/0/version: its version differs from the version in the config",
              "/plugins/0/options: it is loaded already, so its options come too late"});
    CHECK(world.fault(R"({"plugins": [{"name": "math", "load": "never"}]})") ==
          "/plugins/0/load: it is loaded already, so it cannot be disabled");
  }

  TEST_CASE("what is registered is not disabled any more, for the plugins that the entry means") {
    World world;
    const KnownPlugins known = world.known();
    world.resolver.set_plugins(known);
    world.registrations.add(world.find("math"), {{ItemKind::Op, "add"}}, world.resolver);
    CHECK(world.fault(R"({"ops": {"disable": [{"op": "add"}]}})") ==
          "/ops/disable/0: 'add' is registered already, so it cannot be disabled");
    CHECK(world.fault(R"({"ops": {"disable": [{"op": "*", "plugin": "math"}]}})") ==
          "/ops/disable/0: 'add' is registered already, so it cannot be disabled");
    CHECK(world.faults(R"({"ops": {"disable": [{"op": "scale"}, {"op": "*", "plugin": "nn"}]}})")
              .empty());
  }

  TEST_CASE("a preference names what its plugin provides; with brackets an override") {
    World world;
    CHECK(world.fault(R"({"ops": {"prefer": {"nn.Linear": "math"}}})") ==
          "/ops/prefer/nn.Linear: ops.prefer: 'nn.Linear' matches no op or module of plugin "
          "'math'");
    CHECK(world.fault(R"({"ops": {"prefer": {"add[A, C]": "math"}}})")
              .starts_with("/ops/prefer/add[A, C]: ops.prefer: 'add[A, C]' matches no override of "
                           "plugin 'math'"));
  }

  TEST_CASE("conditions are about tensors among the parameters of ops") {
    World world;
    const std::vector<PluginFailure> failures = world.check(World::policy(
        R"({"ops": {"prefer": {"scale": [{"plugin": "math", "when": {"factor": "[4]"}}]}}})"));
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].problem ==
          "ops.prefer: 'factor' is not a tensor among the parameters of 'scale'");
    CHECK(failures[0].remedy == "name one of its tensors: 'input'");
    CHECK(failures[0].place.ends_with("/ops/prefer/scale/0/when/factor"));
    const std::string bracketed = world.fault(R"({"ops": {"prefer": {"add[A, B]": [
        {"plugin": "math", "when": {"input": "[]"}}]}}})");
    CHECK(bracketed ==
          "/ops/prefer/add[A, B]/0/when: ops.prefer: 'add[A, B]' names overrides, which types "
          "choose, not shapes");
  }

  TEST_CASE("each pattern of a type names an op, at its place in its list") {
    World world;
    const std::vector<std::string> faults = world.faults(
        R"({"types": {"Block": {"fallback_ops": {"allow": ["add", "zzz"], "deny": ["yyy.*"]},
                                "covers": ["xxx"]}}})");
    REQUIRE(faults.size() == 3);
    CHECK(faults[0].starts_with(
        "/types/Block/fallback_ops/allow/1: types: Block: 'zzz' matches no op of any plugin"));
    CHECK(faults[1].starts_with("/types/Block/fallback_ops/deny/0: types: Block: 'yyy.*'"));
    CHECK(faults[2].starts_with("/types/Block/covers/0: types: Block: 'xxx'"));
  }

  TEST_CASE("plugins that a policy lists beside each other must not provide one op unranked") {
    World world;
    PluginFacts fast;
    fast.ops = {World::op(kAdd)};
    world.add("fast", fast).configured = true;
    world.find("math").configured = true;
    const std::vector<std::string> faults =
        world.faults(R"({"plugins": [{"name": "math"}, {"name": "fast"}]})");
    REQUIRE(faults.size() == 2);
    CHECK(contains(faults[0], "op 'add'"));
    CHECK(contains(faults[0], "'fast' (/fast.so)"));
    CHECK(contains(faults[1], "'math' (/math.so)"));
    CHECK(world
              .faults(R"({"plugins": [{"name": "math"}, {"name": "fast"}],
                          "ops": {"prefer": {"add": "fast"}}})")
              .empty());
  }

  TEST_CASE("the guard reviews policies where one of them asks for it") {
    World world;
    FakeGuard fake;
    std::vector<bool> reviewed;
    fake.on_review = [&](const Json& loadable, bool newest, const tenon_guard_report& report) {
      reviewed.push_back(newest);
      CHECK(loadable->get("plugins").size() > 0);
      refuse(report, "another provider");
      return TENON_ERROR_PLUGIN;
    };
    world.stack.guard = fake.guard();
    CHECK(world.faults("{}").empty());
    PluginPolicy earlier;
    earlier.adopted = {parse_json("{}"), true};
    world.stack.list = {earlier};
    CHECK(world.fault("{}") == "config 'c': another provider");
    CHECK(reviewed == std::vector<bool>{false});
  }
}
