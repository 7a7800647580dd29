// tenon docs: the reference of configs has every key of the tables, and what is installed.
#include <doctest/doctest.h>

#include "program.hpp"

using tenon::Json;

namespace {

// The keys of an object of the JSON Schema, which may have a short form beside it.
Json object_of(const Json& definition) {
  return definition["anyOf"].defined() ? definition["anyOf"][1] : definition;
}

// The text below a heading, to the next one.
std::string chapter(const std::string& page, const std::string& name) {
  const size_t begin = page.find("\n## " + name + "\n");
  if (begin == std::string::npos) return "";
  return page.substr(begin, page.find("\n## ", begin + 1) - begin);
}

}  // namespace

TEST_SUITE("docs") {
  TEST_CASE("the page names every key of the schema, with its example") {
    const std::string page = run_program("docs").out;
    const Json schema = run_program("schema --open").json();
    CHECK(page.rfind("# Configs of Tenon\n", 0) == 0);
    int64_t keys = 0;
    const auto check = [&](const std::string& name, const Json& definition) {
      CAPTURE(name);
      const std::string text = chapter(page, name);
      const Json properties = object_of(definition)["properties"];
      CHECK(contains(text, object_of(definition)["description"].text().substr(0, 12)));
      for (int64_t i = 0; i < properties.size(); ++i) {
        const std::string key = properties.key(i);
        CAPTURE(key);
        const size_t row = text.find("\n| `" + key + "` | ");
        REQUIRE(row != std::string::npos);
        CHECK(contains(text.substr(row, text.find('\n', row + 1) - row), "`\"" + key + "\": "));
        ++keys;
      }
    };
    check("config", schema);
    for (int64_t i = 0; i < schema["definitions"].size(); ++i)
      check(schema["definitions"].key(i), schema["definitions"][i]);
    CHECK(keys > 80);
  }

  TEST_CASE("types, bounds and defaults are those of the schema") {
    const std::string page = run_program("docs").out;
    for (const char* row : {
             "| `threads` | integer, at least 1 and at most 1024 |  |",
             "| `test` | number, at least 0 and below 1 | `0.2` |",
             "| `epochs` | integer, at least 1 | required |",
             "| `goal` | `\"minimize\"`, `\"maximize\"` | required |",
             "| `layers` | list of [module](#module) |",
             "| `load` | `\"lazy\"`, `\"eager\"`, `\"never\"` | `\"lazy\"` |",
         }) {
      CAPTURE(row);
      CHECK(contains(page, row));
    }
    CHECK(contains(chapter(page, "optimizer"), "A text in its place is short for {\"type\": ...}"));
  }

  TEST_CASE("ops and modules that are installed have their keywords, a stranger's too") {
    const std::string page = run_program("--plugin-path " TENON_FIXTURES "/trainers docs").out;
    CHECK(contains(chapter(page, "optimizer"),
                   "| `adam`, `optim.adam_step_` | optim | `float learning_rate`, "));
    CHECK(contains(chapter(page, "optimizer"), "`trainers.lion_step_`"));
    CHECK(contains(chapter(page, "data"), "| `csv`, `data.csv` | data | `str path`, "));
    CHECK(contains(chapter(page, "module"), "| `Linear` | nn | `int in_features`"));
    for (const char* name : {"loss", "metric", "schedule", "sampler", "transform", "clip"})
      CHECK(contains(chapter(page, name), "\nInstalled:\n"));
  }

  TEST_CASE("JSON has the same, and a config adds its plugins") {
    const Workspace folder;
    folder.write("c.json",
                 R"({"schema_version": 1, "search_paths": [")" TENON_FIXTURES R"(/trainers"]})");
    const Json list = run_program_in(folder.path(), "docs c.json --json").json();
    bool lion = false;
    for (int64_t i = 0; i < list.size(); ++i) {
      if (list[i]["name"].text() == "split")
        CHECK(list[i]["keys"][0].dump() ==
              R"({"name":"test","type":"number, at least 0 and below 1","required":false,)"
              R"("default":0.2,"meaning":"part of the samples that is held back for testing",)"
              R"("example":0.2})");
      if (list[i]["name"].text() != "optimizer") continue;
      for (int64_t k = 0; k < list[i]["installed"].size(); ++k)
        lion = lion || list[i]["installed"][k]["names"][0].text() == "trainers.lion_step_";
    }
    CHECK(lion);
  }
}
