// tenon signature.
#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("signature") {
  TEST_CASE("add is called in the way that it always was") {
    CHECK(run_program("signature add").out == "(input, other, *, alpha=1, out=None)\n");
  }

  TEST_CASE("the last part of a name is enough where it is unique") {
    CHECK(run_program("signature pixel_shuffle").out == "(input, upscale_factor)\n");
    CHECK(run_program("signature pixel_shuffle --json").json()["name"].text() ==
          "nn.functional.pixel_shuffle");
    const Outcome outcome = run_program("signature cross_entropy");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "ambiguous"));
  }
}
