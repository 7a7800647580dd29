// Libraries as the system's loader finds them.
#include <algorithm>
#include <csignal>

#include <tenon/trust/linked_files.hpp>
#include <tenon/trust/refusal.hpp>

#include "tests/lib/trust/support.hpp"

using namespace tenon::trust;
using namespace trust_test;

namespace {

// Linked files of a plugin whose run path is $ORIGIN, by its bytes as they are now.
std::vector<LinkedFile> linked(const std::string& path) {
  const std::string bytes = read_file(path);
  return linked_files({path, bytes, {"$ORIGIN"}});
}
Refusal refusal_of(const std::string& path) {
  return error_of<RefusalError>([&] { linked(path); }).refusal;
}

}  // namespace

TEST_SUITE("trust/linked_files") {
  TEST_CASE("libraries are found where the loader would find them, also by $ORIGIN") {
    const std::vector<LinkedFile> files = linked(fixture("beside"));
    const auto beside = std::ranges::find(files, "libbeside_library.so", &LinkedFile::name);
    REQUIRE(beside != files.end());
    CHECK(std::filesystem::equivalent(beside->path,
                                      std::string(TENON_FIXTURES) + "/libbeside_library.so"));
    CHECK(std::ranges::is_sorted(files, {}, &LinkedFile::name));
  }

  TEST_CASE("what a library links is found, too") {
    const std::vector<LinkedFile> files = linked(fixture("entry_throws"));
    for (const char* name : {"libstdc++.so.6", "libc.so.6", "libm.so.6"}) {
      const auto library = std::ranges::find(files, name, &LinkedFile::name);
      REQUIRE_MESSAGE(library != files.end(), name);
      CHECK(std::filesystem::exists(library->path));
    }
  }

  TEST_CASE("a library that is linked by its path is among them") {
    // The loader itself is linked so by the C library.
    const std::vector<LinkedFile> files = linked(fixture("entry_throws"));
    const auto by_path = std::ranges::find_if(
        files, [](const LinkedFile& file) { return file.name.find('/') != file.name.npos; });
    REQUIRE(by_path != files.end());
    CHECK(by_path->path == by_path->name);
  }

  TEST_CASE("they are those of the copy, whatever the file is by then") {
    const TemporaryFolder folder;
    const std::string path = folder.add("beside");
    std::filesystem::copy_file(std::string(TENON_FIXTURES) + "/libbeside_library.so",
                               folder / "libbeside_library.so");
    const std::string copy = read_file(path);
    std::filesystem::copy_file(fixture("plain"), path,
                               std::filesystem::copy_options::overwrite_existing);
    const std::vector<LinkedFile> files = linked_files({path, copy, {"$ORIGIN"}});
    const auto beside = std::ranges::find(files, "libbeside_library.so", &LinkedFile::name);
    REQUIRE(beside != files.end());
    CHECK(std::filesystem::equivalent(beside->path, folder / "libbeside_library.so"));
  }

  TEST_CASE("what the loader refuses is refused in its words, with the path of the file") {
    const TemporaryFolder folder;
    const std::string alone = folder.add("beside");
    const Refusal failure = refusal_of(alone);
    CHECK(failure.stage == TENON_STAGE_OPEN);
    CHECK(contains(failure.problem, "the system's loader says: " + alone));
    CHECK(contains(failure.problem, "libbeside_library.so"));
    CHECK_FALSE(contains(failure.problem, "\n"));
    write_file(folder / "text.so", "not a library");
    CHECK(refusal_of(folder / "text.so").stage == TENON_STAGE_OPEN);
  }

  TEST_CASE("a loader that prints nothing is reported by its end") {
    constexpr int kExit127 = 127 << 8;  // as waitpid() returns it
    CHECK(loader_problem("", 0, "/p/x.so") == "");
    CHECK(loader_problem("libc.so.6 => /lib/libc.so.6 (0x1)\n", 0, "/p/x.so") == "");
    CHECK(loader_problem(" \n", kExit127, "/p/x.so") ==
          "the system's loader printed nothing and ended with exit code 127");
    CHECK(loader_problem("", SIGKILL, "/p/x.so") ==
          "the system's loader printed nothing and ended by SIGKILL (Killed)");
    CHECK(loader_problem("/proc/self/fd/3: no\n", kExit127, "/p/x.so") ==
          "the system's loader says: /p/x.so: no");
  }

  TEST_CASE("what was printed is not believed where the end of the loader is not known") {
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    const Refusal failure = refusal_of(fixture("beside"));
    std::signal(SIGCHLD, before);
    CHECK(failure.stage == TENON_STAGE_OPEN);
    CHECK(contains(failure.problem, "is not known"));
    CHECK(contains(failure.remedy, "do not ignore SIGCHLD"));
  }

  TEST_CASE("a folder whose name the loader would split is refused") {
    const TemporaryFolder folder;
    const std::string path = folder.add("beside", "a:b/beside.so");
    CHECK(contains(refusal_of(path).remedy, "rename the folder"));
  }

  TEST_CASE("$ORIGIN is the folder of the file") {
    CHECK(expand_origin("$ORIGIN/../lib", "/p/x.so") == "/p/../lib");
    CHECK(expand_origin("/opt:${ORIGIN}", "/p/q/x.so") == "/opt:/p/q");
  }
}
