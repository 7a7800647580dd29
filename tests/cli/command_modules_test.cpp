// tenon modules.
#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("modules") {
  TEST_CASE("the shipped modules are listed with their attributes") {
    const tenon::Json modules = run_program("modules --json").json();
    std::string found;
    for (int64_t i = 0; i < modules.size(); ++i) {
      if (modules[i]["name"].text() == "Linear") found = modules[i]["signature"].text();
    }
    CHECK(found == "(in_features, out_features, bias=True)");
    CHECK(contains(run_program("modules").out, "\nLinear "));
  }
}
