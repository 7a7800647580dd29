// The log: levels, sources, and what reaches standard error.
#include "core/base/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace tenon::core;

namespace {

// What `body` writes to standard error.
std::string captured(const std::function<void()>& body) {
  char path[] = "/tmp/tenon-log-XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  unlink(path);
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  dup2(file, STDERR_FILENO);
  body();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
  CHECK(pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  close(file);
  return text;
}

class Level {
 public:
  explicit Level(LogLevel level) : before_(log_level()) { set_log_level(level); }
  ~Level() { set_log_level(before_); }

 private:
  LogLevel before_;
};

}  // namespace

TEST_SUITE("log") {
  TEST_CASE("a line has time, level, source and message") {
    const Level level(LogLevel::info);
    const std::string text =
        captured([] { log(LogLevel::warning, "blas", "no threads left: {} %s"); });
    REQUIRE(text.size() > 13);
    CHECK(text.substr(12) == " warning blas: no threads left: {} %s\n");
    CHECK(text[2] == ':');
    CHECK(captured([] { log(LogLevel::error, "", "x"); }).substr(12) == " error tenon: x\n");
  }

  TEST_CASE("lines below the level are dropped") {
    const Level level(LogLevel::warning);
    CHECK(captured([] { log(LogLevel::info, "a", "hidden"); }) == "");
    CHECK_FALSE(log_enabled(LogLevel::info));
    CHECK(log_enabled(LogLevel::error));
    set_log_level(LogLevel::off);
    CHECK(captured([] { log(LogLevel::error, "a", "hidden"); }) == "");
    set_log_level(LogLevel::trace);
    CHECK(captured([] { log(LogLevel::trace, "a", "shown"); }) != "");
  }

  TEST_CASE("levels that do not exist are dropped") {
    const Level level(LogLevel::trace);
    CHECK(captured([] { log(static_cast<LogLevel>(-1), "a", "x"); }) == "");
    CHECK(captured([] { log(static_cast<LogLevel>(17), "a", "x"); }) == "");
  }

  TEST_CASE("level names are read") {
    CHECK(parse_log_level("trace") == LogLevel::trace);
    CHECK(parse_log_level("warning") == LogLevel::warning);
    CHECK(parse_log_level("warn") == LogLevel::warning);
    CHECK(parse_log_level("off") == LogLevel::off);
    CHECK_FALSE(parse_log_level("loud").has_value());
  }
}
