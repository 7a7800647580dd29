// Search order, what is skipped, and who is shadowed.
#include "core/plugin/facts/catalogue.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

std::vector<std::string> paths(const std::vector<SearchFolder>& folders) {
  std::vector<std::string> result;
  for (const SearchFolder& folder : folders) result.push_back(folder.path);
  return result;
}

using Paths = std::vector<std::string>;

Catalogue scanned(const SearchEnvironment& environment,
                  const std::vector<std::string>& files = {}) {
  Catalogue catalogue(environment);
  Search search;
  search.files = files;
  catalogue.rescan(search);
  return catalogue;
}

}  // namespace

TEST_SUITE("discovery") {
  TEST_CASE("folders are searched from the most to the least explicit") {
    SearchEnvironment environment;
    environment.plugin_path = "/env/a:/env/b";
    environment.data_home = "/data";
    environment.home = "/home/user";
    environment.install_folder = "/usr/lib/tenon/plugins";
    const std::vector<std::string> configured{"/config/one", "/config/two/"};
    const auto folders = search_folders(configured, environment);
    CHECK(paths(folders) == Paths{"/config/one", "/config/two", "/env/a", "/env/b",
                                  "/data/tenon/plugins", "/usr/lib/tenon/plugins"});
    CHECK(folders[0].origin == PluginOrigin::Config);
    CHECK(folders[2].origin == PluginOrigin::Environment);
    CHECK(folders[4].origin == PluginOrigin::User);
    CHECK(folders[5].origin == PluginOrigin::Install);
  }

  TEST_CASE("without a data folder the user's is below his home") {
    SearchEnvironment environment;
    environment.home = "/home/user";
    CHECK(paths(search_folders({}, environment)) == Paths{"/home/user/.local/share/tenon/plugins"});
    environment.data_home = "relative";
    CHECK(paths(search_folders({}, environment)) == Paths{"/home/user/.local/share/tenon/plugins"});
  }

  TEST_CASE("the current folder is searched only when it is named") {
    SearchEnvironment environment;
    environment.plugin_path = "::/env/a::";
    CHECK(paths(search_folders({}, environment)) == Paths{"/env/a"});
    environment.plugin_path = ".";
    CHECK(paths(search_folders({}, environment)) == Paths{std::filesystem::current_path()});
    environment.plugin_path = "";
    CHECK(search_folders({}, environment).empty());
  }

  TEST_CASE("a folder that comes twice is searched once") {
    SearchEnvironment environment;
    environment.plugin_path = "/a:/b/../a:/a/";
    CHECK(paths(search_folders({}, environment)) == Paths{"/a"});
  }

  TEST_CASE("folders that a program adds come first, under their own name") {
    SearchEnvironment environment;
    environment.plugin_path = "/env";
    const std::vector<std::string> configured = {"/config"}, added = {"/added", "/config"};
    const auto folders = search_folders(configured, environment, added);
    CHECK(paths(folders) == Paths{"/added", "/config", "/env"});
    CHECK(folders[0].origin == PluginOrigin::Added);
    CHECK(folders[1].origin == PluginOrigin::Added);
    CHECK(plugin_origin_text(folders[0].origin) == std::string("plugin path"));
  }

  TEST_CASE("the process's own environment is read, and the install folder is beside the library") {
    ::setenv("TENON_PLUGIN_PATH", "/from/the/environment", 1);
    const SearchEnvironment environment = SearchEnvironment::of_process();
    ::unsetenv("TENON_PLUGIN_PATH");
    CHECK(environment.plugin_path == "/from/the/environment");
    CHECK(environment.autoload);
    CHECK(environment.install_folder.ends_with("/tenon/plugins"));
  }

  TEST_CASE("winners and losers are both kept, with reasons") {
    const TemporaryFolder folder;
    const std::string first = folder.add("plain", "first/renamed.so");
    const std::string second = folder.add("plain", "second/plain.so");
    folder.add("duplicate", "second/duplicate.so");
    std::filesystem::create_symlink(first, folder / "first/zlink.so");
    SearchEnvironment environment;
    environment.plugin_path =
        (folder / "first") + ":" + (folder / "second") + ":" + (folder / "none");
    const Catalogue found = scanned(environment);
    REQUIRE(found.plugins().size() == 4);
    CHECK(found.plugins()[0].path == first);
    CHECK(found.plugins()[0].shadowed.empty());
    CHECK(contains(found.plugins()[1].shadowed, "the same file"));
    CHECK(found.plugins()[2].facts->id == "duplicate");
    CHECK(found.plugins()[3].path == second);
    CHECK(contains(found.plugins()[3].shadowed, first));
    CHECK(contains(found.plugins()[3].shadowed, "first in the search order"));
    CHECK(searched_text(found.folders()) ==
          "looked in: '" + (folder / "first") + "' (2 plugin files), '" + (folder / "second") +
              "' (2 plugin files), '" + (folder / "none") + "' (no such folder)");
  }

  TEST_CASE("a file that is named comes before all folders") {
    const TemporaryFolder folder;
    folder.add("plain", "first/plain.so");
    const std::string named = folder.add("plain", "elsewhere/plain.so");
    SearchEnvironment environment;
    environment.plugin_path = folder / "first";
    const Catalogue found = scanned(environment, {named});
    REQUIRE(found.plugins().size() == 2);
    CHECK(found.plugins()[0].path == named);
    CHECK(found.plugins()[0].shadowed.empty());
    CHECK(!found.plugins()[1].shadowed.empty());
  }

  TEST_CASE("bad files are kept with their failure, other files are none of its business") {
    const TemporaryFolder folder;
    folder.add("plain");
    write_file(folder / "broken.so", "not a library");
    write_file(folder / ".hidden.so", "not a library");
    write_file(folder / "README.md", "# Plugins");
    std::filesystem::create_directory(folder / "below");
    folder.add("duplicate", "below/duplicate.so");
    std::filesystem::create_directory(folder / "folder.so");
    SearchEnvironment environment;
    environment.plugin_path = folder.path();
    const Catalogue found = scanned(environment);
    REQUIRE(found.plugins().size() == 3);
    CHECK(contains(found.plugins()[0].failure->problem, "not an ELF file"));
    CHECK(contains(found.plugins()[1].failure->problem, "a folder"));
    CHECK(found.plugins()[2].facts->id == "plain");
  }

  TEST_CASE("facts of unchanged files are not read again") {
    const TemporaryFolder folder;
    folder.add("plain");
    SearchEnvironment environment;
    environment.plugin_path = folder.path();
    Catalogue found = scanned(environment);
    const auto before = found.plugins()[0].facts;
    found.rescan(Search());
    CHECK(found.plugins()[0].facts == before);
    std::filesystem::remove(folder / "plain.so");
    std::filesystem::copy_file(fixture("duplicate"), folder / "plain.so");
    found.rescan(Search());
    CHECK(found.plugins()[0].facts->id == "duplicate");
  }
}
