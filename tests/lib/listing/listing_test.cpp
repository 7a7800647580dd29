// Listings of plugins, ops and modules.
#include <algorithm>
#include <set>

#include <tenon/listing/listing.hpp>

#include "tests/lib/listing/support.hpp"

namespace listing = tenon::listing;
using tenon::Json;
using Texts = std::vector<std::string>;

namespace {

void use_fixtures() {
  static const FixtureFolder folder({"plain", "slow", "needs_left", "needs_right", "bad_json",
                                     "ranked/ranked_small", "ranked/ranked_flat"});
}

}  // namespace

TEST_SUITE("listing") {
  TEST_CASE("ops are listed from facts, sorted, and nothing is loaded for it") {
    use_fixtures();
    CHECK(texts(listing::ops("slow"), "name") == Texts{"slow.first", "slow.second"});
    const Json plain = listing::ops("plain");
    REQUIRE(plain.size() == 1);
    CHECK(plain[0]["signature"].text() == "(input)");
    CHECK(plain[0]["provider"].text() == "plain");
    CHECK(listing::ops("none").size() == 0);
    const Texts names = texts(listing::ops(), "name");
    CHECK(std::is_sorted(names.begin(), names.end()));
    Texts once = names;
    once.erase(std::unique(once.begin(), once.end()), once.end());
    CHECK(listing::op_names() == once);
    CHECK(listing::op_names("plain") == Texts{"plain.add_one"});
    CHECK(named(listing::plugins(), "plain")["state"].text() == "indexed");
  }

  TEST_CASE(
      "one op is named in full or by its last part, and another name is refused with a guess") {
    use_fixtures();
    const Json op = listing::op("plain.add_one");
    CHECK(op["standing"].text() == "chosen");
    CHECK(op["overridable"].as_bool());
    REQUIRE(op["parameters"].size() == 1);
    CHECK(op["parameters"][0]["type"].text() == "Tensor");
    CHECK(listing::op("add_one")["name"].text() == "plain.add_one");
    CHECK(contains(message_of([] { listing::op("add_on"); }), "did you mean"));
    CHECK(message_of([] { listing::op("dd_one"); }).find("no op is named 'dd_one'") == 0);
    CHECK(listing::signature("add_one") == "(input)");
    CHECK(contains(message_of([] { listing::op("op"); }),
                   "may be 'needs_left.op' or 'needs_right.op'"));
  }

  TEST_CASE("an op of several providers is listed once for each, with their standing") {
    use_fixtures();
    Texts plugins;
    const Json ops = listing::ops("ranked");
    for (int64_t i = 0; i < ops.size(); ++i) {
      if (ops[i]["name"].text() == "ranked.who") plugins.push_back(ops[i]["provider"].text());
    }
    CHECK(plugins == Texts{"ranked_flat", "ranked_small"});
    const Json op = listing::op("ranked.who");
    CHECK(op["standing"].text() == "contested");
    CHECK(op["providers"].size() == 2);
    CHECK(tenon::provider_of("ranked.who").empty());
    CHECK(tenon::provider_of("plain.add_one") == "plain");
    CHECK(tenon::provider_of("add_one").empty());  // not a full name
  }

  TEST_CASE("plugins that are refused are listed as plugins, and their ops are not") {
    use_fixtures();
    const Json refused = [] {
      const Json plugins = listing::plugins();
      for (int64_t i = 0; i < plugins.size(); ++i) {
        if (contains(plugins[i]["path"].text(), "bad_json.so")) return plugins[i];
      }
      return Json();
    }();
    CHECK(refused["state"].text() == "failed");
    CHECK_FALSE(refused["reason"].text().empty());
    const Json plain = listing::plugin("plain");
    CHECK(plain["version"].text() == "1.2.0");
    CHECK(plain["ops"][0].text() == "plain.add_one(Tensor input) -> Tensor");
    CHECK(plain["unmap"]["possible"].defined());
    CHECK(plain["retired"].size() == 0);
    CHECK(contains(message_of([] { listing::plugin("plian"); }), "did you mean 'plain'?"));
  }

  TEST_CASE("declarations are those of a plugin, or of a file that is in no folder") {
    use_fixtures();
    CHECK(texts(listing::declarations("plain")["ops"], "schema") ==
          Texts{"plain.add_one(Tensor input) -> Tensor"});
    const Json other = listing::declarations(TENON_FIXTURES "/types/types.so");
    CHECK(other["id"].text() == "types");
    CHECK(other["path"].text() == TENON_FIXTURES "/types/types.so");
    CHECK(other["types"].size() > 0);
    const Json module = listing::declarations("slow")["modules"][0];
    CHECK(module["forward"]["schema"].text() == "forward(Tensor input) -> Tensor");
    CHECK(module["forward"]["parameters"][0]["kind"].text() == "Tensor");
  }

  TEST_CASE("a schema that cannot be parsed is declared with its fault") {
    const Json ops = listing::declarations(TENON_FIXTURES "/bad_types/bad_schema.so")["ops"];
    REQUIRE(ops.size() == 2);
    const bool first = ops[0]["fault"].defined();
    CHECK_FALSE(ops[first ? 1 : 0]["fault"].defined());
    const Json op = ops[first ? 0 : 1];
    CHECK_FALSE(op["parameters"].defined());
    CHECK(contains(op["fault"].text(), "Tensr"));
  }

  TEST_CASE("modules are listed with their signature, and one in full") {
    use_fixtures();
    CHECK(named(listing::modules(), "Slow")["signature"].text() == "(size)");
    const Json module = listing::module("Slow");
    CHECK(texts(module["providers"], "plugin") == Texts{"slow"});
    CHECK(module["providers"][0]["used"].as_bool());
    CHECK(contains(message_of([] { listing::module("Slo"); }), "did you mean 'Slow'?"));
  }

  TEST_CASE("each op can be overridden, or has a reason why not") {
    use_fixtures();
    CHECK(listing::overridable("slow")[0]["ops"].size() == 2);
    CHECK(contains(message_of([] { listing::overridable("slwo"); }), "did you mean 'slow'?"));
    std::set<std::string> names;
    const Json groups = listing::overridable();
    for (int64_t i = 0; i < groups.size(); ++i) {
      const std::string name_space = groups[i]["namespace"].text();
      for (int64_t k = 0; k < groups[i]["ops"].size(); ++k)
        names.insert((name_space.empty() ? "" : name_space + ".") + groups[i]["ops"][k].text());
    }
    const Json ignored = listing::ignored();
    for (int64_t i = 0; i < ignored.size(); ++i) {
      CHECK_FALSE(ignored[i]["reason"].text().empty());
      CHECK(names.insert(ignored[i]["name"].text()).second);
    }
    const Texts all = texts(listing::ops(), "name");
    CHECK(names == std::set<std::string>(all.begin(), all.end()));
  }

  TEST_CASE("the runtime has its version, its instructions and the folders that it searches") {
    use_fixtures();
    const Json runtime = listing::runtime();
    CHECK_FALSE(runtime["version"].text().empty());
    CHECK(runtime["abi"].size() == 2);
    CHECK_FALSE(runtime["isa"].text().empty());
    CHECK(runtime["threads"].integer() == tenon::thread_count());
    CHECK(runtime["folders"].size() > 0);
  }
}
