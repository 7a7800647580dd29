// The document of a policy: each key, its absence, texts and kinds that are refused, and any list of
// preferences against what was written.
#include <random>

#include "core/base/error.hpp"
#include "core/plugin/resolve/policy.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

PluginPolicy policy_in(std::string_view text) {
  JsonOptions options;
  options.source = "c.json";
  const Json config = parse_json(text, options);
  return policy_of(*config);
}

std::string refusal(std::string_view text, tenon_status kind) {
  try {
    policy_in(text);
  } catch (const Error& error) {
    CHECK(error.kind == kind);
    return error.message;
  }
  FAIL("nothing was refused");
  return {};
}

}  // namespace

TEST_SUITE("plugin/config_policy") {
  TEST_CASE("a config without keys refuses nothing, prefers nothing and loads from folders") {
    const PluginPolicy policy = policy_in("{}");
    CHECK(policy.source == "config 'c.json'");
    CHECK(policy.autoload);
    CHECK_FALSE(policy.strict);
    CHECK(policy.duplicates == DuplicateChoice::Error);
    CHECK(policy.plugins.empty());
    CHECK(policy.prefer.empty());
    CHECK(policy.disable.empty());
    CHECK(policy.types.empty());
    CHECK_FALSE(policy.needs_guard);
  }

  TEST_CASE("a config that comes from no file is called the config") {
    const Json config = parse_json("{}");
    CHECK(policy_of(*config).source == "the config");
  }

  TEST_CASE("switches and lists are taken as they are written") {
    const PluginPolicy policy =
        policy_in(R"({"strict": true, "autoload": false, "quarantine": false,
                 "search_paths": ["/b", "/a"], "trust": ["/t"]})");
    CHECK(policy.strict);
    CHECK_FALSE(policy.autoload);
    CHECK_FALSE(policy.needs_guard);
    CHECK(policy.search_paths == std::vector<std::string>{"/b", "/a"});
    CHECK(policy.trust == std::vector<std::string>{"/t"});
  }

  TEST_CASE("a plugin is meant by its path where it has one, and its name is the id it must have") {
    const PluginPolicy policy = policy_in(R"({"plugins": [{"name": "math"}, {"path": "/p/any.so"},
                             {"name": "cube@1.2.0", "path": "/p/cube.so"}]})");
    REQUIRE(policy.plugins.size() == 3);
    CHECK(policy.plugins[0].name == "math");
    CHECK(policy.plugins[0].id.empty());
    CHECK(policy.plugins[1].name == "/p/any.so");
    CHECK(policy.plugins[1].id.empty());
    CHECK(policy.plugins[2].name == "/p/cube.so");
    CHECK(policy.plugins[2].id == "cube@1.2.0");
  }

  TEST_CASE(
      "an entry says when the plugin is loaded, and what it must be; a bare one is required") {
    const PluginPolicy policy = policy_in(
        R"({"plugins": [{"name": "a"}, {"name": "b", "load": "eager"},
                        {"name": "c", "load": "never"},
                        {"name": "d", "load": "lazy", "version": ">=1", "sha256": "ab",
                         "require": false, "glue": true, "options": {"threads": 2}}]})");
    REQUIRE(policy.plugins.size() == 4);
    const LoadMode modes[] = {LoadMode::Lazy, LoadMode::Eager, LoadMode::Never, LoadMode::Lazy};
    for (size_t i = 0; i < 4; ++i) CHECK(policy.plugins[i].mode == modes[i]);
    const PluginPolicy::Plugin& bare = policy.plugins[0];
    CHECK(bare.required);
    CHECK_FALSE(bare.glue);
    CHECK_FALSE(bare.options);
    CHECK(bare.version.empty());
    const PluginPolicy::Plugin& full = policy.plugins[3];
    CHECK_FALSE(full.required);
    CHECK(full.glue);
    CHECK(full.version == ">=1");
    CHECK(full.guard->get("sha256").as_string() == "ab");
    CHECK_FALSE(bare.guard);
    CHECK(policy.needs_guard);
    REQUIRE(full.options);
    CHECK(full.options->get("threads").as_int() == 2);
  }

  TEST_CASE("the policy keeps the document, so that messages name the place after it is gone") {
    const PluginPolicy policy =
        policy_in("{\"plugins\": [{\"name\": \"a\"},\n  {\"name\": \"b\"}]}");
    REQUIRE(policy.plugins.size() == 2);
    CHECK(place_in(policy.plugins[1].written) == "c.json:2:3: /plugins/1");
    CHECK(place_in(policy.plugins[1].written, "/name") == "c.json:2:12: /plugins/1/name");
  }

  TEST_CASE("what is disabled names an op, and a plugin or none for every provider") {
    const PluginPolicy policy =
        policy_in(R"({"ops": {"disable": [{"op": "exp2"}, {"op": "nn.*", "plugin": "other"}]}})");
    REQUIRE(policy.disable.size() == 2);
    CHECK(policy.disable[0].pattern == "exp2");
    CHECK(policy.disable[0].plugin.empty());
    CHECK(policy.disable[1].pattern == "nn.*");
    CHECK(policy.disable[1].plugin == "other");
  }

  TEST_CASE("who wins among duplicates is the first, the last or an error") {
    CHECK(policy_in(R"({"ops": {"duplicates": "first"}})").duplicates == DuplicateChoice::First);
    CHECK(policy_in(R"({"ops": {"duplicates": "last"}})").duplicates == DuplicateChoice::Last);
    CHECK(policy_in(R"({"ops": {"duplicates": "error"}})").duplicates == DuplicateChoice::Error);
  }

  TEST_CASE(
      "preferences keep the order of the config, those for some calls with their conditions") {
    std::mt19937 random(7);
    for (int round = 0; round < 100; ++round) {
      // A pattern has one plugin for all calls, or a list of rules, some with conditions.
      struct Expected {
        std::string pattern, plugin, when;  // "input [4], other [*]"; "-": for all calls
      };
      std::vector<Expected> expected;
      std::string text;
      const size_t patterns = random() % 4;
      for (size_t p = 0; p < patterns; ++p) {
        const std::string pattern = "op" + std::to_string(p) + ".*";
        text += (text.empty() ? "\"" : ", \"") + pattern + "\": ";
        if (random() % 2 == 0) {
          const std::string plugin = "p" + std::to_string(random() % 3);
          text += "\"" + plugin + "\"";
          expected.push_back({pattern, plugin, "-"});
          continue;
        }
        text += "[";
        const size_t rules = random() % 3;
        for (size_t r = 0; r < rules; ++r) {
          const std::string plugin = "p" + std::to_string(random() % 3);
          text += std::string(r == 0 ? "" : ", ") + R"({"plugin": ")" + plugin + "\"";
          std::string when = "-";
          if (random() % 3 != 0) {
            when.clear();
            text += R"(, "when": {)";
            for (const char* parameter : {"input", "other"}) {
              if (random() % 2 == 0) continue;
              const std::string shape = "[" + std::to_string(random() % 9) + "]";
              text +=
                  std::string(when.empty() ? "\"" : ", \"") + parameter + "\": \"" + shape + "\"";
              when += std::string(when.empty() ? "" : ", ") + parameter + " " + shape;
            }
            text += "}";
          }
          text += "}";
          expected.push_back({pattern, plugin, when});
        }
        text += "]";
      }
      CAPTURE(text);
      const PluginPolicy policy = policy_in("{\"ops\": {\"prefer\": {" + text + "}}}");
      REQUIRE(policy.prefer.size() == expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        const PluginPolicy::Preference& found = policy.prefer[i];
        CHECK(found.pattern == expected[i].pattern);
        CHECK(found.plugin == expected[i].plugin);
        std::string when = found.when ? "" : "-";
        if (found.when) {
          for (const ShapeCondition& one : *found.when)
            when += (when.empty() ? "" : ", ") + one.parameter + " " + one.shape.text();
        }
        CHECK(when == expected[i].when);
      }
    }
  }

  TEST_CASE("a condition that is not a class of shapes is refused") {
    const std::string message =
        refusal(R"({"ops": {"prefer": {"mm": [{"plugin": "p", "when": {"input": "square"}}]}}})",
                TENON_ERROR_CONFIG);
    CHECK(contains(message,
                   "c.json:1:62: /ops/prefer/mm/0/when/input: 'square' is not a class of "
                   "shapes"));
  }

  TEST_CASE("a policy that a stranger wrote is refused at its first fault, by its place") {
    struct Row {
      const char* policy;
      const char* message;
    };
    const Row rows[] = {
        {"[]", "c.json:1:1: found an array, expected an object"},
        {R"({"plugin": []})",
         "c.json:1:12: /plugin: unknown key 'plugin', expected 'plugins', 'search_paths', 'ops', "
         "'types', 'strict', 'autoload', 'frozen', 'trust', 'keys', 'quarantine' or 'retry' (did "
         "you mean 'plugins'?)"},
        {R"({"plugins": {}})", "c.json:1:13: /plugins: found an object, expected an array"},
        {R"({"plugins": ["math"]})", "c.json:1:14: /plugins/0: found a string, expected an object"},
        {R"({"plugins": [{}]})",
         "c.json:1:14: /plugins/0: found neither 'name' nor 'path', expected one of them"},
        {R"({"plugins": [{"name": 3}]})",
         "c.json:1:23: /plugins/0/name: found an integer, expected a string"},
        {R"({"plugins": [{"name": "a", "load": "now"}]})",
         "c.json:1:36: /plugins/0/load: found the string 'now', expected 'lazy', 'eager' or "
         "'never'"},
        {R"({"plugins": [{"name": "a", "load": null}]})",
         "c.json:1:36: /plugins/0/load: found null, expected a string"},
        {R"({"plugins": [{"name": "a", "version": ">=x"}]})",
         "c.json:1:39: /plugins/0/version: '>=x' is not a version range; write it like '>=1.2, "
         "<2', "
         "'1.2' or '*'"},
        {R"({"plugins": [{"name": "a", "options": [1]}]})",
         "c.json:1:39: /plugins/0/options: found an array, expected an object"},
        {R"({"plugins": [{"name": "a", "require": 1}]})",
         "c.json:1:39: /plugins/0/require: found an integer, expected a boolean"},
        {R"({"plugins": [{"name": "a", "lod": "lazy"}]})",
         "c.json:1:35: /plugins/0/lod: unknown key 'lod', expected 'name', 'path', 'version', "
         "'options', 'sha256', 'load', 'require' or 'glue' (did you mean 'load'?)"},
        {R"({"search_paths": "/a"})",
         "c.json:1:18: /search_paths: found a string, expected an array"},
        {R"({"search_paths": [1.5]})",
         "c.json:1:19: /search_paths/0: found a number, expected a string"},
        {R"({"ops": {"prefer": ["add"]}})",
         "c.json:1:20: /ops/prefer: found an array, expected an object"},
        {R"({"ops": {"prefer": {"add": true}}})",
         "c.json:1:28: /ops/prefer/add: found a boolean, expected a string or an array"},
        {R"({"ops": {"prefer": {"add": ["math"]}}})",
         "c.json:1:29: /ops/prefer/add/0: found a string, expected an object"},
        {R"({"ops": {"disable": ["add"]}})",
         "c.json:1:22: /ops/disable/0: found a string, expected an object"},
        {R"({"ops": {"duplicates": "frist"}})",
         "c.json:1:24: /ops/duplicates: found the string 'frist', expected 'error', 'first' or "
         "'last' (did you mean 'first'?)"},
        {R"({"types": {"A": {"fallback": "decline", "cover": []}}})",
         "c.json:1:50: /types/A/cover: unknown key 'cover', expected 'fallback', 'fallback_ops' or "
         "'covers' (did you mean 'covers'?)"},
        {R"({"types": {"A": {"fallback_ops": []}}})",
         "c.json:1:34: /types/A/fallback_ops: found an array, expected an object"},
        {R"({"strict": "yes"})", "c.json:1:12: /strict: found a string, expected a boolean"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.policy);
      CHECK(refusal(row.policy, TENON_ERROR_CONFIG) == row.message);
    }
    const Json made = parse_json(R"({"strict": 1})");
    CHECK_THROWS_WITH(
        static_cast<void>(policy_of(*JsonBuilder().begin_array().end_array().finish())),
        "the policy: found an array, expected an object");
    CHECK_THROWS_WITH(static_cast<void>(policy_of(*made)),
                      "line 1, column 12: /strict: found an integer, expected a boolean");
  }

  TEST_CASE("a type has one of four fallbacks, inheriting where the config is silent") {
    const PluginPolicy policy = policy_in(
        R"({"types": {"A": {}, "B": {"fallback": "decline"}, "C": {"fallback": "to_tensor"},
                           "D": {"fallback": "unwrap_rewrap", "covers": ["add", "nn.*"]}}})");
    REQUIRE(policy.types.size() == 4);
    const uint32_t fallbacks[] = {TENON_FALLBACK_INHERIT, TENON_FALLBACK_DECLINE,
                                  TENON_FALLBACK_TO_TENSOR, TENON_FALLBACK_UNWRAP_REWRAP};
    for (size_t i = 0; i < 4; ++i) CHECK(policy.types[i].settings.fallback == fallbacks[i]);
    CHECK(policy.types[3].name == "D");
    CHECK(policy.types[0].settings.covers_op("mm"));
    CHECK(policy.types[3].settings.covers_op("nn.linear"));
    CHECK_FALSE(policy.types[3].settings.covers_op("mm"));
  }

  TEST_CASE("an empty list of ops that fall back allows none, a missing one allows all") {
    struct Row {
      const char* ops;
      bool add, mm;
    };
    const Row rows[] = {
        {"{}", true, true},
        {R"({"deny": ["mm"]})", true, false},
        {R"({"allow": ["mm"]})", false, true},
        {R"({"allow": ["*"], "deny": ["mm"]})", true, false},
        {R"({"allow": []})", false, false},
        {R"({"allow": [], "deny": ["mm"]})", false, false},
    };
    for (const Row& row : rows) {
      CAPTURE(row.ops);
      const PluginPolicy policy =
          policy_in(R"({"types": {"A": {"fallback_ops": )" + std::string(row.ops) + "}}}");
      REQUIRE(policy.types.size() == 1);
      CHECK(policy.types[0].settings.lets_fall_back("add") == row.add);
      CHECK(policy.types[0].settings.lets_fall_back("mm") == row.mm);
    }
  }

  TEST_CASE("a config that pins or restricts plugins needs a guard, which is given the document") {
    const auto needs = [](const std::string& text) { return policy_in(text).needs_guard; };
    CHECK(needs(R"({"keys": [{"key": "RWS6", "namespaces": ["math"]}]})"));
    CHECK(needs(R"({"frozen": "/p/tenon.lock"})"));
    CHECK(needs(R"({"plugins": [{"name": "a"}, {"name": "b", "sha256": "ab"}]})"));
    CHECK_FALSE(needs(R"({"keys": [], "quarantine": false, "retry": ["a"]})"));
    const Json guard = policy_in(R"({"retry": ["one", "two"]})").guard;
    REQUIRE(guard);
    CHECK(guard->get("retry").size() == 2);
  }
}
