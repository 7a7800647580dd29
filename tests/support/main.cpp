// The main function of every doctest suite.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cstdlib>

#include <doctest/doctest.h>

namespace {

// Tests end processes in the middle of a load, which is to leave no trace with the user. Those of
// quarantine say where to.
const int without_quarantine = setenv("TENON_QUARANTINE", "0", 1);

}  // namespace
