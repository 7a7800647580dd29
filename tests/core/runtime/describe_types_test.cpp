// Listings of types in a runtime of the test's own.
#include "core/runtime/describe_types.hpp"

#include <string>
#include <vector>

#include "tests/core/runtime/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

struct Ties : World {
  Ties() { folder.add("ties/ties", "ties.so"); }
};

std::string text(const tenon_json& node, const char* key) {
  return std::string(node.get(key).as_string());
}
const tenon_json& named(const tenon_json& list, const char* name) {
  for (const tenon_json& item : list.children()) {
    if (text(item, "name") == name) return item;
  }
  FAIL("nothing is named " << name);
  return list;
}
std::string how(const tenon_json& coverage, const char* op) {
  return text(named(coverage.get("ops"), op), "how");
}

tenon_status answer(void*, const tenon_call*, tenon_value*, tenon_error**) { return TENON_OK; }

// Types that handle an op in each of the ways that there are.
void register_ways(World& world) {
  tenon_type_descriptor types[5] = {};
  const char* const names[] = {"WayOverride", "WayChild", "WayHandler", "WayFallback", "WayTensor"};
  for (size_t i = 0; i < 5; ++i) {
    types[i].size = sizeof types[i];
    types[i].name = names[i];
  }
  types[1].parent = "WayOverride";
  types[2].handler = answer;
  types[3].fallback = TENON_FALLBACK_TO_TENSOR;
  types[3].to_tensor = [](void*, tenon_tensor*, tenon_tensor**, tenon_error**) -> tenon_status {
    return TENON_ERROR_NOT_IMPLEMENTED;
  };
  types[4].parent = "Tensor";
  tenon_override_descriptor entry{};
  entry.size = sizeof entry;
  entry.schema = "plain.add_one(Tensor input) -> Tensor";
  entry.types = "WayOverride";
  entry.run = answer;
  RegistrationRequest items{"ways", nullptr, nullptr, {}, {}, {}, {&entry}};
  for (const tenon_type_descriptor& type : types) items.types.push_back(&type);
  world.registrar.commit(items);
}

}  // namespace

TEST_SUITE("runtime/describe_types") {
  TEST_CASE(
      "types are listed from facts, with the overrides that name them, and nothing is loaded") {
    Ties world;
    const Json types = describe_types(world.runtime());
    CHECK(types->size() == 5);
    const tenon_json& a = named(*types, "TieA");
    CHECK(text(a, "provider") == "ties");
    CHECK(text(a, "fallback") == "decline");
    CHECK(a.get("overrides").as_int() == 6);
    CHECK(a.find("parent") == nullptr);
    CHECK(text(named(*types, "TieChild"), "parent") == "TieB");
    CHECK(text(named(*types, "TieChild"), "fallback") == "inherit");
    CHECK(world.types.types().empty());
  }

  TEST_CASE("one type is loaded, and lists the overrides that are active for it and its parents") {
    Ties world;
    const Json type = describe_type(world.runtime(), "TieChild");
    CHECK(text(*type, "name") == "TieChild");
    CHECK(world.types.find("TieChild") != nullptr);
    CHECK(TypeTable::process().find("TieChild") == nullptr);
    std::string ops;
    for (const tenon_json& entry : type->get("overrides_in_force").children())
      ops += text(entry, "op") + " ";
    CHECK(contains(ops, "ties.diamond"));
    CHECK(contains(message_of([&] { describe_type(world.runtime(), "TieChil"); }),
                   "no tensor type is named 'TieChil' (did you mean 'TieChild'?)"));
  }

  TEST_CASE("each way to handle an op is listed as such, and the counts add up") {
    World world;
    world.folder.add("plain");
    world.folder.add("slow");
    register_ways(world);
    const std::vector<std::string> ops{"plain.add_one", "slow.first"};
    const auto coverage = [&](const char* type) {
      const Json document = describe_coverage(world.types, type, ops);
      int64_t sum = 0;
      for (const tenon_json& count : document->get("counts").children()) sum += count.as_int();
      CHECK(sum == 2);
      return document;
    };
    CHECK(how(*coverage("WayOverride"), "plain.add_one") == "handled");
    CHECK(how(*coverage("WayOverride"), "slow.first") == "missing");
    CHECK(how(*coverage("WayChild"), "plain.add_one") == "inherited");
    CHECK(how(*coverage("WayHandler"), "slow.first") == "handler");
    CHECK(how(*coverage("WayFallback"), "slow.first") == "fallback");
    CHECK(how(*coverage("WayTensor"), "slow.first") == "inherited");
  }

  TEST_CASE("a config may say which ops a type covers, and these alone are counted") {
    World world;
    world.folder.add("plain");
    register_ways(world);
    TypeSettings settings;
    settings.covers = {"plain.*"};
    world.types.configure("WayOverride", settings);
    const Json document =
        describe_coverage(world.types, "WayOverride", {"plain.add_one", "slow.first"});
    CHECK(document->get("ops").size() == 1);
    CHECK(document->get("covers").size() == 1);
  }

  TEST_CASE("overrides that tie are listed with the types they tie for and what decides it") {
    Ties world;
    const Json ambiguities = describe_ambiguities(world.runtime());
    REQUIRE(ambiguities->size() > 0);
    std::string ops;
    for (const tenon_json& one : ambiguities->children()) {
      ops += text(one, "op") + " ";
      CHECK(one.get("overrides").size() == 2);
      CHECK_FALSE(text(one, "fix").empty());
    }
    CHECK(contains(ops, "ties.meet"));
    CHECK(contains(ops, "ties.diamond"));
    CHECK_FALSE(contains(ops, "ties.pair"));  // never all three types at once
  }

  TEST_CASE("a plugin whose types are refused does not hide the ties of others") {
    Ties world;
    world.folder.add("bad_types/payload_negative", "payload_negative.so");
    CHECK(describe_ambiguities(world.runtime())->size() > 0);
  }
}
