// Files and folders that other users can change, each with its remedy.
#include "core/plugin/facts/path_trust.hpp"

#include <unistd.h>

#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/plugin/facts/catalogue.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

namespace fs = std::filesystem;

constexpr uid_t kOther = 12345;

// A plugin in its own folder.
struct Place {
  TemporaryFolder folder;
  std::string inner = folder / "a/b";
  std::string file;

  Place() {
    fs::create_directories(inner);
    for (const std::string& path : {folder.path(), folder / "a", inner}) mode(path, 0755);
    file = folder.add("plain", "a/b/plain.so");
    mode(file, 0644);
  }
  static void mode(const std::string& path, mode_t bits) {
    REQUIRE(::chmod(path.c_str(), bits) == 0);
  }
  static void own(const std::string& path, uid_t user, gid_t group) {
    REQUIRE(::lchown(path.c_str(), user, group) == 0);
  }
  std::optional<Distrust> judge(const PathTrust& trust = PathTrust()) const {
    return judge_at(file, trust);
  }
  static std::optional<Distrust> judge_at(const std::string& path,
                                          const PathTrust& trust = PathTrust()) {
    return trust.judge_file(path, FileSource(path).stamp());
  }
};

std::string problem(const std::optional<Distrust>& found) { return found ? found->problem : ""; }

bool cannot_give_away() {
  if (::geteuid() == 0) return false;
  MESSAGE("skipped: only root can give files to another user");
  return true;
}

}  // namespace

TEST_SUITE("path trust") {
  TEST_CASE("what this user alone can change is trusted") {
    const Place place;
    CHECK(problem(place.judge()) == "");
    CHECK_FALSE(PathTrust().judge_folder(place.inner));
  }

  TEST_CASE("a file that every user can write to is refused, until the remedy is followed") {
    const Place place;
    Place::mode(place.file, 0646);
    const auto found = place.judge();
    REQUIRE(found);
    CHECK(found->problem == "every user can write to it (mode 0646)");
    CHECK(found->remedy == "run `chmod o-w '" + place.file + "'`, or allow it by name: --trust '" +
                               place.file + "', or \"trust\" in the config");
    REQUIRE(std::system(("chmod o-w '" + place.file + "'").c_str()) == 0);
    CHECK_FALSE(place.judge());
  }

  TEST_CASE("in a safe folder the mode of the file alone decides: its owner may do anything") {
    const Place place;
    for (const unsigned mode : {0777U, 0776U, 0722U, 0606U, 04777U}) {
      Place::mode(place.file, mode);
      char text[8];
      std::snprintf(text, sizeof text, "%04o", mode);
      CHECK(problem(place.judge()) ==
            "every user can write to it (mode " + std::string(text) + ")");
    }
    for (const unsigned mode : {0755U, 0775U, 0700U, 0444U, 04755U}) {
      CAPTURE(mode);
      Place::mode(place.file, mode);
      CHECK(problem(place.judge()).empty());
    }
  }

  TEST_CASE("so is each folder on the way") {
    for (const char* part : {"", "/a", "/a/b"}) {
      const Place place;
      const std::string open = place.folder.path() + part;
      Place::mode(open, 0757);
      CHECK(problem(place.judge()) ==
            "every user can write to the folder '" + open + "' (mode 0757)");
      CHECK(problem(PathTrust().judge_folder(place.inner)) == problem(place.judge()));
      Place::mode(open, 0755);
      CHECK_FALSE(place.judge());
    }
  }

  TEST_CASE("a sticky folder keeps what this user owns, but plugins are not looked for in it") {
    const Place place;
    Place::mode(place.inner, 01777);
    CHECK_FALSE(place.judge());
    CHECK(problem(PathTrust().judge_folder(place.inner)) ==
          "every user can write to the folder '" + place.inner + "' (mode 1777)");
    if (cannot_give_away()) return;
    Place::own(place.file, kOther, 0);
    CHECK(contains(problem(place.judge()), "every user can write to the folder"));
  }

  TEST_CASE("groups are others, but for this process's and root's") {
    if (cannot_give_away()) return;
    const Place place;
    Place::mode(place.inner, 0775);
    CHECK_FALSE(place.judge());
    Place::own(place.inner, ::geteuid(), kOther);
    const auto found = place.judge();
    CHECK(problem(found) ==
          "group 12345 can write to the folder '" + place.inner + "' (mode 0775)");
    CHECK(contains(found->remedy, "chmod g-w '" + place.inner + "'"));
    Place::mode(place.inner, 0755);
    Place::own(place.file, ::geteuid(), kOther);
    Place::mode(place.file, 0664);
    CHECK(problem(place.judge()) == "group 12345 can write to it (mode 0664)");
  }

  TEST_CASE("files, folders and links of other users are refused") {
    if (cannot_give_away()) return;
    const Place place;
    Place::own(place.file, kOther, 0);
    const auto found = place.judge();
    CHECK(problem(found) == "user 12345 owns it");
    CHECK(contains(found->remedy, "run `chown root '" + place.file + "'`"));
    Place::own(place.file, 0, 0);
    Place::own(place.folder / "a", kOther, 0);
    CHECK(problem(place.judge()) == "user 12345 owns the folder '" + (place.folder / "a") + "'");
    CHECK(PathTrust().judge_folder(place.inner));
    Place::own(place.folder / "a", 0, 0);
    CHECK_FALSE(place.judge());
  }

  TEST_CASE("links are followed, and the folders on both sides count") {
    const Place place;
    const TemporaryFolder other;
    Place::mode(other.path(), 0755);
    const std::string link = other / "link.so";
    fs::create_symlink("../" + fs::path(place.folder.path()).filename().string() + "/a/b/plain.so",
                       link);
    CHECK_FALSE(Place::judge_at(link));
    Place::mode(other.path(), 0777);
    CHECK(problem(Place::judge_at(link)) ==
          "every user can write to the folder '" + other.path() + "' (mode 0777)");
    Place::mode(other.path(), 0755);
    Place::mode(place.inner, 0777);
    CHECK(problem(Place::judge_at(link)) ==
          "every user can write to the folder '" + place.inner + "' (mode 0777)");
    CHECK_FALSE(Place::judge_at(link, PathTrust({other.path()})));
  }

  TEST_CASE("above the root there is the root, and links that lead in a circle end") {
    const Place place;
    const TemporaryFolder other;
    Place::mode(other.path(), 0755);
    std::string up;
    for (int i = 0; i < 40; ++i) up += "../";
    const std::string above = other / "above.so";
    fs::create_symlink(up + place.file.substr(1), above);
    CHECK_FALSE(Place::judge_at(above));
    Place::mode(place.inner, 0777);
    CHECK(problem(Place::judge_at(above)) ==
          "every user can write to the folder '" + place.inner + "' (mode 0777)");
    fs::create_symlink(up, other / "root");
    CHECK_FALSE(PathTrust().judge_folder(other / "root"));
    fs::create_symlink("second", other / "first");
    fs::create_symlink("first", other / "second");
    errno = 0;
    CHECK(problem(PathTrust().judge_folder(other / "first")) ==
          "'" + (other / "first") + "' cannot be looked at: Too many levels of symbolic links");
  }

  TEST_CASE("an access list of a group that may write lets others write") {
    const Place place;
    Place::mode(place.file, 0664);
    CHECK_FALSE(place.judge());
    // Version 2; the owner, user 12345, the group, the mask, others: rw- but for others.
    struct Entry {
      uint16_t tag, rights;
      uint32_t id;
    };
    const struct {
      uint32_t version = 2;
      Entry entries[5] = {{1, 6, ~0U}, {2, 6, kOther}, {4, 6, ~0U}, {16, 6, ~0U}, {32, 4, ~0U}};
    } list;
    if (::setxattr(place.file.c_str(), "system.posix_acl_access", &list, sizeof list, 0) != 0) {
      MESSAGE("skipped: this file system has no access lists");
      return;
    }
    CHECK(problem(place.judge()) == "an access list lets others write to it");
  }

  TEST_CASE("what is allowed by name is taken as it is, and nothing beside it") {
    const Place place;
    Place::mode(place.file, 0666);
    Place::mode(place.inner, 0777);
    CHECK(place.judge());
    for (const std::string& allowed :
         {place.file, place.inner, place.folder.path(), std::string("/")}) {
      CHECK_FALSE(place.judge(PathTrust({allowed})));
    }
    CHECK_FALSE(PathTrust({place.inner}).judge_folder(place.inner));
    CHECK(PathTrust({place.file}).judge_folder(place.inner));
    CHECK(place.judge(PathTrust({place.inner + "x", place.file + "x", place.folder / "a/bc"})));
  }

  TEST_CASE("the descriptor is judged, not what is at the path by now") {
    const Place place;
    const FileSource opened(place.file);  // its number is not given to another file meanwhile
    const FileStamp stamp = opened.stamp();
    fs::remove(place.file);
    place.folder.add("plain", "a/b/plain.so");
    CHECK(problem(PathTrust().judge_file(place.file, stamp)) ==
          "another file took its place while it was judged");
    fs::remove(place.file);
    CHECK(contains(problem(PathTrust().judge_file(place.file, stamp)), "cannot be looked at"));
  }

  // Modes and owners at random, against the rule in other words.
  TEST_CASE("of a chain of folders the first that others can change is named") {
    const bool root = ::geteuid() == 0;
    uint64_t state = 7;
    const auto draw = [&](uint64_t limit) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return (state >> 33U) % limit;
    };
    for (int round = 0; round < 200; ++round) {
      const Place place;
      const std::vector<std::string> chain = {place.folder.path(), place.folder / "a", place.inner,
                                              place.file};
      std::vector<bool> owned, open, sticky;
      for (const std::string& path : chain) {
        owned.push_back(!root || draw(8) != 0);
        open.push_back(draw(6) == 0);
        sticky.push_back(path != place.file && draw(3) == 0);
        if (!owned.back()) Place::own(path, kOther, 0);
        Place::mode(path, 0755U | (open.back() ? 0002U : 0U) | (sticky.back() ? 01000U : 0U));
      }
      bool safe = owned.back() && !open.back();
      for (size_t i = 0; i + 1 < chain.size(); ++i)
        safe = safe && owned[i] && (!open[i] || (sticky[i] && owned[i + 1]));
      CHECK(place.judge().has_value() == !safe);
    }
  }

  TEST_CASE("plugins of a folder that others can write to are listed, refused and not read") {
    const Place place;
    Place::mode(place.inner, 0777);
    SearchEnvironment environment;
    environment.plugin_path = place.inner;
    Catalogue catalogue(environment);
    Search search;
    catalogue.rescan(search);
    REQUIRE(catalogue.plugins().size() == 1);
    CHECK(catalogue.plugins()[0].facts == nullptr);
    REQUIRE(catalogue.plugins()[0].failure);
    CHECK(contains(catalogue.plugins()[0].failure->text(), "chmod o-w '" + place.inner + "'"));
    search.trust = PathTrust({place.inner});
    catalogue.rescan(search);
    CHECK(catalogue.plugins()[0].facts != nullptr);
  }

  TEST_CASE("a plugin that others can change since it was found is not opened") {
    const Place place;
    FakeHost host;
    FakeRegistrar registrar;
    SearchEnvironment environment;
    environment.plugin_path = place.inner;
    PluginManager manager(host.table(), registrar, environment);
    CHECK(manager.list().at(0).state == PluginState::Indexed);
    Place::mode(place.inner, 0777);
    CHECK(contains(failure_of([&] { manager.load("plain"); }).problem, "every user can write"));
    Place::mode(place.inner, 0755);
    manager.load("plain");
    CHECK(manager.list().at(0).state == PluginState::Active);
  }

  TEST_CASE("a policy allows by name") {
    const Place place;
    Place::mode(place.inner, 0777);
    FakeHost host;
    FakeRegistrar registrar;
    SearchEnvironment environment;
    environment.plugin_path = place.inner;
    PluginManager manager(host.table(), registrar, environment);
    CHECK(manager.list().at(0).state == PluginState::Failed);
    CHECK_FALSE(manager.ensure_op("plain.add_one"));
    PluginPolicy policy;
    policy.source = "config 'test.json'";
    policy.trust = {place.inner};
    manager.apply(policy);
    CHECK(manager.ensure_op("plain.add_one"));
  }
}
