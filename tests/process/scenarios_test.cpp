// Each scenario ends with its own exit code, in time, however often it is run.
#include <csignal>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>

namespace {

// "exit code 7", "signal 11", "it hangs".
std::string end_of(const std::string& command) {
  const int status = std::system(("timeout -s KILL 100 " + command).c_str());
  if (!WIFEXITED(status)) return "signal " + std::to_string(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  if (code == 128 + SIGKILL) return "it hangs";
  if (code > 128) return "signal " + std::to_string(code - 128);
  return "exit code " + std::to_string(code);
}

}  // namespace

TEST_SUITE("process") {
  TEST_CASE("a process that ends while calls run ends with its own code") {
    for (const char* name : {"return_from_main", "exit_in_thread", "exit_in_hook", "exit_in_loop",
                             "exit_while_reloading", "static_objects", "uncaught_in_thread"}) {
      CAPTURE(std::string(name));
      for (int round = 0; round < 3; ++round)
        REQUIRE(end_of(std::string(TENON_SCENARIOS " ") + name) == "exit code 7");
    }
  }

  TEST_CASE("the child of a fork calls, records, loads and reloads, whatever threads were doing") {
    for (const char* name : {"fork_and_load", "fork_in_a_call", "fork_among_threads"}) {
#if defined(__SANITIZE_THREAD__)  // it allows no new threads in the child of a fork among threads
      if (name == std::string("fork_among_threads")) continue;
#endif
      CAPTURE(std::string(name));
      CHECK(end_of(std::string(TENON_SCENARIOS " ") + name) == "exit code 7");
    }
  }

  TEST_CASE("a convolution is not joined with what another plugin provides, or a config disables") {
    for (const char* name : {"joined_as_shipped", "joined_own_module", "joined_own_op",
                             "joined_own_shapes", "joined_disabled_op"}) {
      CAPTURE(std::string(name));
      CHECK(end_of(std::string(TENON_SCENARIOS " ") + name) == "exit code 7");
    }
  }

  TEST_CASE("two copies of libtenon in one process do not know of each other") {
    CHECK(end_of(TENON_TWO_RUNTIMES " " TENON_LIBRARY " " TENON_FIXTURES) == "exit code 0");
  }
}
