// Types that leave most ops without an answer.
#include "core/runtime/documents.hpp"
#include "core/runtime/runtime.hpp"
#include "tests/core/runtime/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status answer(void*, const tenon_call*, tenon_value*, tenon_error**) { return TENON_OK; }

// A type with an override of the op of plugin `plain`, and what is said of it.
std::string warned(World& world, const std::function<void(tenon_type_descriptor&)>& change = {}) {
  tenon_type_descriptor type{};
  type.size = sizeof type;
  type.name = "Part";
  if (change) change(type);
  tenon_override_descriptor entry{};
  entry.size = sizeof entry;
  entry.schema = "plain.add_one(Tensor input) -> Tensor";
  entry.types = "Part";
  entry.run = answer;
  ResolvedLoad items{"part", nullptr, nullptr, {}, {}, {&type}, {&entry}};
  items.declared_ops["plain.add_one"] = {entry.schema, "plain"};
  world.registrar.commit(items);
  std::string text;
  for (const std::string& line : partial_type_warnings(items, world.runtime())) text += line;
  return text;
}

}  // namespace

TEST_SUITE("runtime/partial_types") {
  TEST_CASE("ops are counted that other plugins declare, and those with an override of a file") {
    World world;
    world.folder.add("plain");
    const size_t all = overridable_ops(*world.manager).size();
    REQUIRE(all > 0);
    // Overrides count by the facts of files; this one's plugin has none.
    CHECK(contains(warned(world), "type Part handles 0 of " + std::to_string(all) +
                                      " overridable ops; calls of the others fail"));
  }

  TEST_CASE("a type that answers for all, or is marked, is passed over") {
    const auto handler = [](void*, const tenon_call*, tenon_value*, tenon_error**) {
      return tenon_status{TENON_OK};
    };
    const std::function<void(tenon_type_descriptor&)> changes[] = {
        [&](tenon_type_descriptor& type) { type.handler = handler; },
        [](tenon_type_descriptor& type) { type.flags = TENON_TYPE_PARTIAL; },
        [](tenon_type_descriptor& type) { type.parent = "Tensor"; }};
    for (const auto& change : changes) {
      World world;
      world.folder.add("plain");
      CHECK(warned(world, change) == "");
    }
  }

  TEST_CASE("ops that the config says the type covers are counted alone") {
    World world;
    world.folder.add("plain");
    TypeSettings settings;
    settings.covers = {"other.*"};
    world.types.configure("Part", settings);
    CHECK(warned(world) == "");
  }
}
