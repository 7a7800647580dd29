// The main function of every doctest suite.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>

#include <doctest/doctest.h>

#include "tests/support/skipped.hpp"

namespace {

// Tests end processes in the middle of a load, which is to leave no trace with the user. Those of
// quarantine say where to.
const int without_quarantine = setenv("TENON_QUARANTINE", "0", 1);

}  // namespace

int main(int count, char** arguments) {
  const int result = doctest::Context(count, arguments).run();
  return result == 0 && skipped::cases > 0 ? skipped::kExitCode : result;
}
