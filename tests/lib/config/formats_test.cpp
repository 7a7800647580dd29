// Texts with a grammar: the reader, the expressions of editors and the host's own reader agree.
#include <random>
#include <regex>

#include "support.hpp"

using tenon::Json;
namespace config = tenon::config;

namespace {

// A member of a config that holds a text of the format; where its expression is in the schema.
struct Place {
  const char* name;
  const char* before;
  const char* after;
  std::string expression;
};

std::string quoted(const std::string& word) { return tenon::JsonArray().add(word).json().dump(); }

bool is_taken(const Place& place, const std::string& word) {
  const std::string text = quoted(word);
  try {
    parsed(R"({"schema_version": 1, )" + std::string(place.before) +
           text.substr(1, text.size() - 2) + place.after + "}");
    return true;
  } catch (const tenon::ConfigError&) {
    return false;
  }
}

}  // namespace

TEST_SUITE("config formats") {
  TEST_CASE("code and expression accept the same words") {
    const Json schema = config::schema();
    const auto definition = [&](const char* name) {
      const Json found = schema["definitions"][name];
      return (found["anyOf"].defined() ? found["anyOf"][1] : found)["properties"];
    };
    const Place places[] = {
        {"plugin-id", R"("retry": [)", "]",
         schema["properties"]["retry"]["items"]["pattern"].text()},
        {"name", R"("types": {)", ": {}}",
         schema["properties"]["types"]["propertyNames"]["pattern"].text()},
        {"pattern", R"("types": {"A": {"covers": [)", "]}}",
         definition("type")["covers"]["items"]["pattern"].text()},
        {"sha256", R"("plugins": [{"name": "a", "sha256": )", "}]",
         definition("plugin")["sha256"]["pattern"].text()},
        {"namespace",
         R"("keys": [{"key": "RWSZLSa+OfoLl3ptRuAod4HRG0HjTRJ7r+rGkBNGRpYpE7CONpusoHAs",
                     "namespaces": [)",
         "]}]", definition("key")["namespaces"]["items"]["pattern"].text()}};
    const std::string letters = "aZ09_..**-[], f@+\n";
    std::mt19937 random(20240901);
    for (const Place& place : places) {
      CAPTURE(place.name);
      const std::regex expression(place.expression);
      const bool hash = place.name == std::string("sha256");
      int accepted = 0;
      for (int round = 0; round < 2000; ++round) {
        std::string word;
        const size_t length = hash ? 63 + random() % 3 : random() % 8;
        while (word.size() < length)
          word += hash && random() % 200 != 0 ? "09afAF"[random() % 6]
                                              : letters[random() % letters.size()];
        CAPTURE(word);
        const bool taken = is_taken(place, word);
        accepted += taken ? 1 : 0;
        if (taken != std::regex_match(word, expression)) FAIL("they disagree");
      }
      CHECK(accepted > 20);
    }
  }

  TEST_CASE("the host takes the versions and classes of shapes that the reader takes") {
    struct Row {
      const char* word;
      bool taken;
    };
    const Row versions[] = {{"1", true},
                            {"1.2", true},
                            {"1.2.3", true},
                            {"1.2.3.", true},
                            {"1.2.3.4", false},
                            {"1.", false},
                            {".1", false},
                            {"*", true},
                            {" * ", true},
                            {"", false},
                            {"x", false},
                            {">=1.2, <2", true},
                            {">= 1 ,< 2", true},
                            {">=", false},
                            {"=>1", false},
                            {"^0.1", true},
                            {"=1.0.0", true},
                            {"~1", false},
                            {"1,", false},
                            {",1", false},
                            {"1.2.3-rc.1", true},
                            {"1.2-rc", false},
                            {"1.2.3-", false},
                            {"1.2.3-a_b", false},
                            {"1.2.3+b", true},
                            {"1.2.3+", false},
                            {"1+b", true},
                            {"1.2.3-a+b", true},
                            {"-1", false},
                            {"1.2.3-rc,2", true},
                            {"18446744073709551616", false}};
    for (const Row& row : versions) {
      CAPTURE(row.word);
      const Place place{
          "", R"("plugins": [{"name": "no_such_plugin", "require": false, "version": )", "}]", ""};
      CHECK(is_taken(place, row.word) == row.taken);
      if (*row.word == '\0') continue;  // any version, for the host
      const std::string document =
          R"({"plugins": [{"name": "no_such_plugin", "require": false, "version": )" +
          quoted(row.word).substr(1, quoted(row.word).size() - 2) + "}]}";
      CHECK((refusal(TENON_ERROR_CONFIG, [&] { tenon::apply_policy(Json::parse(document)); }) ==
             "no error") == row.taken);
    }
    const Row shapes[] = {{"[]", true},
                          {"f32[]", true},
                          {"[ ]", true},
                          {"f32[1]", true},
                          {"float32[1]", true},
                          {"f31[1]", false},
                          {"[1", false},
                          {"1]", false},
                          {"[*]", true},
                          {"[..]", false},
                          {"[1..]", true},
                          {"[..1]", true},
                          {"[1..2]", true},
                          {"[2..1]", false},
                          {"[-1]", false},
                          {"[1,]", false},
                          {"[1, 2 .. 3]", true},
                          {"[a]", false},
                          {"[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", true},
                          {"[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", false},
                          {"[9223372036854775808]", false}};
    for (const Row& row : shapes) {
      CAPTURE(row.word);
      const Place place{"", R"("ops": {"prefer": {"no.op": [{"plugin": "none", "when": {"x": )",
                        "}}]}}", ""};
      CHECK(is_taken(place, row.word) == row.taken);
      const std::string document =
          R"({"ops": {"prefer": {"no.op": [{"plugin": "none", "when": {"x": )" +
          quoted(row.word).substr(1, quoted(row.word).size() - 2) + "}}]}}}";
      std::string kind = "no error";
      try {
        tenon::apply_policy(Json::parse(document));
      } catch (const tenon::Error& error) {
        kind = error.kind_name();
      }
      CHECK(kind == (row.taken ? "PluginError" : "ConfigError"));
    }
  }
}
