// Private copies of files: their bytes are those that were judged, whatever happens to the file.
#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include <sys/mman.h>

#include "core/plugin/facts/byte_source.hpp"
#include "core/plugin/facts/elf_notes.hpp"
#include "tests/core/plugin/support.hpp"
#include "tests/support/memory_source.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// The mapped bytes, as the system's loader maps them.
std::string mapped(const SealedFile& file) {
  const int descriptor = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  void* bytes = ::mmap(nullptr, file.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  REQUIRE(bytes != MAP_FAILED);
  std::string text(static_cast<const char*>(bytes), file.size());
  ::munmap(bytes, file.size());
  return text;
}

// The bytes that a load guard is shown.
std::string shown(const SealedFile& file) {
  return {static_cast<const char*>(file.map().get()), file.size()};
}

}  // namespace

TEST_SUITE("sealed file") {
  TEST_CASE("a copy has the file's bytes and stamp") {
    const TemporaryFolder folder;
    for (const size_t size : {size_t{1}, size_t{4097}, (size_t{1} << 18) + 3}) {
      std::string bytes(size, 'x');
      for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31);
      write_file(folder / "file", bytes);
      const SealedFile copy(folder / "file");
      CHECK(shown(copy) == bytes);
      CHECK(copy.stamp() == FileSource(folder / "file").stamp());
      CHECK(mapped(copy) == bytes);
    }
    write_file(folder / "empty", "");
    CHECK(SealedFile(folder / "empty").map() == nullptr);
    CHECK_THROWS_AS(SealedFile(folder / "none"), PluginError);
  }

  TEST_CASE("a copy can be neither written to nor resized") {
    const TemporaryFolder folder;
    write_file(folder / "file", "judged");
    const SealedFile copy(folder / "file");
    const int descriptor = ::open(copy.path().c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor >= 0) {
      CHECK(::write(descriptor, "other", 5) < 0);
      CHECK(::ftruncate(descriptor, 2) != 0);
      CHECK(::mmap(nullptr, 6, PROT_WRITE, MAP_SHARED, descriptor, 0) == MAP_FAILED);
      ::close(descriptor);
    }
    write_file(folder / "file", "other");
    CHECK(mapped(copy) == "judged");
  }

  TEST_CASE("swaps between judging and mapping never map a byte that was not judged") {
    const TemporaryFolder folder;
    const std::string good(512, 'g'), foreign(512, 'f');
    const std::string path = folder / "plugin.so";
    write_file(path, good);
    std::atomic<bool> done{false};
    // Puts another file in its place, and writes into the file itself.
    std::thread attacker([&] {
      for (unsigned int round = 0; !done.load(); ++round) {
        const std::string& bytes = round % 2 == 0 ? foreign : good;
        if (round % 4 < 2) {
          write_file(folder / "next", bytes);
          std::filesystem::rename(folder / "next", path);
        } else {
          const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
          CHECK(::pwrite(file, bytes.data(), bytes.size(), 0) == 512);
          ::close(file);
        }
      }
    });
// Sanitizers make each take some ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr int kAttempts = 10'000;
#else
    constexpr int kAttempts = 100'000;
#endif
    int approved = 0, wrong = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const SealedFile copy(path);
      if (shown(copy) != good) continue;
      ++approved;
      if (attempt % 16 == 0) std::this_thread::yield();
      if (mapped(copy) != good) ++wrong;
    }
    done = true;
    attacker.join();
    CHECK(wrong == 0);
    CHECK(approved > 0);
    CHECK(approved < kAttempts);
  }

  TEST_CASE("the libraries that a file links are read, with the folders to look in") {
    const LinkedLibraries linked =
        read_linked_libraries(FileSource(fixture("beside")), fixture("beside"));
    CHECK(std::ranges::count(linked.needed, "libbeside_library.so") == 1);
    CHECK(std::ranges::count(linked.run_path, "$ORIGIN") == 1);
    CHECK(read_linked_libraries(MemorySource(make_elf({})), "/x/y.so").needed.empty());
  }
}
