// Lock files: what they have, what differs from them, and that nothing else is loaded.
#include "core/plugin/plugin_lock.hpp"

#include <algorithm>
#include <random>

#include "core/plugin/sha256.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

PluginLock example() {
  PluginLock lock;
  lock.plugins = {{"a", "1.0.0", "/p/a.so", "11", "d1", {{"libx.so.1", "/l/libx.so.1", "21"}}},
                  {"b", "2.0.0", "/p/b.so", "12", "d2", {}}};
  lock.ops = {{"add", "a"}, {"mul", "b"}};
  lock.modules = {{"Linear", "a"}};
  lock.types = {{"Scaled", "b"}};
  return lock;
}

// The differences after a change: one line for each.
template <class Change>
std::string differences(Change change) {
  PluginLock present = example();
  change(present);
  std::string text;
  for (const PluginFailure& failure : compare_locks(example(), present)) {
    CHECK_FALSE(failure.remedy.empty());
    text += failure.plugin + ": " + failure.problem + " [" + failure.expected + "|" +
            failure.found + "]\n";
  }
  return text;
}

}  // namespace

TEST_SUITE("plugin lock") {
  TEST_CASE("each difference is named, with what was locked and what is there") {
    CHECK(differences([](PluginLock&) {}) == "");
    CHECK(differences([](PluginLock& now) { now.plugins[0].sha256 = "99"; }) ==
          "a: its bytes are not those that are locked [sha256 11|sha256 99]\n");
    CHECK(differences([](PluginLock& now) {
            now.plugins[0].sha256 = "99";
            now.plugins[0].declarations = "d9";
          }) ==
          "a: its bytes and its declarations are not those that are locked "
          "[sha256 11|sha256 99]\n");
    CHECK(differences([](PluginLock& now) {
            now.plugins[0].sha256 = "99";
            now.plugins[0].version = "1.0.1";
          }) == "a: it is version 1.0.1 instead of 1.0.0 [sha256 11|sha256 99]\n");
    CHECK(differences([](PluginLock& now) { now.plugins[0].libraries[0].sha256 = "99"; }) ==
          "a: its library '/l/libx.so.1' has other bytes [sha256 21|sha256 99]\n");
    CHECK(differences([](PluginLock& now) { now.plugins[0].libraries[0].path = "/m/libx.so.1"; }) ==
          "a: its library 'libx.so.1' is found elsewhere [/l/libx.so.1|/m/libx.so.1]\n");
    CHECK(differences([](PluginLock& now) { now.plugins[0].libraries[0].name = "liby.so"; }) ==
          "a: it does not link 'libx.so.1', which is locked with it [|]\n"
          "a: it links 'liby.so', which is not locked with it [|]\n");
    CHECK(differences([](PluginLock& now) { now.ops["add"] = "b"; }) ==
          "a: op 'add' is now provided by another plugin [plugin 'a'|plugin 'b']\n");
    CHECK(differences([](PluginLock& now) { now.plugins.pop_back(); }) ==
          "b: it is locked, and not usable here [|]\n");
    CHECK(differences([](PluginLock& now) {
            now.modules.clear();
            now.types.clear();
          }) ==
          "a: module 'Linear' is now provided by another plugin [plugin 'a'|no single plugin]\n"
          "b: type 'Scaled' is now provided by another plugin [plugin 'b'|no single plugin]\n");
  }

  TEST_CASE("what is not locked does not count as a difference") {
    CHECK(differences([](PluginLock& now) {
            now.plugins.push_back({"c", "1.0.0", "/p/c.so", "13", "d3", {}});
            now.ops["sub"] = "c";
          }) == "");
  }

  TEST_CASE("a lock that is written reads back the same") {
    const TemporaryFolder folder;
    write_file(folder / "tenon.lock", dump(*lock_document(example()), 2));
    const PluginLock read = read_lock(folder / "tenon.lock");
    CHECK(read.file == folder / "tenon.lock");
    CHECK(compare_locks(example(), read).empty());
    CHECK(compare_locks(read, example()).empty());
    CHECK(read.plugins[0].libraries == example().plugins[0].libraries);
  }

  TEST_CASE("files that are not lock files are refused with their place") {
    const TemporaryFolder folder;
    const auto refusal = [&](const std::string& text) {
      write_file(folder / "tenon.lock", text);
      try {
        read_lock(folder / "tenon.lock");
      } catch (const Error& error) {
        CHECK(error.kind == TENON_ERROR_CONFIG);
        CHECK(contains(error.message, "tenon.lock"));
        return error.message;
      }
      FAIL("nothing was thrown");
      return std::string();
    };
    refusal("");
    refusal("[]");
    CHECK(contains(refusal("{\"lock_version\": 2}"), "expected version 1"));
    CHECK(contains(refusal("{\"lock_version\": 1, \"plugins\": {}}"), "expected an array"));
    CHECK(contains(refusal("{\"lock_version\": 1, \"plugins\": [{}]}"), "a member 'id'"));
    CHECK_THROWS_AS(read_lock(folder / "none"), Error);
    // Whatever is changed of a good one, it is read or refused.
    const std::string good = dump(*lock_document(example()));
    std::mt19937_64 draw(7);
    for (int round = 0; round < 3000; ++round) {
      std::string text = good;
      for (size_t edits = 1 + draw() % 3; edits-- > 0;) {
        const size_t at = draw() % text.size();
        if (draw() % 2 == 0)
          text[at] = static_cast<char>(draw());
        else
          text.erase(at, draw() % 9);
        if (text.empty()) text = "{";
      }
      write_file(folder / "tenon.lock", text);
      try {
        read_lock(folder / "tenon.lock");
      } catch (const Error& error) {
        CHECK(error.kind == TENON_ERROR_CONFIG);
      }
    }
  }

  TEST_CASE("a plugin is locked with its bytes and what it links") {
    KnownHashes known;
    const FactsFile file = read_facts_file(fixture("beside"));
    const SealedFile copy(fixture("beside"));
    LockedPlugin plugin = lock_plugin(*file.facts, fixture("beside"), copy);
    CHECK(plugin.libraries.empty());
    lock_libraries(plugin, copy, known);
    CHECK(plugin.id == "beside");
    CHECK(plugin.sha256 == sha256_file(fixture("beside")));
    const auto library =
        std::ranges::find(plugin.libraries, "libbeside_library.so", &LockedLibrary::name);
    REQUIRE(library != plugin.libraries.end());
    CHECK(library->sha256 == sha256_file(library->path));
    CHECK(known.at(library->path) == library->sha256);
    const TemporaryFolder folder;
    const std::string alone = folder.add("beside");
    plugin.path = alone;
    const PluginFailure failure = failure_of([&] { lock_libraries(plugin, copy, known); });
    CHECK(contains(failure.problem, "libbeside_library.so"));
  }
}
