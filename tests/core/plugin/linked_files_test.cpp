// Libraries as the system's loader finds them.
#include "core/plugin/linked_files.hpp"

#include <algorithm>

#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("linked files") {
  TEST_CASE("libraries are found where the loader would find them, also by $ORIGIN") {
    const std::vector<LinkedFile> files = linked_files(fixture("beside"));
    const auto beside = std::ranges::find(files, "libbeside_library.so", &LinkedFile::name);
    REQUIRE(beside != files.end());
    CHECK(std::filesystem::equivalent(beside->path,
                                      std::string(TENON_FIXTURES) + "/libbeside_library.so"));
    CHECK(std::ranges::is_sorted(files, {}, &LinkedFile::name));
  }

  TEST_CASE("what a library links is found, too") {
    const std::vector<LinkedFile> files = linked_files(fixture("entry_throws"));
    for (const char* name : {"libstdc++.so.6", "libc.so.6", "libm.so.6"}) {
      const auto library = std::ranges::find(files, name, &LinkedFile::name);
      REQUIRE_MESSAGE(library != files.end(), name);
      CHECK(std::filesystem::exists(library->path));
    }
  }

  TEST_CASE("a library that is linked by its path is among them") {
    // The loader itself is linked so by the C library.
    const std::vector<LinkedFile> files = linked_files(fixture("entry_throws"));
    const auto by_path = std::ranges::find_if(
        files, [](const LinkedFile& file) { return file.name.find('/') != file.name.npos; });
    REQUIRE(by_path != files.end());
    CHECK(by_path->path == by_path->name);
  }

  TEST_CASE("what the loader refuses is refused in its words") {
    const TemporaryFolder folder;
    write_file(folder / "text.so", "not a library");
    const PluginFailure failure = failure_of([&] { linked_files(folder / "text.so"); });
    CHECK(failure.stage == PluginStage::Open);
    CHECK(contains(failure.problem, "the system's loader says: "));
    CHECK_FALSE(contains(failure.problem, "\n"));
    const std::string alone = folder.add("beside");
    CHECK(contains(failure_of([&] { linked_files(alone); }).problem, "libbeside_library.so"));
  }
}
