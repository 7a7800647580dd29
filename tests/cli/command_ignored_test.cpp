// tenon ignored.
#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("ignored") {
  TEST_CASE("each ignored op has a reason") {
    const tenon::Json ops = run_program("ignored --json").json();
    CHECK(ops.size() > 0);
    bool found = false;
    for (int64_t i = 0; i < ops.size(); ++i) {
      found = found || ops[i]["name"].text() == "randperm";
      CHECK_FALSE(ops[i]["reason"].text().empty());
    }
    CHECK(found);
    CHECK(contains(run_program("ignored").out, "\nrandperm "));
  }
}
