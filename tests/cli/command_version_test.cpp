// tenon version and --version.
#include <string>

#include <doctest/doctest.h>

#include <tenon/trust/sha256.hpp>

#include "program.hpp"

TEST_SUITE("version") {
  TEST_CASE("the version of the project is printed") {
    CHECK(run_program("--version").out == "tenon " TENON_PROJECT_VERSION "\n");
    CHECK(run_program("version").out.rfind("tenon " TENON_PROJECT_VERSION "\n", 0) == 0);
  }

  TEST_CASE("JSON of --version has what is inside: boundary, compiler and plugins with hashes") {
    const tenon::Json inside = run_program("--version --json").json();
    CHECK(inside["version"].text() == TENON_PROJECT_VERSION);
    CHECK(inside["boundary"].size() == 2);
    CHECK(inside["compiler"].text().find(' ') != std::string::npos);
    CHECK(inside["commit"].defined());
    bool found = false;
    for (int64_t i = 0; i < inside["plugins"].size(); ++i) {
      const tenon::Json plugin = inside["plugins"][i];
      if (plugin["id"].text() != "math") continue;
      found = true;
      CHECK(plugin["version"].text() == TENON_PROJECT_VERSION);
      CHECK(plugin["sha256"].text() == tenon::trust::sha256_file(plugin["path"].text()));
    }
    CHECK(found);
  }

  TEST_CASE("JSON has the settings of the runtime") {
    const tenon::Json runtime = run_program("version --json").json();
    CHECK(runtime["version"].text() == TENON_PROJECT_VERSION);
    CHECK(runtime["abi"].size() == 2);
    CHECK(runtime["threads"].integer() >= 1);
    CHECK(runtime["folders"].size() >= 1);
  }
}
