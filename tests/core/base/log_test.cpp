// The log: levels, sources, and what reaches standard error.
#include "core/base/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sys/wait.h>

using namespace tenon::core;

namespace {

// Standard error of `body` in a process with this TENON_LOG. The level is read at the first use of
// the log, so this process must not have used it.
std::string captured(const char* level, const std::function<void()>& body) {
  char path[] = "/tmp/tenon-log-XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  unlink(path);
  std::fflush(stderr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    setenv("TENON_LOG", level, 1);
    dup2(file, STDERR_FILENO);
    body();
    std::fflush(stderr);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
  CHECK(pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  close(file);
  return text;
}

}  // namespace

TEST_SUITE("log") {
  TEST_CASE("a line has time, level, source and message") {
    const std::string text =
        captured("info", [] { log(LogLevel::warning, "blas", "no threads left: {} %s"); });
    REQUIRE(text.size() > 13);
    CHECK(text.substr(12) == " warning blas: no threads left: {} %s\n");
    CHECK(text[2] == ':');
    CHECK(captured("info", [] { log(LogLevel::error, "", "x"); }).substr(12) ==
          " error tenon: x\n");
  }

  TEST_CASE("lines below the level are dropped, and it can be asked for") {
    const auto report = [] {
      log(LogLevel::info, "a", "x");
      std::fputs(log_enabled(LogLevel::info) ? "+" : "-", stderr);
      std::fputs(log_enabled(LogLevel::error) ? "+" : "-", stderr);
    };
    CHECK(captured("warning", report) == "-+");
    CHECK(captured("off", report) == "--");
    CHECK(captured("trace", report).ends_with(" info a: x\n++"));
  }

  TEST_CASE("levels that do not exist are dropped") {
    CHECK(captured("trace", [] { log(static_cast<LogLevel>(-1), "a", "x"); }) == "");
    CHECK(captured("trace", [] { log(static_cast<LogLevel>(17), "a", "x"); }) == "");
  }

  TEST_CASE("level names are read") {
    CHECK(parse_log_level("trace") == LogLevel::trace);
    CHECK(parse_log_level("warning") == LogLevel::warning);
    CHECK(parse_log_level("warn") == LogLevel::warning);
    CHECK(parse_log_level("off") == LogLevel::off);
    CHECK_FALSE(parse_log_level("loud").has_value());
  }
}
