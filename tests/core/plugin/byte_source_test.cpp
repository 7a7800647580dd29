// Bytes of plugin files and of memory: no range leads outside of them, and nothing waits.
#include "core/plugin/facts/byte_source.hpp"

#include <random>
#include <unistd.h>

#include <sys/stat.h>

#include "tests/core/plugin/support.hpp"
#include "tests/support/memory_source.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("byte source") {
  TEST_CASE("of any range exactly its bytes are read, or nothing where it leads outside") {
    std::mt19937_64 random(2);
    std::string bytes(97, 0);
    for (char& byte : bytes) byte = static_cast<char>(random());
    const TemporaryFolder folder;
    write_file(folder / "bytes", bytes);
    const MemorySource memory(bytes);
    const FileSource file(folder / "bytes");
    for (const ByteSource* source :
         {static_cast<const ByteSource*>(&memory), static_cast<const ByteSource*>(&file)}) {
      CHECK(source->size() == bytes.size());
      for (int round = 0; round < 2000; ++round) {
        const uint64_t offset = round % 10 == 0 ? random() : random() % 110;
        const size_t count = random() % 110;
        std::string read(count, '?');
        const bool inside = offset <= bytes.size() && count <= bytes.size() - offset;
        CHECK(source->read(offset, read.data(), count) == inside);
        if (inside) CHECK(read == bytes.substr(offset, count));
      }
      char byte = 0;
      CHECK_FALSE(source->read(UINT64_MAX, &byte, 1));
    }
  }

  TEST_CASE("stamps of two files, or of two versions of one, differ") {
    const TemporaryFolder folder;
    write_file(folder / "a", "one");
    write_file(folder / "b", "one");
    const FileStamp before = FileSource(folder / "a").stamp();
    CHECK(FileSource(folder / "a").stamp() == before);
    CHECK_FALSE(before.same_file(FileSource(folder / "b").stamp()));
    std::filesystem::create_hard_link(folder / "a", folder / "c");
    CHECK(before.same_file(FileSource(folder / "c").stamp()));
    write_file(folder / "a", "other");
    CHECK_FALSE(FileSource(folder / "a").stamp() == before);
    CHECK(FileSource(folder / "a").stamp().same_file(before));
  }

  TEST_CASE("what is not a regular readable file is refused at once") {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string& path) {
      PluginFailure failure = failure_of([&] { FileSource{path}; });
      CHECK(failure.path == path);
      return failure;
    };
    const PluginFailure missing = refused(folder / "none.so");
    CHECK(missing.stage == PluginStage::Find);
    CHECK(contains(missing.problem, "cannot find the file"));
    CHECK(contains(refused(folder.path()).problem, "a folder"));
    REQUIRE(::mkfifo((folder / "pipe.so").c_str(), 0600) == 0);
    CHECK(contains(refused(folder / "pipe.so").problem, "a named pipe"));
    CHECK(contains(refused("/dev/zero").problem, "a device"));
    CHECK(refused(fixture("plain") + "/x").stage == PluginStage::Find);
    write_file(folder / "secret.so", "x");
    ::chmod((folder / "secret.so").c_str(), 0);
    // Root may read everything.
    if (::geteuid() != 0) CHECK(contains(refused(folder / "secret.so").problem, "cannot open it"));
    // A link to a file is as good as the file.
    std::filesystem::create_symlink(fixture("plain"), folder / "link.so");
    CHECK(FileSource(folder / "link.so").stamp() == FileSource(fixture("plain")).stamp());
    std::filesystem::create_symlink(folder / "loop.so", folder / "loop.so");
    CHECK(refused(folder / "loop.so").stage == PluginStage::Read);
  }

  TEST_CASE("sources have the same bytes, or differ in one or in their number") {
    const std::string bytes((size_t{1} << 16) + 5, 'a');
    std::string other = bytes;
    CHECK(has_same_bytes(MemorySource(bytes), MemorySource(other)));
    other.back() = 'b';
    CHECK_FALSE(has_same_bytes(MemorySource(bytes), MemorySource(other)));
    other.pop_back();
    CHECK_FALSE(has_same_bytes(MemorySource(bytes), MemorySource(other)));
    CHECK(has_same_bytes(MemorySource(""), MemorySource("")));
  }
}
