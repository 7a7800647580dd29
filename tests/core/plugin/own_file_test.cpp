// The file that this code is in: of this program, which links it.
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "core/plugin/facts/paths.hpp"

using namespace tenon::core;

TEST_SUITE("plugin/own_file") {
  TEST_CASE(
      "the file that holds this code is named without links, whatever its program is called") {
    const std::filesystem::path running = std::filesystem::read_symlink("/proc/self/exe");
    CHECK(own_file() == running.string());
    CHECK(std::filesystem::path(own_file()).is_absolute());
    CHECK(std::filesystem::canonical(own_file()) == own_file());
  }

  TEST_CASE("it stays the same, also for other threads and from another folder") {
    const std::string* const first = &own_file();
    const std::string text = *first;
    const std::filesystem::path folder = std::filesystem::current_path();
    std::filesystem::current_path("/");
    std::thread([&] { CHECK(&own_file() == first); }).join();
    std::filesystem::current_path(folder);
    CHECK(own_file() == text);
  }
}
