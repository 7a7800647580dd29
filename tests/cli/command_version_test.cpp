// tenon version and --version.
#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("version") {
  TEST_CASE("the version of the project is printed") {
    CHECK(run_program("--version").out == "tenon " TENON_PROJECT_VERSION "\n");
    CHECK(run_program("version").out.rfind("tenon " TENON_PROJECT_VERSION "\n", 0) == 0);
  }

  TEST_CASE("JSON has the settings of the runtime") {
    const tenon::Json runtime = run_program("version --json").json();
    CHECK(runtime["version"].text() == TENON_PROJECT_VERSION);
    CHECK(runtime["abi"].size() == 2);
    CHECK(runtime["threads"].integer() >= 1);
    CHECK(runtime["folders"].size() >= 1);
  }
}
