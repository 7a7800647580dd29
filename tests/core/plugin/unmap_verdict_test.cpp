// The verdict from the file against what the loader does in a child process.
#include "core/plugin/unload/unmap_verdict.hpp"

#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <locale>
#include <new>
#include <thread>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/core/plugin/elf_image.hpp"
#include "tests/support/memory_source.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const std::string& kept_folder() {
  static const std::string folder = std::string(TENON_FIXTURES) + "/kept";
  return folder;
}

enum class Outcome { StaysMapped, Unmapped, CrashesLater };

// Opened and closed in a thread, so that what happens at its end is seen; then all that may call back.
[[noreturn]] void open_and_close(const std::string& path) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (const int crash : {SIGSEGV, SIGBUS, SIGILL, SIGABRT}) std::signal(crash, SIG_DFL);
  const auto is_mapped = [&] { return contains(read_file("/proc/self/maps"), path); };
  std::thread([&] {
    void* library = dlopen(path.c_str(), RTLD_NOW);
    if (library == nullptr) _exit(9);
    dlclose(library);
    if (is_mapped()) _exit(1);
  }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(40));  // threads and timers
  std::signal(SIGUSR2, SIG_IGN);
  if (std::signal(SIGUSR1, SIG_DFL) != SIG_DFL) _exit(2);  // a handler that is gone
  if (std::use_facet<std::numpunct<char>>(std::locale()).decimal_point() == 0) _exit(2);
  if (std::get_new_handler() != nullptr) std::get_new_handler()();
  Dl_info place{};
  if (dladdr(reinterpret_cast<void*>(std::get_terminate()), &place) == 0) std::get_terminate()();
  std::exit(0);  // runs functions that were registered for the end
}

Outcome outcome_of(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) open_and_close(path);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return Outcome::CrashesLater;
  REQUIRE(WEXITSTATUS(status) != 9);
  if (WEXITSTATUS(status) == 1) return Outcome::StaysMapped;
  return WEXITSTATUS(status) == 0 ? Outcome::Unmapped : Outcome::CrashesLater;
}

UnmapVerdict verdict_of(const std::string& path) { return judge_unmapping(FileSource(path), path); }

}  // namespace

TEST_SUITE("unmap verdict") {
  TEST_CASE("libraries that stay mapped, or must, are known from their files") {
    int kept = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kept_folder())) {
      const std::string path = entry.path();
      CAPTURE(path);
#if defined(__SANITIZE_THREAD__)
      if (contains(path, "at_exit")) continue;  // its own atexit keeps the library
#endif
      const UnmapVerdict verdict = verdict_of(path);
      const bool unmaps = outcome_of(path) == Outcome::Unmapped;
      CHECK(verdict.can_unmap() == unmaps);
      kept += unmaps ? 0 : 1;
    }
    CHECK(kept >= 16);
  }

  TEST_CASE("a verdict says what keeps the file") {
    const auto reason = [](const std::string& way) {
      const UnmapVerdict verdict = verdict_of(kept_folder() + "/" + way + ".so");
      return verdict.can_unmap() ? std::string() : verdict.reasons.front();
    };
    CHECK(reason("nodelete") == "it is linked with -z nodelete");
    CHECK(contains(reason("posix_thread"), "it starts threads (it imports pthread_create"));
    CHECK(contains(reason("thread_local_object"), "thread_local objects with destructors"));
    CHECK(contains(reason("signal"), "signal handlers"));
    CHECK(reason("destructor").empty());
    CHECK(reason("at_exit").empty());
  }

  TEST_CASE("plugins can be unmapped, damaged files are refused") {
    CHECK(verdict_of(fixture("plain")).can_unmap());
    CHECK(verdict_of(fixture("thousand")).can_unmap());
    const std::string bytes = read_file(fixture("plain"));
    for (size_t cut = 0; cut < bytes.size(); cut += bytes.size() / 50 + 1) {
      const std::string part = bytes.substr(0, cut);
      CHECK_THROWS_AS(judge_unmapping(MemorySource(part), "/x.so"), PluginError);
    }
  }

  TEST_CASE("of very many reasons, and of long names, a verdict has the beginning") {
    ElfImage image;
    std::string strings(1, '\0');
    std::vector<Elf64_Sym> symbols;
    for (int i = 100; i < 200; ++i) {
      symbols.push_back(unique_symbol(static_cast<uint32_t>(strings.size())));
      strings += std::to_string(i) + std::string(1000, '\x1b') + '\0';
    }
    image.set_strings(strings);
    image.set_symbols(symbols);
    const std::string bytes = image.file();
    const UnmapVerdict verdict = judge_unmapping(MemorySource(bytes), "/x.so");
    REQUIRE(verdict.reasons.size() == 65);
    CHECK(verdict.reasons.back() == "36 more of its symbols are like these");
    for (const std::string& reason : verdict.reasons) {
      CHECK(reason.size() < 2000);
      CHECK_FALSE(contains(reason, "\x1b"));
    }
    CHECK(contains(verdict.reasons.front(), "it defines the unique symbol 100\\x1b\\x1b"));
    CHECK(contains(verdict.reasons.front(), "...; build it with -fno-gnu-unique"));
  }
}
