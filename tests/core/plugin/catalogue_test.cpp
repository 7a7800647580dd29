// Results of a scan, again after files have changed, against an oracle.
#include "core/plugin/facts/catalogue.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

std::string plugin(const std::string& id, const std::string& version) {
  return make_elf(
      {R"({"plugin":{"id":")" + id + R"(","version":")" + version + R"(","abi":[1,0]}})"});
}

// In the place of what is there, as an installation does it: with another inode.
void install(const std::string& path, const std::string& bytes) {
  write_file(path + ".new", bytes);
  std::filesystem::rename(path + ".new", path);
}

Search in_folder(const TemporaryFolder& folder) {
  Search search;
  search.added = {folder.path()};
  return search;
}

}  // namespace

TEST_SUITE("plugin/catalogue") {
  TEST_CASE("nothing is read before the first scan, and no file twice that has not changed") {
    const TemporaryFolder folder;
    install(folder / "a.so", plugin("a", "1.0.0"));
    install(folder / "b.so", plugin("b", "1.0.0"));
    Catalogue catalogue(nowhere());
    CHECK_FALSE(catalogue.is_current());
    CHECK(catalogue.plugins().empty());
    catalogue.rescan(in_folder(folder));
    CHECK(catalogue.is_current());
    REQUIRE(catalogue.plugins().size() == 2);
    CHECK(catalogue.folders().at(0).files == 2);
    const auto a = catalogue.plugins()[0].facts, b = catalogue.plugins()[1].facts;
    install(folder / "b.so", plugin("b", "2.0.0"));
    catalogue.expire();
    CHECK_FALSE(catalogue.is_current());
    catalogue.rescan(in_folder(folder));
    CHECK(catalogue.plugins()[0].facts == a);
    CHECK(catalogue.plugins()[1].facts != b);
    CHECK(catalogue.plugins()[1].facts->version == "2.0.0");
  }

  TEST_CASE("files come before folders, and named versions are found side by side") {
    const TemporaryFolder folder, other;
    install(folder / "a.so", plugin("a", "1.0.0"));
    install(other / "later.so", plugin("a", "2.0.0"));
    Catalogue catalogue(nowhere());
    Search search = in_folder(folder);
    search.files = {other / "later.so"};
    catalogue.rescan(search);
    REQUIRE(catalogue.plugins().size() == 2);
    CHECK(catalogue.plugins()[0].path == other / "later.so");
    CHECK_FALSE(catalogue.plugins()[1].shadowed.empty());
    search.named = {"a@1.0.0", "a@2.0.0"};
    catalogue.rescan(search);
    CHECK(catalogue.plugins()[0].side_name == "a@2.0.0");
    CHECK(catalogue.plugins()[1].shadowed.empty());
  }

  TEST_CASE("after any changes of a folder a scan finds what an oracle finds") {
    std::mt19937 random(3);
    for (int round = 0; round < 20; ++round) {
      const TemporaryFolder folder;
      Catalogue catalogue(nowhere());
      struct File {
        std::string id;  // empty: it cannot be read
        std::string version;
      };
      std::map<std::string, File> files;  // in search order
      for (int step = 0; step < 30; ++step) {
        const std::string name = std::string(1, static_cast<char>('a' + random() % 5)) + ".so";
        if (random() % 3 == 0) {
          std::filesystem::remove(folder / name);
          files.erase(name);
        } else if (random() % 4 == 0) {
          install(folder / name, "not a library");
          files[name] = {};
        } else {
          const File file{std::string(1, static_cast<char>('x' + random() % 3)),
                          std::to_string(random() % 3) + ".0.0"};
          install(folder / name, plugin(file.id, file.version));
          files[name] = file;
        }
        if (random() % 2 == 0) continue;
        catalogue.rescan(in_folder(folder));
        CAPTURE(round);
        CAPTURE(step);
        REQUIRE(catalogue.plugins().size() == files.size());
        std::map<std::string, std::string> first;  // path by id
        auto expected = files.begin();
        for (const FoundPlugin& found : catalogue.plugins()) {
          const auto& [file_name, file] = *expected++;
          REQUIRE(found.path == folder / file_name);
          REQUIRE(found.failure.has_value() == file.id.empty());
          REQUIRE((found.facts == nullptr) == file.id.empty());
          if (file.id.empty()) continue;
          CHECK(found.facts->id == file.id);
          CHECK(found.facts->version == file.version);
          const bool is_first = first.emplace(file.id, found.path).second;
          CHECK(found.shadowed.empty() == is_first);
          if (!is_first) CHECK(contains(found.shadowed, first[file.id]));
        }
      }
    }
  }
}
