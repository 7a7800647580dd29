// Listings of a runtime of the test's own: its folder, its tables, and nothing of the process's.
#include <string>
#include <vector>

#include "tests/core/runtime/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

struct Listed : World {
  explicit Listed(std::initializer_list<const char*> plugins = {"plain", "slow"}) {
    for (const char* plugin : plugins) folder.add(plugin);
  }
  Json operator()(std::string_view what, std::string_view name = "") {
    return describe(runtime(), what, name);
  }
  std::string refused(std::string_view what, std::string_view name = "") {
    return message_of([&] { (*this)(what, name); });
  }
};

std::string text(const tenon_json& node, const char* key) {
  return std::string(node.get(key).as_string());
}
std::vector<std::string> texts(const tenon_json& list, const char* key) {
  std::vector<std::string> all;
  for (const tenon_json& item : list.children()) all.push_back(text(item, key));
  return all;
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_SUITE("runtime/describe") {
  TEST_CASE("ops are listed from facts, sorted, and nothing is loaded for it") {
    Listed list;
    const Json ops = list("ops");
    CHECK(texts(*ops, "name") == Texts{"plain.add_one", "slow.first", "slow.second"});
    CHECK(text(*ops->at(0), "signature") == "(input)");
    CHECK(text(*ops->at(0), "provider") == "plain");
    CHECK(texts(*list("ops", "slow"), "name") == Texts{"slow.first", "slow.second"});
    CHECK(list("ops", "none")->size() == 0);
    for (const PluginListing& plugin : list.manager->list())
      CHECK(plugin.state == PluginState::Indexed);
    CHECK(list.ops.list().empty());
  }

  TEST_CASE("providers of an op or a module are those that its own listing has") {
    Listed list;
    for (const char* name : {"plain.add_one", "slow.first", "add_one"}) {
      CAPTURE(name);
      const Json alone = list("providers", std::string("op ") + name), op = list("op", name);
      CHECK(alone->size() == 1);
      CHECK(texts(alone->get("providers"), "plugin") == texts(op->get("providers"), "plugin"));
      CHECK(texts(alone->get("providers"), "standing") == Texts{"chosen"});
    }
    for (const PluginListing& plugin : list.manager->list())
      CHECK(plugin.state == PluginState::Indexed);
    CHECK(contains(list.refused("providers", "op plain.add_on"), "did you mean"));
    CHECK(list.refused("providers", "module plain.add_one") ==
          "no module is named 'plain.add_one'");
    for (const char* name : {"", "op", "type Any", "opplain.add_one"}) {
      CAPTURE(name);
      CHECK(list.refused("providers", name) ==
            "providers are listed of 'op NAME' or 'module NAME', got '" + std::string(name) + "'");
    }
  }

  TEST_CASE(
      "one op is named in full or by its last part, and another name is refused with a guess") {
    Listed list;
    const Json op = list("op", "plain.add_one");
    CHECK(text(*op, "standing") == "chosen");
    CHECK(op->get("overridable").as_bool());
    REQUIRE(op->get("parameters").size() == 1);
    CHECK(text(op->get("parameters").children()[0], "type") == "Tensor");
    CHECK(text(*list("op", "add_one"), "name") == "plain.add_one");
    CHECK(contains(list.refused("op", "add_on"), "did you mean"));
    CHECK(list.refused("op", "one") == "no op is named 'one'");  // not after a dot
    CHECK(describe_signature(list.runtime(), "add_one") == "(input)");
  }

  TEST_CASE("a last part of several ops is ambiguous, of several providers of one op it is not") {
    Listed list({"needs_left", "needs_right", "plain", "duplicate"});
    CHECK(contains(list.refused("op", "op"), "may be 'needs_left.op' or 'needs_right.op'"));
    CHECK(text(*list("op", "add_one"), "name") == "plain.add_one");
    CHECK(text(*list("op", "add_one"), "standing") == "contested");
    CHECK(list("op", "add_one")->get("providers").size() == 2);
  }

  TEST_CASE("plugins that are refused are listed as plugins, and their ops are not") {
    Listed list({"plain", "bad_json"});
    const Json plugins = list("plugins");
    CHECK(plugins->size() == 2);
    CHECK(texts(*list("ops"), "name") == Texts{"plain.add_one"});
    const Json plain = list("plugin", "plain");
    CHECK(text(*plain, "state") == "indexed");
    CHECK(text(*plain, "version") == "1.2.0");
    CHECK(plain->get("ops").is_array());
    CHECK(plain->get("unmap").find("possible") != nullptr);
    CHECK(plugins->at(0)->get("path").is_string());
    CHECK(contains(list.refused("plugin", "plian"), "did you mean 'plain'?"));
  }

  TEST_CASE("declarations are those of a plugin, or of a file that is in no folder") {
    Listed list({"plain"});
    const Json known = list("declarations", "plain");
    CHECK(texts(known->get("ops"), "schema") == Texts{"plain.add_one(Tensor input) -> Tensor"});
    const Json other = list("declarations", fixture("slow"));
    CHECK(text(*other, "id") == "slow");
    REQUIRE(other->get("modules").size() == 1);
    const tenon_json& module = other->get("modules").children()[0];
    CHECK(text(module, "name") == "Slow");
    CHECK(text(module.get("forward"), "schema") == "forward(Tensor input) -> Tensor");
    CHECK(list.manager->list().size() == 1);
  }

  TEST_CASE("a schema that cannot be parsed is declared with its fault") {
    Listed list({});
    const Json declared = list("declarations", fixture("bad_types/bad_schema"));
    REQUIRE(declared->get("ops").size() == 2);
    const auto ops = declared->get("ops").children();
    const bool first = ops[0].find("fault") != nullptr;
    CHECK(ops[first ? 1 : 0].find("fault") == nullptr);
    const tenon_json& op = ops[first ? 0 : 1];
    CHECK(op.find("parameters") == nullptr);
    CHECK(contains(text(op, "fault"), "Tensr"));
  }

  TEST_CASE("two plugins are compared by id or file, old and new") {
    Listed list({"plain"});
    const std::string pair = R"(["plain", ")" + fixture("slow") + R"("])";
    const Json compared = list("compatibility", pair);
    CHECK(text(compared->get("old"), "id") == "plain");
    CHECK(text(compared->get("new"), "id") == "slow");
    CHECK(compared->get("breaks").as_bool());
    const Json same = list("compatibility", R"(["plain", "plain"])");
    CHECK_FALSE(same->get("breaks").as_bool());
    CHECK(same->get("changes").size() == 0);
    CHECK(contains(list.refused("compatibility", R"(["plain"])"), "the old plugin and the new"));
  }

  TEST_CASE("modules are listed with their signature, and one in full") {
    Listed list;
    CHECK(texts(*list("modules"), "name") == Texts{"Slow"});
    const Json module = list("module", "Slow");
    CHECK(text(*module, "signature") == "(size)");
    CHECK(texts(module->get("providers"), "plugin") == Texts{"slow"});
    CHECK(contains(list.refused("module", "slow"), "did you mean 'Slow'?"));
  }

  TEST_CASE("ops that types may override are grouped by namespace, the others have a reason") {
    Listed list({"plain", "slow", "ranked/ranked_small"});
    const auto overridable = list("overridable");
    CHECK(texts(*overridable, "namespace").front() == "plain");
    CHECK(list("overridable", "slow")->at(0)->get("ops").size() == 2);
    CHECK(contains(list.refused("overridable", "slwo"), "did you mean 'slow'?"));
    const std::vector<std::string> names = overridable_ops(list.runtime());
    size_t listed = 0;
    for (const tenon_json& group : overridable->children())
      listed += static_cast<size_t>(group.get("ops").size());
    CHECK(names.size() == listed);
    for (const tenon_json& op : list("ignored")->children()) {
      CHECK(std::ranges::find(names, text(op, "name")) == names.end());
      CHECK_FALSE(text(op, "reason").empty());
    }
    CHECK(names.size() + static_cast<size_t>(list("ignored")->size()) ==
          static_cast<size_t>(list("ops")->size()));
  }

  TEST_CASE("the runtime says its versions and the folders of its manager") {
    Listed list({});
    const Json document = list("runtime");
    CHECK(document->get("abi").size() == 2);
    CHECK(texts(document->get("folders"), "path") == Texts{list.folder.path()});
  }

  TEST_CASE("memory that is in use is listed in bytes") {
    Listed list({});
    const Json document = list("memory");
    CHECK(document->get("small_in_use").as_int() >= 0);
    CHECK(document->get("large_kept").as_int() >= 0);
  }

  TEST_CASE("what is not a listing is refused with those that there are") {
    Listed list({});
    const std::string message = list.refused("opps");
    CHECK(contains(message, "unknown listing 'opps'"));
    CHECK(contains(message, "overridable"));
  }
}
