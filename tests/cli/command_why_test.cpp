// tenon why.
#include <doctest/doctest.h>

#include "program.hpp"

namespace {

Outcome why(const std::string& call) {
  return run_program("--plugin-path " TENON_FIXTURES "/types why " + call);
}

}  // namespace

TEST_SUITE("why") {
  TEST_CASE("F-300 an override that answers is named with its plugin, golden text") {
    const Outcome outcome = why("add ScalarTensor Tensor");
    CHECK(outcome.code == 0);
    CHECK(outcome.out ==
          "add(input, other, *, alpha=1, out=None)\n"
          "  arguments  input: ScalarTensor, other: Tensor\n"
          "  modes      none\n"
          "  asked      ScalarTensor\n"
          "  steps      1. ScalarTensor: override add[ScalarTensor], plugin types\n"
          "  runs       override add[ScalarTensor], plugin types\n"
          "  gradient   through the ops that it calls\n");
    CHECK(why("add ScalarTensor Tensor --json").json()["answer"]["provider"].text() == "types");
  }

  TEST_CASE("F-302 a call that nobody answers is told in its own words, and ends with 1") {
    const Outcome outcome = why("mul ScalarTensor ScalarTensor");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.out,
                   "no implementation found for 'tenon.mul' on types that implement "
                   "tenon_function: [ScalarTensor]"));
    CHECK(contains(outcome.out, "no override for mul and no handler"));
    CHECK(why("mul ScalarTensor ScalarTensor --json").code == 1);
  }

  TEST_CASE("plain operands run the kernel") {
    CHECK(contains(why("mul Tensor Scalar").out, "runs       kernel, plugin math\n"));
  }

  TEST_CASE("unknown ops and types are errors with a suggestion") {
    CHECK(contains(why("addd Tensor Tensor").error, "'add'"));
    CHECK(contains(why("add Tensr Tensor").error, "Tensr"));
    CHECK(why("add").code == 2);
  }
}
