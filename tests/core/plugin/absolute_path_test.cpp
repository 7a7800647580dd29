// Absolute paths: of names below the current folder, with dots, of folders.
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "core/plugin/facts/paths.hpp"

using namespace tenon::core;

TEST_SUITE("plugin/absolute_path") {
  TEST_CASE("a relative path is one below the current folder") {
    const std::string folder = std::filesystem::current_path().string();
    CHECK(absolute_path("a.so") == folder + "/a.so");
    CHECK(absolute_path("./a.so") == folder + "/a.so");
    CHECK(absolute_path(".") == folder);
  }

  TEST_CASE("dots and the slash after a folder are not part of it, and no file is asked for") {
    CHECK(absolute_path("/no/such/../folder/./a.so") == "/no/folder/a.so");
    CHECK(absolute_path("/no/such/folder/") == "/no/such/folder");
    CHECK(absolute_path("//no//such") == "/no/such");
    CHECK(absolute_path("/") == "/");
  }
}
