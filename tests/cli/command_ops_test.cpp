// tenon ops.
#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("ops") {
  TEST_CASE("each op has a signature, a provider and what it does for gradients") {
    const Outcome outcome = run_program("ops --json");
    CHECK(outcome.code == 0);
    const tenon::Json ops = outcome.json();
    std::string before;
    int64_t found = 0;
    for (int64_t i = 0; i < ops.size(); ++i) {
      const std::string name = ops[i]["name"].text();
      // One row for each plugin that provides it.
      const std::string row = name + " " + ops[i]["provider"].text();
      CHECK(before < row);
      before = row;
      CHECK(ops[i]["signature"].text().rfind("(", 0) == 0);
      CHECK_FALSE(ops[i]["provider"].text().empty());
      CHECK_FALSE(ops[i]["differentiable"].text().empty());
      if (name == "nn.functional.embedding") {
        ++found;
        CHECK(ops[i]["namespace"].text() == "nn.functional");
        CHECK(ops[i]["signature"].text() == "(input, weight, *, padding_idx=None)");
        CHECK(ops[i]["provider"].text() == "nn");
        CHECK(ops[i]["differentiable"].text() == "formula");
      }
    }
    CHECK(found == 1);
    CHECK(run_program("ops").out.rfind("OP ", 0) == 0);
  }

  TEST_CASE("a namespace chooses") {
    const tenon::Json ops = run_program("ops optim --json").json();
    CHECK(ops.size() > 0);
    for (int64_t i = 0; i < ops.size(); ++i) CHECK(ops[i]["namespace"].text() == "optim");
    const Outcome wrong = run_program("ops nn.functionl");
    CHECK(wrong.code == 1);
    CHECK(contains(wrong.error, "no op matches 'nn.functionl' (did you mean 'nn.functional'?)"));
  }

  TEST_CASE("nothing is coloured outside of a terminal") {
    CHECK_FALSE(contains(run_program("ops", "TERM=xterm-256color").out, "\033["));
  }
}
