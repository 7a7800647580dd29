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
    const Outcome outcome = run_program("signature linear");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "may be 'nn.functional.linear' or 'schedule.linear'"));
  }

  TEST_CASE(
      "internal ops, and those in the namespace of their plugin, leave the last part unique") {
    for (const char* name : {"cross_entropy", "layer_norm", "normalize", "rms_norm"}) {
      CAPTURE(name);
      const Outcome outcome = run_program(std::string("signature ") + name);
      CHECK(outcome.code == 0);
      CHECK(outcome.out == run_program(std::string("signature nn.functional.") + name).out);
    }
  }
}
