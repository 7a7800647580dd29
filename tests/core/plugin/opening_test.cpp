// From a plugin's file to its code, in one call: what is judged before any of it runs, and what is
// left of an opening that fails.
#include <memory>
#include <string>

#include "core/plugin/load/load_plugin.hpp"
#include "tests/core/plugin/fake_guard.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// An opening of a copy of a fixture, in a folder of the test's own.
struct Opened {
  explicit Opened(const std::string& name) : path(folder.add(name)) { index(); }
  ~Opened() {
    if (result.loaded.table != nullptr) result.loaded.shutdown();
    if (result.loaded.library != nullptr) result.loaded.unmap();
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  void index() {
    const FactsFile file = read_facts_file(path);
    opening.plugin = file.facts->id;
    opening.found.path = path;
    opening.found.facts = file.facts;
    opening.found.stamp = file.stamp;
  }
  void run() { open_plugin(opening, host.table(), result); }
  PluginFailure refusal() {
    return failure_of([&] { run(); });
  }
  // Another file in its place: what an installer does.
  void replace_by(const std::string& bytes) const {
    std::filesystem::remove(path);
    write_file(path, bytes);
  }

  TemporaryFolder folder;
  std::string path;
  FakeHost host;
  Opening opening;
  OpenedPlugin result;
};

}  // namespace

TEST_SUITE("plugin/opening") {
  TEST_CASE("the file is mapped and initialized, with the facts that were indexed") {
    Opened opened("slow");
    opened.run();
    CHECK(opened.result.facts == opened.opening.found.facts);
    REQUIRE(opened.result.loaded.table != nullptr);
    REQUIRE(opened.result.loaded.code != nullptr);
    CHECK(opened.result.loaded.code->generation() == 1);
    CHECK(FakeHost::lines() == std::vector<std::string>{"slow: init"});
  }

  TEST_CASE("of a file that was built again since it was indexed the new facts count") {
    Opened opened("plain");
    opened.replace_by(read_file(fixture("plain")) + "more");
    opened.run();
    CHECK(opened.result.facts != opened.opening.found.facts);
    CHECK(opened.result.facts->id == "plain");
    CHECK(opened.result.stamp == FileSource(opened.path).stamp());
  }

  TEST_CASE("a file that holds another plugin by now is refused before its code runs") {
    Opened opened("plain");
    opened.replace_by(read_file(fixture("slow")));
    const PluginFailure failure = opened.refusal();
    CHECK(failure.stage == PluginStage::Read);
    CHECK(failure.expected == "'plain'");
    CHECK(failure.found == "'slow'");
    CHECK(opened.result.loaded.library == nullptr);
    CHECK(FakeHost::lines().empty());
  }

  TEST_CASE("bytes that the guard refuses are not run, and those that it accepts are") {
    Opened pinned("slow");
    FakeGuard fake;
    fake.wants = TENON_GUARD_WANTS_BYTES;
    const std::string good = read_file(pinned.path);
    fake.on_judge = [&](const tenon_guarded_file& file, const tenon_guard_report& report) {
      const std::string_view bytes(static_cast<const char*>(file.bytes), file.byte_count);
      if (bytes == good) return TENON_OK;
      refuse(report, "other bytes");
      return TENON_ERROR_PLUGIN;
    };
    pinned.opening.terms.guard.guard = fake.guard();
    pinned.replace_by(good + "more");
    CHECK(pinned.refusal().problem == "other bytes");
    CHECK(pinned.result.loaded.library == nullptr);
    CHECK(FakeHost::lines().empty());
    pinned.replace_by(good);
    pinned.run();
    CHECK(FakeHost::lines() == std::vector<std::string>{"slow: init"});
  }

  TEST_CASE(
      "an init that fails leaves a library to unmap, an entry that is missing none that ran") {
    Opened opened("init_fails");
    CHECK(opened.refusal().stage == PluginStage::Init);
    CHECK(opened.result.loaded.library != nullptr);
    Opened without("missing_symbol");
    CHECK(without.refusal().stage == PluginStage::Open);
    CHECK(without.result.loaded.library == nullptr);
  }

  TEST_CASE("code that takes the place of other code is a private copy, and judged as in a scan") {
    Opened opened("slow");
    opened.run();
    OpenedPlugin again;
    Opening reload = opened.opening;
    reload.before = opened.result.loaded;
    reload.generation = 2;
    open_plugin(reload, opened.host.table(), again);
    CHECK(again.loaded.table != opened.result.loaded.table);
    CHECK(again.loaded.code->generation() == 2);
    again.loaded.shutdown();
    CHECK(again.loaded.unmap());
    // A scan would refuse a version that the config does not take.
    reload.terms.pinned.name = "slow";
    reload.terms.pinned.version = ">=9";
    OpenedPlugin refused;
    const PluginFailure failure =
        failure_of([&] { open_plugin(reload, opened.host.table(), refused); });
    CHECK(failure.stage == PluginStage::Version);
    CHECK(refused.loaded.library == nullptr);
  }
}
