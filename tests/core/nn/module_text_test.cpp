// How modules are printed.
#include "core/nn/module_text.hpp"

#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("nn/module_text") {
  TEST_CASE("a module is printed as its type and attributes, without its children") {
    const Types types;
    const ModuleRef root = types.make(), child = types.make();
    register_child(*root, "child", child.get());
    CHECK(module_text(*root) == "Block(width=2)");
  }
}
