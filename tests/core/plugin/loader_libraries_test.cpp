// Libraries of a plugin that a guard pins: only bytes that it accepts run, whatever happens to the files.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <memory>
#include <set>
#include <thread>

#include "core/plugin/facts/elf_notes.hpp"
#include "core/plugin/load/load_plugin.hpp"
#include "core/plugin/load/origin_libraries.hpp"
#include "tests/core/plugin/fake_guard.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

constexpr const char* kLibrary = "libbeside_library.so";
constexpr const char* kRecord = "TENON_TEST_BESIDE";

// The plugin `beside` alone in a folder with a build of its library, and a guard that pins all that it
// links, with the bytes of the library that are there now.
struct Beside {
  explicit Beside(const std::string& build = "") {
    install(build);
    approve();
    fake.wants = TENON_GUARD_WANTS_BYTES;
    fake.on_judge = [this](const tenon_guarded_file&, const tenon_guard_report& report) {
      std::vector<tenon_pinned_library> list;
      const auto string_of = [](const std::string& text) {
        return tenon_string{text.data(), static_cast<int64_t>(text.size())};
      };
      for (const PinnedLibrary& one : pinned)
        list.push_back({string_of(one.name), string_of(one.path)});
      report.pin_libraries(report.sink, list.data(), static_cast<int64_t>(list.size()));
      return TENON_OK;
    };
    fake.on_library = [this](const tenon_guarded_file&, const tenon_guarded_library& library,
                             const tenon_guard_report& report) { return judge(library, report); };
    terms.guard = fake.guard();
  }

  // "" is the one that tests approve.
  void install(const std::string& build) const {
    namespace fs = std::filesystem;
    const std::string from = build.empty() ? "/" : "/beside/" + build + "/";
    fs::copy_file(TENON_FIXTURES + from + kLibrary, folder / "next",
                  fs::copy_options::overwrite_existing);
    fs::rename(folder / "next", folder / kLibrary);
  }
  void approve() { approved = read_file(folder / kLibrary); }
  tenon_status judge(const tenon_guarded_library& library, const tenon_guard_report& report) const {
    const std::string_view bytes(static_cast<const char*>(library.bytes), library.byte_count);
    if (library.path.length == 0) {
      refuse(report, "it links '" + text_in(library.name) + "', which is not pinned");
    } else if (text_in(library.name) == kLibrary && bytes != approved) {
      refuse(report, "its library has other bytes");
    } else if (refuses_mapped && library.mapped.length > 0) {
      refuse(report, "mapped from " + text_in(library.mapped));
    } else {
      return TENON_OK;
    }
    return TENON_ERROR_PLUGIN;
  }
  // A plugin that the guard has judged: its libraries are pinned.
  std::unique_ptr<GuardedPlugin> judged(const SealedFile& copy) const {
    auto guarded = std::make_unique<GuardedPlugin>(terms, "beside", path);
    REQUIRE_FALSE(guarded->judge(TENON_GUARD_LOAD, *facts, copy.stamp(), &copy));
    return guarded;
  }
  OpenedLibraries open() const {
    const SealedFile copy(path);
    return open_pinned_libraries(copy, path, *judged(copy));
  }
  PinnedLibrary& pin_of(const std::string& name) {
    const auto found = std::ranges::find(pinned, name, &PinnedLibrary::name);
    REQUIRE(found != pinned.end());
    return *found;
  }

  TemporaryFolder folder;
  std::string path = folder.add("beside");
  std::shared_ptr<const PluginFacts> facts = read_facts_file(path).facts;
  std::string approved;
  bool refuses_mapped = false;
  std::vector<PinnedLibrary> pinned = all_pins();
  FakeGuard fake;
  GuardTerms terms;

 private:
  // The library in the folder, and what this process has mapped of the system.
  std::vector<PinnedLibrary> all_pins() const {
    std::vector<PinnedLibrary> pins = {{kLibrary, folder / kLibrary}};
    // A linker leaves out of either file what it does not use itself.
    std::set<std::string> needed;
    for (const std::string& file : {path, std::string(TENON_FIXTURES "/") + kLibrary}) {
      const LinkedLibraries linked = read_linked_libraries(FileSource(file), file);
      needed.insert(linked.needed.begin(), linked.needed.end());
    }
    needed.erase(kLibrary);
    for (const std::string& name : needed) {
      void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
      REQUIRE_MESSAGE(handle != nullptr, name);
      link_map* record = nullptr;
      REQUIRE(::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&record)) == 0);
      pins.push_back({name, record->l_name});
      ::dlclose(handle);
    }
    return pins;
  }
};

// The build whose constructor ran last.
std::string last_run() {
  const char* const build = std::getenv(kRecord);
  return build == nullptr ? "" : build;
}

}  // namespace

TEST_SUITE("loader libraries") {
  TEST_CASE("a library that is swapped between judging and opening never runs") {
    const Beside beside;
    const FakeHost host;
    std::atomic<bool> done{false};
    std::thread attacker([&] {
      for (int round = 0; !done.load(); ++round) beside.install(round % 2 == 0 ? "foreign" : "");
    });
    Opening opening;
    opening.plugin = "beside";
    opening.found.path = beside.path;
    opening.found.facts = beside.facts;
    opening.terms.guard = beside.terms;
    constexpr int kAttempts = 1000;
    int loads = 0, foreign = 0, others = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      ::unsetenv(kRecord);
      OpenedPlugin opened;
      try {
        open_plugin(opening, host.table(), opened);
        ++loads;
        opened.loaded.unmap();
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

  TEST_CASE("the copy takes the place of the file, and plugins that pin the same bytes share it") {
    Beside beside;
    OpenedLibraries first = beside.open();
    REQUIRE(first.size() == 1);
    REQUIRE(first[0]->copy() != nullptr);
    CHECK(first[0]->has_name(kLibrary));
    CHECK_FALSE(contains(read_file("/proc/self/maps"), beside.folder / kLibrary));
    OpenedLibraries second = beside.open();
    REQUIRE(second.size() == 1);
    CHECK(second[0] == first[0]);
    first.clear();
    CHECK(is_mapped(kLibrary));
    beside.approved = "others";
    CHECK(contains(failure_of([&] { beside.open(); }).problem, "has other bytes"));
    second.clear();
    CHECK_FALSE(is_mapped(kLibrary));
  }

  TEST_CASE("a library without the SONAME by which its copy is found is refused with the remedy") {
    const Beside beside("unnamed");
    const PluginFailure failure = failure_of([&] { beside.open(); });
    CHECK(failure.stage == PluginStage::Open);
    CHECK(contains(failure.problem, "does not have the SONAME"));
    CHECK(contains(failure.remedy, std::string("-Wl,-soname,") + kLibrary));
  }

  TEST_CASE("libraries that are not pinned are refused, and the guard sees what is mapped") {
    Beside beside;
    CHECK(beside.open().size() == 1);
    PinnedLibrary& system = beside.pin_of("libc.so.6");
    const std::string place = system.path;
    system.path = "/no/such/libc.so.6";
    CHECK(beside.open().size() == 1);  // bytes that the guard accepts, at another path
    beside.refuses_mapped = true;
    CHECK(failure_of([&] { beside.open(); }).problem == "mapped from " + place);
    std::erase_if(beside.pinned, [](const auto& one) { return one.name == kLibrary; });
    CHECK(failure_of([&] { beside.open(); }).problem ==
          "it links 'libbeside_library.so', which is not pinned");
    // A guard that accepts what it has not pinned is not believed.
    beside.fake.on_library = [](const auto&, const auto&, const auto&) { return TENON_OK; };
    CHECK(failure_of([&] { beside.open(); }).problem ==
          "it links 'libbeside_library.so', which the load guard has not pinned");
  }

  TEST_CASE("of a copy that is not pinned the libraries are opened where they are") {
    const Beside beside;
    const SealedFile copy(beside.path);
    const OpenedLibraries opened = open_libraries(copy, beside.path);
    CHECK(std::ranges::all_of(opened, [](const auto& one) { return one->copy() == nullptr; }));
    CHECK(std::ranges::any_of(opened, [](const auto& one) { return one->has_name(kLibrary); }));
    CHECK(contains(read_file("/proc/self/maps"), beside.folder / kLibrary));
  }

  TEST_CASE("$ORIGIN is the folder of the file") {
    CHECK(is_by_origin("$ORIGIN/../lib"));
    CHECK_FALSE(is_by_origin("/opt/lib"));
    CHECK(expand_origin("$ORIGIN/../lib", "/p/x.so") == "/p/../lib");
    CHECK(expand_origin("/opt:${ORIGIN}", "/p/q/x.so") == "/opt:/p/q");
  }
}
