// The table of module types.
#include "core/nn/module_type.hpp"

#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("nn/module_type") {
  TEST_CASE("a table takes all of a plugin's types or none, and no name twice") {
    ModuleTable table;
    const tenon_module_descriptor good = block(), bad = [] {
      tenon_module_descriptor made = block("Half()");
      made.forward = nullptr;
      return made;
    }();
    const tenon_module_descriptor* both[] = {&good, &bad};
    CHECK(has(refusal([&] { table.prepare("p", both); }, TENON_ERROR_VALUE),
              "module 'Half' of plugin 'p' has no create or no forward; set both"));
    CHECK(table.find("Block") == nullptr);
    const tenon_module_descriptor* one[] = {&good};
    table.commit(table.prepare("p", one));
    REQUIRE(table.find("Block") != nullptr);
    CHECK(table.find("Block")->provider == "p");
    CHECK(has(refusal([&] { table.prepare("q", one); }, TENON_ERROR_PLUGIN),
              "has two providers: 'p' and 'q'"));
  }

  TEST_CASE("a type that is not there is asked of the finder") {
    ModuleTable table;
    refusal([&] { table.require("Block"); }, TENON_ERROR_VALUE);
    table.set_finder([&](std::string_view) {
      static const tenon_module_descriptor made = block();
      const tenon_module_descriptor* one[] = {&made};
      table.commit(table.prepare("late", one));
    });
    CHECK(table.require("Block").provider == "late");
  }

  TEST_CASE("a forward has a schema, named forward, of the type or of each instance") {
    ModuleTable table;
    tenon_module_descriptor made = block("Half()");
    const auto prepare = [&] {
      const tenon_module_descriptor* one[] = {&made};
      return refusal([&] { table.prepare("p", one); }, TENON_ERROR_VALUE);
    };
    made.forward_schema = nullptr;
    CHECK(prepare() ==
          "module 'Half' of plugin 'p' has a forward without a schema; set forward_schema, such as "
          "\"forward(Tensor input) -> Tensor\"");
    made.forward_schema = "run(Tensor input) -> Tensor";
    CHECK(has(prepare(), "its forward schema is named 'run'"));
    made.forward_schema = "forward(Tensr input) -> Tensor";
    CHECK(has(prepare(), "unknown type 'Tensr'"));
    made.forward_schema = nullptr;
    made.flags = TENON_MODULE_OWN_FORWARD;
    const tenon_module_descriptor* one[] = {&made};
    CHECK(table.prepare("p", one).size() == 1);
  }
}
