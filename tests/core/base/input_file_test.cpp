// Files that are read: regular ones, without waiting.
#include "core/base/input_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "core/base/error.hpp"
#include "core/plugin/config.hpp"
#include "core/plugin/sha256.hpp"

using namespace tenon::core;

TEST_SUITE("input_file") {
  TEST_CASE("bytes are read from where they are asked") {
    char name[] = "/tmp/tenon-input-XXXXXX";
    const int file = mkstemp(name);
    REQUIRE(write(file, "0123456789", 10) == 10);
    close(file);
    const InputFile input(name);
    CHECK(input.size() == 10);
    std::string text(4, '\0');
    input.read_at(text.data(), 4, 3);
    CHECK(text == "3456");
    CHECK_THROWS_WITH_AS(
        input.read_at(text.data(), 4, 8),
        ("cannot read '" + std::string(name) + "': it became shorter while it was read").c_str(),
        Error);
    unlink(name);
  }

  TEST_CASE("a pipe is refused at once by every reader") {
    char folder[] = "/tmp/tenon-input-XXXXXX";
    REQUIRE(mkdtemp(folder) != nullptr);
    const std::string pipe = std::string(folder) + "/pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    const auto refused = [&](auto&& read) {
      try {
        read();
      } catch (const Error& error) {
        CHECK(error.kind == TENON_ERROR_IO);
        CHECK(error.message.find("'" + pipe + "': it is not a regular file") != std::string::npos);
        return true;
      }
      return false;
    };
    alarm(10);  // instead of hanging
    CHECK(refused([&] { const InputFile input(pipe); }));
    CHECK(refused([&] { read_config(pipe); }));
    CHECK(refused([&] { sha256_file(pipe); }));
    alarm(0);
    std::filesystem::remove_all(folder);
  }
}
