// From a plugin's file to its code, in one call: what is judged before any of it runs, and what is
// left of an opening that fails.
#include "core/plugin/opening.hpp"

#include <memory>
#include <string>

#include "core/plugin/sha256.hpp"
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
  void run() { open_plugin(opening, host.table(), quarantine, result); }
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
  Quarantine quarantine{"", ""};
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

  TEST_CASE("bytes that are not those of the pinned hash are refused, and those that are run") {
    Opened pinned("slow");
    pinned.opening.terms.pinned.sha256 = std::string(64, '0');
    CHECK(contains(pinned.refusal().text(), std::string(64, '0')));
    CHECK(pinned.result.loaded.library == nullptr);
    CHECK(FakeHost::lines().empty());
    pinned.opening.terms.pinned.sha256 = sha256_file(pinned.path);
    pinned.run();
    CHECK(FakeHost::lines() == std::vector<std::string>{"slow: init"});
  }

  TEST_CASE("a plugin is opened as its lock has it: by its bytes, and with one list of libraries") {
    const auto lock_of = [](const Opened& opened, const std::string& hash) {
      auto lock = std::make_shared<PluginLock>();
      lock->file = "tenon.lock";
      lock->plugins = {{opened.opening.plugin, "1.0.0", opened.path, hash, "d", {}}};
      return lock;
    };
    Opened opened("plain");
    opened.opening.terms.locks = {
        std::make_shared<PluginLock>(PluginLock{"other.lock", {}, {}, {}, {}})};
    CHECK(opened.refusal().problem == "it is not in the lock file 'other.lock'");
    opened.opening.terms.locks = {lock_of(opened, std::string(64, '1'))};
    const PluginFailure changed = opened.refusal();
    CHECK(changed.problem == "its bytes are not those in the lock file 'tenon.lock'");
    CHECK(changed.expected == "sha256 " + std::string(64, '1'));
    CHECK(changed.found == "sha256 " + sha256_file(opened.path));
    const auto first = lock_of(opened, sha256_file(opened.path));
    const auto second = lock_of(opened, sha256_file(opened.path));
    second->plugins[0].libraries = {{"libx.so.1", "/l/libx.so.1", "21"}};
    opened.opening.terms.locks = {first, second};
    CHECK(contains(opened.refusal().problem, "pins other libraries than the active lock file"));
    CHECK(opened.result.loaded.library == nullptr);
    KnownHashes known;  // some builds link libraries of the compiler's
    lock_libraries(first->plugins[0], SealedFile(opened.path), known);
    opened.opening.terms.locks = {first};
    opened.run();
    CHECK(opened.result.loaded.table != nullptr);
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
    open_plugin(reload, opened.host.table(), opened.quarantine, again);
    CHECK(again.loaded.table != opened.result.loaded.table);
    CHECK(again.loaded.code->generation() == 2);
    again.loaded.shutdown();
    CHECK(again.loaded.unmap());
    // A scan would refuse a version that the config does not take.
    reload.terms.pinned.name = "slow";
    reload.terms.pinned.version = ">=9";
    OpenedPlugin refused;
    const PluginFailure failure =
        failure_of([&] { open_plugin(reload, opened.host.table(), opened.quarantine, refused); });
    CHECK(failure.stage == PluginStage::Version);
    CHECK(refused.loaded.library == nullptr);
  }
}
