// Raw documents of a runtime of the test's own: its folder, its tables, and nothing of the process's.
#include "core/runtime/documents.hpp"

#include <string>
#include <vector>

#include "tests/core/runtime/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

struct Listed : World {
  explicit Listed(std::initializer_list<const char*> plugins) {
    for (const char* plugin : plugins) folder.add(plugin);
  }
  Json facts() { return facts_document(*manager); }
};

std::string text(const tenon_json& node, const char* key) {
  return std::string(node.get(key).as_string());
}
const tenon_json& named(const tenon_json& list, const char* key, const char* name) {
  for (const tenon_json& item : list.children()) {
    if (text(item, key) == name) return item;
  }
  FAIL("nothing is named " << name);
  return list;
}
std::vector<std::string> texts(const tenon_json& list, const char* key) {
  std::vector<std::string> all;
  for (const tenon_json& item : list.children()) all.push_back(text(item, key));
  return all;
}
using Texts = std::vector<std::string>;

tenon_status answer(void*, const tenon_call*, tenon_value*, tenon_error**) { return TENON_OK; }

// A type with an override of the op of plugin `plain`, and a child of it.
void register_types(World& world) {
  tenon_type_descriptor types[2] = {};
  const char* const names[] = {"Whole", "Part"};
  for (size_t i = 0; i < 2; ++i) {
    types[i].size = sizeof types[i];
    types[i].name = names[i];
  }
  types[1].parent = "Whole";
  types[1].handler = answer;
  tenon_override_descriptor entry{};
  entry.size = sizeof entry;
  entry.schema = "plain.add_one(Tensor input) -> Tensor";
  entry.types = "Whole";
  entry.run = answer;
  ResolvedLoad items{"made", nullptr, nullptr, {}, {}, {}, {&entry}};
  items.declared_ops["plain.add_one"] = {entry.schema, "plain"};
  for (const tenon_type_descriptor& type : types) items.types.push_back(&type);
  world.registrar.commit(items);
}

}  // namespace

TEST_SUITE("runtime/documents") {
  TEST_CASE("facts are those of all files, and nothing is loaded for them") {
    Listed list({"plain", "slow"});
    const Json facts = list.facts();
    CHECK(texts(*facts, "id") == Texts{"plain", "slow"});
    const tenon_json& plain = named(*facts, "id", "plain");
    CHECK(text(plain, "state") == "indexed");
    const tenon_json& op = *plain.get("facts").get("ops").at(0);
    CHECK(text(op, "name") == "plain.add_one");
    CHECK(text(op, "signature") == "(input)");
    CHECK(op.get("operands").as_bool());
    CHECK_FALSE(op.get("method").as_bool());
    CHECK(op.find("fault") == nullptr);
    const tenon_json& slow = named(*facts, "id", "slow").get("facts");
    CHECK(text(*slow.get("modules").at(0), "forward") == "forward(Tensor input) -> Tensor");
    CHECK(list.ops.find("plain.add_one") == nullptr);
  }

  TEST_CASE("plugins have their states and counts, the runtime has the folders of its manager") {
    Listed list({"plain", "slow"});
    const Json plugins = plugins_document(*list.manager);
    CHECK(texts(*plugins, "id") == Texts{"plain", "slow"});
    CHECK(plugins->at(1)->get("ops").as_int() == 2);
    CHECK(plugins->at(1)->get("modules").as_int() == 1);
    CHECK(plugins->at(1)->get("retired").size() == 0);
    CHECK(plugins->at(1)->find("generation") == nullptr);
    const Json runtime = runtime_document(*list.manager);
    CHECK(texts(runtime->get("folders"), "path") == Texts{list.folder.path()});
    CHECK_FALSE(runtime->get("strict").as_bool());
  }

  TEST_CASE("a plugin that is refused has its reason, and no facts where these cannot be read") {
    Listed list({"plain", "bad_json"});
    const Json facts = list.facts();
    REQUIRE(facts->size() == 2);
    for (const tenon_json& plugin : facts->children()) {
      const bool refused = text(plugin, "state") == "failed";
      CHECK(refused == (plugin.find("reason") != nullptr));
      CHECK(refused == (plugin.find("facts") == nullptr));
    }
  }

  TEST_CASE("facts of a file that is in no folder have the verdict on its unloading") {
    const Json facts = facts_document(fixture("slow"));
    CHECK(text(*facts, "id") == "slow");
    CHECK(text(*facts, "path") == fixture("slow"));
    CHECK(facts->get("unmap").find("possible") != nullptr);
    CHECK_FALSE(facts_document(fixture("ties/ties"))->get("unmap").get("possible").as_bool());
    CHECK_THROWS_AS(facts_document(std::string("/nowhere/x.so")), Error);
  }

  TEST_CASE("an op whose schema cannot be parsed has the fault") {
    const Json facts = facts_document(fixture("bad_types/bad_schema"));
    REQUIRE(facts->get("ops").size() == 2);
    int64_t faults = 0;
    for (const tenon_json& op : facts->get("ops").children()) {
      if (op.find("fault") == nullptr) continue;
      ++faults;
      CHECK(contains(text(op, "fault"), "Tensr"));
      CHECK(op.find("signature") == nullptr);
    }
    CHECK(faults == 1);
  }

  TEST_CASE("providers of a full name say who is used") {
    Listed list({"plain", "duplicate"});
    const Json two = providers_document(list.runtime(), ItemKind::Op, "plain.add_one");
    CHECK(texts(*two, "standing") == Texts{"contested", "contested"});
    CHECK_FALSE(two->at(0)->get("used").as_bool());
    Listed alone({"plain"});
    const Json one = providers_document(alone.runtime(), ItemKind::Op, "plain.add_one");
    CHECK(one->at(0)->get("used").as_bool());
    CHECK(providers_document(alone.runtime(), ItemKind::Op, "add_one")->size() == 0);
    CHECK(providers_document(alone.runtime(), ItemKind::Module, "plain.add_one")->size() == 0);
  }

  TEST_CASE("registrations are the types and overrides of the tables") {
    Listed world({"plain"});
    register_types(world);
    TypeSettings settings;
    settings.covers = {"plain.*"};
    world.types.configure("Part", settings);
    const Json tables = registrations_document(world.runtime());
    CHECK(texts(tables->get("types"), "name") == Texts{"Tensor", "Whole", "Part"});
    const tenon_json& part = named(tables->get("types"), "name", "Part");
    CHECK(text(part, "parent") == "Whole");
    CHECK(part.get("handler").as_bool());
    CHECK(part.get("covers").size() == 1);
    REQUIRE(tables->get("overrides").size() == 1);
    const tenon_json& entry = *tables->get("overrides").at(0);
    CHECK(text(entry, "key") == "plain.add_one[Whole]");
    CHECK(text(entry, "provider") == "made");
    CHECK_FALSE(entry.get("gradient").as_bool());
    CHECK(tables->get("ambiguities").size() == 0);
  }

  TEST_CASE("overrides that tie are registered with the types they tie for and what decides it") {
    World world;
    world.folder.add("ties/ties", "ties.so");
    static_cast<void>(world.types.require("TieChild"));
    const Json tables = registrations_document(world.runtime());
    REQUIRE(tables->get("ambiguities").size() > 0);
    std::string ops;
    for (const tenon_json& one : tables->get("ambiguities").children()) {
      ops += text(one, "op") + " ";
      CHECK(one.get("overrides").size() == 2);
      CHECK_FALSE(text(one, "fix").empty());
    }
    CHECK(contains(ops, "ties.meet"));
    CHECK_FALSE(contains(ops, "ties.pair"));  // never all three types at once
  }

  TEST_CASE("a schema is parsed member by member") {
    const Json schema = schema_document(
        "nn.f(Tensor(a!) input, int[2]? size=None, *, Tensor[] others, str mode='x')"
        " -> (Tensor(a!) first, int)");
    CHECK(text(*schema, "name") == "nn.f");
    CHECK(text(*schema, "signature") == "(input, size=None, *, others, mode='x')");
    const auto parameters = schema->get("parameters").children();
    REQUIRE(parameters.size() == 4);
    CHECK(text(parameters[0], "kind") == "Tensor");
    CHECK(text(parameters[0], "alias") == "a");
    CHECK(parameters[0].get("mutates").as_bool());
    CHECK(parameters[0].find("list") == nullptr);
    CHECK(text(parameters[1], "type") == "int[2]?");
    CHECK(text(parameters[1], "kind") == "int");
    CHECK(parameters[1].get("length").as_int() == 2);
    CHECK(parameters[1].get("optional").as_bool());
    CHECK(text(parameters[1], "default") == "None");
    CHECK(parameters[2].get("list").as_bool());
    CHECK(parameters[2].find("length") == nullptr);
    CHECK(parameters[3].get("keyword_only").as_bool());
    CHECK(text(*schema->get("returns").at(0), "name") == "first");
    CHECK(schema->get("returns").at(1)->find("name") == nullptr);
    CHECK(schema->get("returns_tuple").as_bool());
    CHECK(contains(message_of([] { schema_document("f(Tensr x) -> Tensor"); }), "Tensr"));
  }

  TEST_CASE("overridable ops are those with operands that plugins do not exclude") {
    Listed list({"plain", "slow"});
    CHECK(overridable_ops(*list.manager) == Texts{"plain.add_one", "slow.first", "slow.second"});
    Listed refused({"bad_json"});
    CHECK(overridable_ops(*refused.manager).empty());
  }
}
