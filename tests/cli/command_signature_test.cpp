// tenon signature.
#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("signature") {
  TEST_CASE("add is called in the way that it always was") {
    CHECK(run_program("signature add").out == "(input, other, *, alpha=1, out=None)\n");
  }

  TEST_CASE("the last part of a name is enough where it is unique") {
    CHECK(run_program("signature rms_norm").out ==
          "(input, normalized_shape, weight=None, eps=None)\n");
    CHECK(run_program("signature rms_norm --json").json()["name"].text() ==
          "nn.functional.rms_norm");
    const Outcome outcome = run_program("signature cross_entropy");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "ambiguous"));
  }
}
