// Libraries of a locked plugin: only bytes that are locked run, whatever happens to the files.
#include "core/plugin/loader_libraries.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "core/plugin/loader.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

constexpr const char* kLibrary = "libbeside_library.so";
constexpr const char* kRecord = "TENON_TEST_BESIDE";

// The plugin `beside` alone in a folder with a build of its library.
struct Beside {
  explicit Beside(const std::string& build = "") { install(build); }

  // "" is the one that tests approve.
  void install(const std::string& build) const {
    namespace fs = std::filesystem;
    const std::string from = build.empty() ? "/" : "/beside/" + build + "/";
    fs::copy_file(TENON_FIXTURES + from + kLibrary, folder / "next",
                  fs::copy_options::overwrite_existing);
    fs::rename(folder / "next", folder / kLibrary);
  }
  LockedPlugin lock() const {
    const SealedFile copy(path);
    LockedPlugin locked = lock_plugin(*facts, path, copy);
    KnownHashes known;
    lock_libraries(locked, copy, known);
    return locked;
  }
  OpenedLibraries open(const LockedPlugin& locked) const {
    return open_locked_libraries(SealedFile(path), path, locked);
  }

  TemporaryFolder folder;
  std::string path = folder.add("beside");
  std::shared_ptr<const PluginFacts> facts = read_facts_file(path).facts;
};

LockedLibrary& library_of(LockedPlugin& plugin, const std::string& name) {
  const auto found = std::ranges::find(plugin.libraries, name, &LockedLibrary::name);
  REQUIRE(found != plugin.libraries.end());
  return *found;
}

// The build whose constructor ran last.
std::string last_run() {
  const char* const build = std::getenv(kRecord);
  return build == nullptr ? "" : build;
}

}  // namespace

TEST_SUITE("loader libraries") {
  TEST_CASE("a library that is swapped between comparing and opening never runs") {
    const Beside beside;
    const LockedPlugin locked = beside.lock();
    const FakeHost host;
    std::atomic<bool> done{false};
    std::thread attacker([&] {
      for (int round = 0; !done.load(); ++round) beside.install(round % 2 == 0 ? "foreign" : "");
    });
    constexpr int kAttempts = 1000;
    int loads = 0, foreign = 0, others = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      ::unsetenv(kRecord);
      LoadedPlugin loaded;
      try {
        load_plugin(*beside.facts, 1, beside.path,
                    {std::make_unique<const SealedFile>(beside.path), &locked}, host.table(),
                    nullptr, loaded);
        ++loads;
        loaded.unmap();
      } catch (const PluginError& error) {
        others += contains(error.failure.problem, "has other bytes") ? 0 : 1;
      }
      foreign += last_run() == "foreign" ? 1 : 0;
    }
    done = true;
    attacker.join();
    CHECK(foreign == 0);
    CHECK(others == 0);
    CHECK(loads > 0);
    CHECK(loads < kAttempts);
  }

  TEST_CASE("the copy takes the place of the file, and plugins that lock the same bytes share it") {
    const Beside beside;
    const LockedPlugin locked = beside.lock();
    OpenedLibraries first = beside.open(locked);
    REQUIRE(first.size() == 1);
    REQUIRE(first[0]->copy() != nullptr);
    CHECK(first[0]->has_name(kLibrary));
    CHECK_FALSE(contains(read_file("/proc/self/maps"), beside.folder / kLibrary));
    OpenedLibraries second = beside.open(locked);
    REQUIRE(second.size() == 1);
    CHECK(second[0] == first[0]);
    first.clear();
    CHECK(is_mapped(kLibrary));
    LockedPlugin other = locked;
    library_of(other, kLibrary).sha256 = "00";
    CHECK(contains(failure_of([&] { beside.open(other); }).problem, "has other bytes"));
    second.clear();
    CHECK_FALSE(is_mapped(kLibrary));
  }

  TEST_CASE("a library without the SONAME by which its copy is found is refused with the remedy") {
    const Beside beside("unnamed");
    const LockedPlugin locked = beside.lock();
    const PluginFailure failure = failure_of([&] { beside.open(locked); });
    CHECK(failure.stage == PluginStage::Open);
    CHECK(contains(failure.problem, "does not have the SONAME"));
    CHECK(contains(failure.remedy, std::string("-Wl,-soname,") + kLibrary));
  }

  TEST_CASE("libraries that are not locked are refused, and mapped ones that are not the locked") {
    const Beside beside;
    LockedPlugin locked = beside.lock();
    LockedLibrary& system = library_of(locked, "libc.so.6");
    const LockedLibrary before = system;
    system = {"libc.so.6", "/no/such/libc.so.6", "00"};
    const PluginFailure mapped = failure_of([&] { beside.open(locked); });
    CHECK(contains(mapped.problem, "the process has mapped another library 'libc.so.6' from "));
    CHECK(mapped.expected == "sha256 00");
    system.sha256 = before.sha256;  // equal bytes at another path
    CHECK(beside.open(locked).size() == 1);
    std::erase_if(locked.libraries, [](const auto& one) { return one.name == kLibrary; });
    CHECK(failure_of([&] { beside.open(locked); }).problem ==
          "it links 'libbeside_library.so', which is not locked with it");
  }

  TEST_CASE("of a copy that is not locked the libraries are opened where they are") {
    const Beside beside;
    const SealedFile copy(beside.path);
    const OpenedLibraries opened = open_libraries(copy, beside.path);
    CHECK(std::ranges::all_of(opened, [](const auto& one) { return one->copy() == nullptr; }));
    CHECK(std::ranges::any_of(opened, [](const auto& one) { return one->has_name(kLibrary); }));
    CHECK(contains(read_file("/proc/self/maps"), beside.folder / kLibrary));
  }
}
