// Messages about a name that no plugin declares.
#include "core/runtime/runtime.hpp"
#include "tests/core/runtime/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

std::string unknown(const World& world, ItemKind kind, std::string_view name) {
  return message_of([&] { throw_unknown(*world.manager, kind, name); });
}

}  // namespace

TEST_SUITE("runtime/unknown_name") {
  TEST_CASE("a similar name is suggested, and the folders are named") {
    World world;
    world.folder.add("plain");
    const std::string text = unknown(world, ItemKind::Op, "plain.add_on");
    CHECK(contains(text, "no op is named 'plain.add_on'"));
    CHECK(contains(text, "did you mean 'plain.add_one'?"));
    CHECK(contains(text, ". Plugins were looked for in: " + world.folder.path()));
  }

  TEST_CASE("the last part alone leads to the full name") {
    World world;
    world.folder.add("plain");
    CHECK(contains(unknown(world, ItemKind::Op, "add_one"), "its full name is 'plain.add_one'"));
  }

  TEST_CASE("a name of another kind says how that is used") {
    World world;
    world.folder.add("plain");
    CHECK(contains(unknown(world, ItemKind::Module, "plain.add_one"),
                   "no module type is named 'plain.add_one'; 'plain.add_one' is an op: call it by "
                   "tenon::Op(\"plain.add_one\")"));
    CHECK(contains(unknown(world, ItemKind::Type, "add_one"), "'plain.add_one' is an op"));
  }

  TEST_CASE("plugins that were refused are named, many are counted") {
    World world;
    world.folder.add("bad_json");
    CHECK(contains(unknown(world, ItemKind::Op, "x"),
                   "refused, see `tenon plugins`: " + (world.folder / "bad_json.so")));
    World many;
    for (const char* name : {"bad_json", "bad_checksum", "abi_major"}) many.folder.add(name);
    CHECK(contains(unknown(many, ItemKind::Op, "x"), "refused, see `tenon plugins`: 3 plugins"));
  }
}
