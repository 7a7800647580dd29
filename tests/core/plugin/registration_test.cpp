// Due registrations of a plugin's table, and names that go with a plugin.
#include <list>

#include <doctest/doctest.h>

#include "core/plugin/load/load_plugin.hpp"
#include "tenon/abi/op.h"

using namespace tenon::core;

namespace {

// A plugin that declares and has ops by these schemas; those with '?' may be declined.
struct Made {
  Made(const std::string& id, std::vector<std::string> texts) : schemas(std::move(texts)) {
    auto facts = std::make_shared<PluginFacts>();
    facts->id = id;
    for (std::string& schema : schemas) {
      const bool declines = schema.ends_with('?');
      if (declines) schema.pop_back();
      OpFacts op;
      op.schema = schema;
      op.flags = declines ? TENON_OP_MAY_DECLINE : 0;
      facts->ops.push_back(op);
      tenon_op_descriptor& descriptor = descriptors.emplace_back();
      descriptor.schema = schema.c_str();
      ops.push_back(&descriptor);
    }
    plugin.found.path = "/" + id + ".so";
    plugin.found.facts = std::move(facts);
    override_entry.schema = "neg(Tensor x) -> Tensor";
    override_entry.types = "T";
    table.ops = ops.data();
    table.op_count = static_cast<int64_t>(ops.size());
    table.overrides = &overrides;
    table.override_count = 1;
  }
  Made(const Made&) = delete;

  std::vector<std::string> schemas;
  std::list<tenon_op_descriptor> descriptors;
  std::vector<const tenon_op_descriptor*> ops;
  tenon_override_descriptor override_entry{};
  const tenon_override_descriptor* overrides = &override_entry;
  KnownPlugin plugin;
  tenon_plugin table{};
};

std::vector<std::string> names_of(const ResolvedLoad& request) {
  std::vector<std::string> names;
  for (const auto* op : request.ops) names.emplace_back(schema_name(op->schema));
  return names;
}

struct World {
  void know(const std::vector<const Made*>& all) {
    KnownPlugins plugins;
    for (const Made* one : all) plugins.push_back(&one->plugin);
    resolver.set_plugins(plugins);
  }
  ResolvedLoad due(const Made& made, Due what) {
    return due_registrations(made.plugin, made.table, registrations, resolver, what);
  }
  void add(const Made& made) {
    ItemNames names;
    for (const std::string& name : names_of(due(made, Due::First)))
      names.emplace_back(ItemKind::Op, name);
    registrations.add(made.plugin, names, resolver);
  }

  PolicyStack policies;
  Registrations registrations;
  Resolver resolver{policies, registrations.names()};
};

using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE("plugin/registration") {
  TEST_CASE("all of a plugin is due at first, by name; later what is not there, and no override") {
    World world;
    const Made made("made", {"b(Tensor x) -> Tensor", "a(Tensor x) -> Tensor"});
    world.know({&made});
    const ResolvedLoad first = world.due(made, Due::First);
    CHECK(names_of(first) == Names{"a", "b"});
    CHECK(first.overrides.size() == 1);
    CHECK(first.provider == "made");
    CHECK(first.ranked.empty());
    world.add(made);
    CHECK(world.registrations.has(ItemKind::Op, "a"));
    CHECK_FALSE(world.registrations.has(ItemKind::Module, "a"));
    CHECK(world.due(made, Due::More).empty());
    const ResolvedLoad again = world.due(made, Due::Again);
    CHECK(names_of(again) == Names{"a", "b"});
    CHECK(again.overrides.size() == 1);
  }

  TEST_CASE("what another plugin provides is not due until a policy gives it") {
    World world;
    const Made made("made", {"a(Tensor x) -> Tensor", "own(Tensor x) -> Tensor"});
    const Made other("other", {"a(Tensor x) -> Tensor"});
    world.know({&made, &other});
    CHECK(names_of(world.due(made, Due::First)) == Names{"own"});
    world.add(made);
    PluginPolicy policy;
    policy.prefer = {{"a", "made"}};
    policy.disable = {{"neg[T]", ""}};
    world.policies.list = {policy};
    CHECK(names_of(world.due(made, Due::More)) == Names{"a"});
    CHECK(world.due(made, Due::Again).overrides.empty());
  }

  TEST_CASE("an op that may be declined names those that are asked after it, best first") {
    World world;
    const Made special("special", {"a(Tensor x) -> Tensor?"});
    const Made general("general", {"a(Tensor x) -> Tensor"});
    world.know({&general, &special});
    CHECK(names_of(world.due(general, Due::First)).empty());
    world.add(special);
    const ResolvedLoad next = world.due(general, Due::First);
    CHECK(next.ranked.at("a") == Names{"special", "general"});
    world.add(general);
    REQUIRE(world.registrations.of(ItemKind::Op, "a") != nullptr);
    CHECK(*world.registrations.of(ItemKind::Op, "a") ==
          KnownPlugins{&special.plugin, &general.plugin});
    // The name is free when both are gone.
    CHECK(world.registrations.withdraw(special.plugin).empty());
    CHECK(*world.registrations.of(ItemKind::Op, "a") == KnownPlugins{&general.plugin});
    CHECK(world.registrations.withdraw(general.plugin) == ItemNames{{ItemKind::Op, "a"}});
    CHECK_FALSE(world.registrations.has(ItemKind::Op, "a"));
  }
}
