// Patterns of rules, and rules from the environment.
#include "core/plugin/resolve/policy.hpp"

#include <doctest/doctest.h>

#include "core/plugin/facts/paths.hpp"

using namespace tenon::core;

TEST_SUITE("plugin policy") {
  TEST_CASE("patterns with brackets are about overrides alone, others about both") {
    const auto match = [](const char* pattern, const PreferenceTarget& target) {
      return matches({pattern, "p"}, target);
    };
    const PreferenceTarget op("nn.linear"), entry("add", "add[A, B]");
    CHECK(match("nn.*", op));
    CHECK(match("*", op));
    CHECK_FALSE(match("nn", op));
    CHECK_FALSE(match("*[A]", op));
    CHECK(match("add", entry));
    CHECK(match("add[A, B]", entry));
    CHECK(match("*[A, *]", entry));
    CHECK_FALSE(match("add[B, A]", entry));  // made canonical before
    CHECK_FALSE(match("mul[A, B]", entry));
  }

  TEST_CASE("types of an override's pattern are sorted and spaced") {
    CHECK(canonical_pattern("add[B,A]") == "add[A, B]");
    CHECK(canonical_pattern("add[A, B]") == "add[A, B]");
    CHECK(canonical_pattern("nn.*") == "nn.*");
    CHECK(canonical_pattern("add[B") == "add[B");
    CHECK(canonical_pattern(canonical_pattern("*[C, A ,B]")) == canonical_pattern("*[B,C,A]"));
  }

  TEST_CASE("preferences are entries between commas, those inside brackets separate types") {
    std::vector<std::string> faults;
    const auto rules = parse_preferences("add=math, add[B,A]=glue,, nn.* = nn ,", faults);
    CHECK(faults.empty());
    REQUIRE(rules.size() == 3);
    CHECK(rules[0].pattern == "add");
    CHECK(rules[0].plugin == "math");
    CHECK(rules[1].pattern == "add[A, B]");
    CHECK(rules[1].plugin == "glue");
    CHECK(rules[2].pattern == "nn.*");
    CHECK(rules[2].plugin == "nn");
  }

  TEST_CASE("a malformed preference is reported, the others count") {
    std::vector<std::string> faults;
    const auto rules = parse_preferences("add,=math,mul=,sub=math", faults);
    REQUIRE(rules.size() == 1);
    CHECK(rules[0].pattern == "sub");
    CHECK(faults ==
          std::vector<std::string>{"'add' is not a preference, expected PATTERN=PLUGIN",
                                   "'=math' is not a preference, expected PATTERN=PLUGIN",
                                   "'mul=' is not a preference, expected PATTERN=PLUGIN"});
  }

  TEST_CASE("a version belongs to the plugin of a preference, and is refused with the op") {
    std::vector<std::string> faults;
    const auto rules = parse_preferences("cube.solve=cube@1.2.0,cube.solve@1.2.0=cube", faults);
    REQUIRE(rules.size() == 1);
    CHECK(rules[0].plugin == "cube@1.2.0");
    CHECK(faults == std::vector<std::string>{
                        "'cube.solve@1.2.0=cube' is not a preference: a version belongs to the "
                        "plugin, as in 'cube.solve=cube@1.2.0'"});
  }

  TEST_CASE("a plugin is named by its file with a slash or the file's ending") {
    for (const char* path : {"./math", "a/b", "math.so", "/x/y.so"}) CHECK(is_plugin_path(path));
    for (const char* id : {"math", "so", "math.so.1"}) CHECK_FALSE(is_plugin_path(id));
  }

  TEST_CASE("the place of a rule is that of its member, as far as the config has one") {
    CHECK(place_in(Json(), "/plugins") == "");
    const Json written = parse_json("{\n  \"a\": {\"b\": 1}}");
    CHECK(place_in(written, "/a/b") != place_in(written));
    CHECK(place_in(written, "/a/none") == place_in(written));
  }
}
