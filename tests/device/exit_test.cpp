// Processes that end while work for a device is queued.
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
  return code > 128 ? "signal " + std::to_string(code - 128) : "exit code " + std::to_string(code);
}

}  // namespace

TEST_SUITE("device/exit") {
  TEST_CASE("a process ends with its own code while kernels are queued, however it ends") {
    for (const char* name :
         {"local", "global", "recorded", "of_another_thread", "exit_in_thread", "static_objects",
          "plans_of_a_library", "results_that_were_not_computed", "used_by_destructors"}) {
      CAPTURE(std::string(name));
      for (int round = 0; round < 4; ++round)
        REQUIRE(end_of(std::string(TENON_DEVICE_EXITS " ") + name) == "exit code 7");
    }
  }
}
