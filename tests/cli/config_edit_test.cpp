// Preferences in the text of a config, and what a diff says of a change.
#include "tools/cli/tune/config_edit.hpp"

#include <filesystem>
#include <random>

#include <doctest/doctest.h>

#include <tenon/config/config.hpp>
#include <tenon/json.hpp>
#include <tenon/runtime.hpp>

#include "program.hpp"

using cli::unified_diff;
using cli::with_preferences;

namespace {

const std::string kRule = R"({"plugin": "blas", "when": {"input": "[4]"}})";

// The config as it is read.
tenon::Json read(const Workspace& folder, const std::string& text) {
  folder.write("c.json", text);
  return tenon::config::read(folder.path("c.json").string());
}

std::string text_of(const tenon::Json& node) { return node.defined() ? node.dump() : ""; }

}  // namespace

TEST_SUITE("cli/config_edit") {
  TEST_CASE("what is not there is made, in the indentation of the config") {
    CHECK(
        with_preferences("{\n    \"seed\": 1\n}\n", {{"mm", {kRule, "\"dnnl\""}}}) ==
        "{\n    \"ops\": {\n        \"prefer\": {\n            \"mm\": [\n                " +
            kRule +
            ",\n                \"dnnl\"\n            ]\n        }\n    },\n    \"seed\": 1\n}\n");
    CHECK(with_preferences("{}", {{"mm", {"\"dnnl\""}}}) ==
          "{\n  \"ops\": {\n    \"prefer\": {\n      \"mm\": [\n        \"dnnl\"\n      ]\n    }\n "
          " }\n}");
  }

  TEST_CASE("a new preference comes before those that are there, and comments stay") {
    CHECK(with_preferences("{ // c\n  \"ops\": {\n    \"prefer\": { // which\n      \"m*\": \"x\", "
                           "// all\n    }\n  }\n}\n",
                           {{"mm", {"\"a\""}}, {"bmm", {"\"b\""}}}) ==
          "{ // c\n  \"ops\": {\n    \"prefer\": { // which\n"
          "      \"mm\": [\n        \"a\"\n      ],\n      \"bmm\": [\n        \"b\"\n      ],\n"
          "      \"m*\": \"x\", // all\n    }\n  }\n}\n");
  }

  TEST_CASE("a preference is replaced where it is, and goes with its line when nothing is left") {
    const std::string config =
        "{\n  \"ops\": {\"prefer\": {\n    \"add\": \"math\",\n    \"mm\": [\"x\"], // m\n    "
        "\"mv\": \"y\"\n  }}\n}\n";
    CHECK(with_preferences(config, {{"mm", {"\"b\""}}}) ==
          "{\n  \"ops\": {\"prefer\": {\n    \"add\": \"math\",\n    \"mm\": [\n      \"b\"\n    "
          "], // m\n    \"mv\": \"y\"\n  "
          "}}\n}\n");
    CHECK(with_preferences(config, {{"mv", {}}}) ==
          "{\n  \"ops\": {\"prefer\": {\n    \"add\": \"math\",\n    \"mm\": [\"x\"] // m\n  "
          "}}\n}\n");
    CHECK(with_preferences(config, {{"add", {}}}) ==
          "{\n  \"ops\": {\"prefer\": {\n    \"mm\": [\"x\"], // m\n    \"mv\": \"y\"\n  }}\n}\n");
    CHECK(with_preferences(config, {{"none", {}}}) == config);
  }

  TEST_CASE("any config has the preferences afterwards, and all else as before") {
    const Workspace folder;
    std::mt19937 random(11);
    const auto pick = [&](std::vector<std::string> texts) {
      return texts[random() % texts.size()];
    };
    const auto space = [&] {
      return pick(
          {"", " ", "\n", "\n  ", " // } \" {\n", "/* ], \"ops\": { */", "\t\n", " \r\n  "});
    };
    for (int round = 0; round < 300; ++round) {
      std::vector<std::string> present;
      const auto object = [&](const std::vector<std::string>& members) {
        std::string text = "{" + space();
        for (size_t i = 0; i < members.size(); ++i)
          text += members[i] + space() + (i + 1 < members.size() || random() % 3 == 0 ? "," : "") +
                  space();
        return text + "}";
      };
      std::vector<std::string> prefer, ops, root;
      for (const char* name : {"add", "mm", "nn.*"}) {
        if (random() % 2 == 0) continue;
        prefer.push_back("\"" + std::string(name) + "\"" + space() + ":" + space() +
                         pick({"\"x\"", "[\"x\"]", "[" + kRule + ", \"y\"]"}));
        present.emplace_back(name);
      }
      if (random() % 2 == 0) ops.emplace_back("\"duplicates\": \"first\"");
      if (!prefer.empty() || random() % 2 == 0)
        ops.push_back("\"prefer\":" + space() + object(prefer));
      if (random() % 2 == 0) ops.emplace_back("\"disable\": [\"exp\"]");
      root.emplace_back("\"schema_version\"" + space() + ": 1");
      if (!prefer.empty() || random() % 2 == 0)
        root.push_back("\"ops\"" + space() + ":" + object(ops));
      if (random() % 2 == 0) root.emplace_back("\"seed\": 7");
      const std::string before = space() + object(root) + space();
      CAPTURE(before);
      const tenon::Json old_config = read(folder, before);
      const bool gone = random() % 4 == 0;
      const std::vector<std::string> entries =
          gone ? std::vector<std::string>() : std::vector<std::string>{kRule, "\"z\""};
      const std::string after = with_preferences(before, {{"mm", entries}});
      CAPTURE(after);
      const tenon::Json config = read(folder, after);
      const tenon::Json mm = config["ops"]["prefer"]["mm"];
      if (gone) {
        CHECK_FALSE(mm.defined());
      } else {
        CHECK(mm.dump() == R"([{"plugin":"blas","when":{"input":"[4]"}},{"plugin":"z"}])");
      }
      for (const char* name : {"add", "nn.*"})
        CHECK(text_of(config["ops"]["prefer"][name]) == text_of(old_config["ops"]["prefer"][name]));
      CHECK(text_of(config["seed"]) == text_of(old_config["seed"]));
      CHECK(text_of(config["ops"]["disable"]) == text_of(old_config["ops"]["disable"]));
      CHECK(text_of(config["ops"]["duplicates"]) == text_of(old_config["ops"]["duplicates"]));
    }
  }

  TEST_CASE("a diff has three lines around what changes") {
    CHECK(unified_diff("a\n", "a\n", "c").empty());
    CHECK(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\ny\n6\n7\n8\n9\n", "c.json") ==
          "--- c.json\n+++ c.json\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+x\n+y\n 6\n 7\n 8\n");
    CHECK(unified_diff("a", "a\nb", "c") ==
          "--- c\n+++ c\n@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline "
          "at end of "
          "file\n");
  }
}
