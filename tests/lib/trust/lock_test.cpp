// Lock files: what they have, what differs from them, and that nothing else is loaded.
#include <algorithm>
#include <random>

#include <tenon/trust/lock.hpp>
#include <tenon/trust/sha256.hpp>

#include "tests/lib/trust/support.hpp"

using namespace tenon::trust;
using namespace trust_test;

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
  for (const Refusal& failure : compare_locks(example(), present)) {
    CHECK_FALSE(failure.remedy.empty());
    text += failure.plugin + ": " + failure.problem + " [" + failure.expected + "|" +
            failure.found + "]\n";
  }
  return text;
}

// the document "loadable" of a process that has nothing but some plugins.
class Shelf {
 public:
  explicit Shelf(const std::vector<std::string>& fixtures) {
    for (const std::string& name : fixtures)
      folder_.add(name, name.substr(name.rfind('/') + 1) + ".so");
    std::filesystem::copy_file(std::string(TENON_FIXTURES) + "/libbeside_library.so",
                               folder_ / "libbeside_library.so");
    read(folder_.path());
  }
  explicit Shelf(const TemporaryFolder& folder) { read(folder.path()); }
  MadeLock lock(const PluginLock* locked = nullptr) const { return make_lock(loadable_, locked); }

 private:
  void read(const std::string& folder) {
    loadable_ = Json::parse(in_child([&] {
      tenon::apply_policy(
          Json::parse(R"({"autoload": true, "search_paths": [")" + folder + "\"]}"));
      const Json loadable = tenon::document(tenon::Document::loadable);
      tenon::JsonArray plugins;  // the install folder has others
      for (int64_t i = 0; i < loadable["plugins"].size(); ++i) {
        if (loadable["plugins"][i]["path"].text().rfind(folder, 0) == 0)
          plugins.add(loadable["plugins"][i]);
      }
      return tenon::JsonObject()
          .set("plugins", plugins.json())
          .set("ops", loadable["ops"])
          .set("modules", loadable["modules"])
          .set("types", tenon::JsonObject().json())
          .json()
          .dump();
    }));
  }
  TemporaryFolder folder_;
  Json loadable_;
};

using Ids = std::vector<std::string>;
Ids ids(const MadeLock& made) {
  Ids list;
  for (const LockedPlugin& plugin : made.lock.plugins) list.push_back(plugin.id);
  return list;
}

}  // namespace

TEST_SUITE("trust/lock") {
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
    write_file(folder / "tenon.lock", lock_document(example()).dump(2));
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
      } catch (const tenon::ConfigError& error) {
        CHECK(contains(error.what(), "tenon.lock"));
        return std::string(error.what());
      }
      FAIL("nothing was thrown");
      return std::string();
    };
    refusal("");
    refusal("[]");
    CHECK(contains(refusal("{\"lock_version\": 2}"), "expected version 1"));
    CHECK(contains(refusal("{\"lock_version\": 1, \"plugins\": {}}"), "expected an array"));
    CHECK(contains(refusal("{\"lock_version\": 1, \"plugins\": [{}]}"), "a member 'id'"));
    CHECK_THROWS_AS(read_lock(folder / "none"), tenon::IOError);
    // Whatever is changed of a good one, it is read or refused.
    const std::string good = lock_document(example()).dump();
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
      } catch (const tenon::ConfigError&) {
      }
    }
  }

  TEST_CASE("a lock file with more values than its size justifies is refused before it is parsed") {
    std::string text = "[0";
    for (int i = 0; i < 200000; ++i) text += ",0";
    CHECK_THROWS_WITH(parse_lock(text + "]", "tenon.lock"), doctest::Contains("at most 28"));
  }

  TEST_CASE("plugins are locked by their bytes and sorted, names with those that provide them") {
    const Shelf shelf({"slow", "plain"});
    const MadeLock made = shelf.lock();
    CHECK(made.left_out.empty());
    REQUIRE(ids(made) == Ids{"plain", "slow"});
    CHECK(made.lock.plugins[0].sha256 == sha256_file(fixture("plain")));
    CHECK(made.lock.plugins[0].version == "1.2.0");
    CHECK(made.lock.plugins[0].declarations.size() == 64);
    CHECK(made.lock.ops.at("plain.add_one") == "plain");
    CHECK(made.lock.ops.at("slow.first") == "slow");
    CHECK(made.lock.modules.at("Slow") == "slow");
    CHECK(made.lock.types.empty());
  }

  TEST_CASE(
      "a name that several provide is locked with all that may run it, contested ones with none") {
    const MadeLock ranked = Shelf({"ranked/ranked_general", "ranked/ranked_small"}).lock();
    CHECK(ranked.lock.ops.at("ranked.who") == "ranked_small, ranked_general");
    CHECK(ranked.lock.ops.at("ranked.alone") == "ranked_small");
    CHECK(Shelf({"plain", "duplicate"}).lock().lock.ops.count("plain.add_one") == 0);
  }

  TEST_CASE("a plugin is locked with what it links, by the bytes of the libraries") {
    const Shelf shelf({"beside"});
    const MadeLock made = shelf.lock();
    REQUIRE(made.lock.plugins.size() == 1);
    const std::vector<LockedLibrary>& libraries = made.lock.plugins[0].libraries;
    const auto library = std::ranges::find(libraries, "libbeside_library.so", &LockedLibrary::name);
    REQUIRE(library != libraries.end());
    CHECK(library->sha256 == sha256_file(library->path));
    CHECK(std::ranges::any_of(libraries, [](const auto& one) { return one.name == "libc.so.6"; }));
  }

  TEST_CASE("held against a lock, only its plugins are read, by their bytes of now") {
    const TemporaryFolder folder;
    const std::string path = folder.add("plain");
    const Shelf before(folder);
    PluginLock locked = before.lock().lock;
    folder.add("slow");
    CHECK(ids(Shelf(folder).lock(&locked)) == Ids{"plain"});
    // The libraries of other bytes are not looked for: those that are locked stand for them.
    locked.plugins[0].libraries = {{"libx.so.1", "/l/libx.so.1", "21"}};
    write_file(path, read_file(path) + "more");
    const MadeLock changed = Shelf(folder).lock(&locked);
    REQUIRE(ids(changed) == Ids{"plain"});
    CHECK(changed.lock.plugins[0].sha256 == sha256_file(path));
    CHECK(changed.lock.plugins[0].libraries == locked.plugins[0].libraries);
  }

  TEST_CASE(
      "one whose library is missing, or that changes, is left out, and the others are locked") {
    const TemporaryFolder folder;
    folder.add("plain");
    folder.add("beside");
    const MadeLock made = Shelf(folder).lock();
    CHECK(ids(made) == Ids{"plain"});
    REQUIRE(made.left_out.size() == 1);
    CHECK(made.left_out[0].plugin == "beside");
    CHECK(contains(made.left_out[0].problem, "libbeside_library.so"));
    const Shelf known(folder);
    write_file(folder / "plain.so", read_file(folder / "plain.so") + "more");
    std::filesystem::remove(folder / "beside.so");
    const MadeLock none = known.lock();
    CHECK(none.lock.plugins.empty());
    REQUIRE(none.left_out.size() == 2);
    CHECK(
        contains(none.left_out[0].problem + none.left_out[1].problem, "changed while it was read"));
    CHECK(contains(none.left_out[0].problem + none.left_out[1].problem, "No such file"));
  }
}
