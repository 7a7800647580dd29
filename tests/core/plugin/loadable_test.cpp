// Contents of a lock: plugins that can be used, and who provides each name.
#include <list>

#include "core/plugin/resolve/plugin_documents.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// Plugins by their files, as a scan would know them.
struct Shelf {
  KnownPlugin& add(const std::string& path) {
    KnownPlugin& plugin = plugins.emplace_back();
    plugin.found.path = path;
    plugin.found.facts = read_facts_file(path).facts;
    return plugin;
  }
  Json document() {
    KnownPlugins known;
    for (const KnownPlugin& plugin : plugins) known.push_back(&plugin);
    resolver.set_plugins(known);
    return loadable_document(known, resolver);
  }
  size_t count() { return static_cast<size_t>(document()->get("plugins").size()); }

  std::list<KnownPlugin> plugins;
  PolicyStack policies;
  RegisteredNames registered;
  Resolver resolver{policies, registered};
};

}  // namespace

TEST_SUITE("plugin/loadable") {
  TEST_CASE("a plugin has its file's stamp and run path, and what it declares") {
    Shelf shelf;
    shelf.add(fixture("beside"));
    const Json document = shelf.document();
    const tenon_json& plugin = document->get("plugins").children()[0];
    CHECK(plugin.get("id").as_string() == "beside");
    CHECK(plugin.get("path").as_string() == fixture("beside"));
    const FileStamp stamp = FileSource(fixture("beside")).stamp();
    CHECK(plugin.get("stamp").get("inode").as_int() == static_cast<int64_t>(stamp.inode));
    CHECK(plugin.get("stamp").get("changed").as_int() == stamp.changed);
    CHECK(dump(plugin.get("run_path")) == R"(["$ORIGIN"])");
    CHECK(plugin.get("facts").get("ops").size() > 0);
  }

  TEST_CASE("a file that is gone has no stamp") {
    const TemporaryFolder folder;
    Shelf shelf;
    shelf.add(folder.add("plain"));
    std::filesystem::remove(folder / "plain.so");
    CHECK(shelf.document()->get("plugins").children()[0].find("stamp") == nullptr);
  }

  TEST_CASE("plugins that may not be used are left out, and those whose code has run are loaded") {
    for (const PluginState state :
         {PluginState::Failed, PluginState::Excluded, PluginState::Shadowed}) {
      Shelf shelf;
      shelf.add(fixture("plain"));
      shelf.add(fixture("slow")).state = state;
      CHECK(shelf.count() == 1);
      shelf.plugins.back().state = PluginState::Active;
      CHECK(shelf.count() == 2);
      CHECK(shelf.document()->get("loaded").size() == 0);
      shelf.plugins.back().opened = true;
      const Json document = shelf.document();
      const tenon_json& loaded = document->get("loaded");
      REQUIRE(loaded.size() == 1);
      CHECK(loaded.children()[0].get("id").as_string() == "slow");
    }
  }

  TEST_CASE("a name has all that may run it, in their order, up to those that contest a place") {
    Shelf ranked;
    ranked.add(fixture("ranked/ranked_general"));
    ranked.add(fixture("ranked/ranked_small"));
    const Json document = ranked.document();
    CHECK(dump(document->get("ops").get("ranked.who")) == R"(["ranked_small","ranked_general"])");
    CHECK(dump(document->get("ops").get("ranked.alone")) == R"(["ranked_small"])");
    Shelf contested;
    contested.add(fixture("plain"));
    contested.add(fixture("duplicate"));
    CHECK(contested.document()->get("ops").get("plain.add_one").size() == 0);
  }
}
