// Sections of a config from a JSON Schema.
#include "core/plugin/config_sections.hpp"

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

namespace {

std::string refusal(std::string_view schema) {
  try {
    const ConfigSections sections(parse_json(schema).get());
  } catch (const Error& error) {
    return error.message;
  }
  return "no error";
}

}  // namespace

TEST_SUITE("config sections") {
  TEST_CASE("sections come behind the host's keys, and may refer to themselves") {
    const ConfigSections sections(parse_json(R"({"properties": {
      "tree": {"$ref": "#/definitions/tree", "description": "a tree"}},
      "required": ["tree"],
      "definitions": {"tree": {"shorthand": "name", "properties": {
        "name": {"type": "string"}, "size": {"type": "integer", "maximum": 5, "default": 2},
        "parts": {"type": "array", "items": {"$ref": "#/definitions/tree"}}}}}})")
                                      .get());
    const ConfigObject& table = sections.table();
    REQUIRE(table.keys.size() == config_table().keys.size() + 1);
    const ConfigKey& tree = table.keys.back();
    CHECK(tree.name == "tree");
    CHECK(tree.required);
    const ConfigObject* object = tree.schemas[0].object;
    REQUIRE(object != nullptr);
    CHECK(object->open);
    CHECK(object->shorthand == "name");
    CHECK(object->keys[1].fallback == "2");
    CHECK(object->keys[1].schemas[0].high == 5);
    CHECK(object->keys[2].schemas[0].elements[0].object == object);
  }

  TEST_CASE("without a schema the top is open") {
    CHECK(ConfigSections(nullptr).table().open);
    CHECK(ConfigSections(nullptr).table().keys.size() == config_table().keys.size());
  }

  TEST_CASE("what is not of the subset names its place") {
    CHECK(refusal(R"({"properties": {"a": {"type": "date"}}})") ==
          "the schema of config sections: /properties/a: unknown type 'date'");
    CHECK(refusal(R"({"properties": {"a": {"type": "string", "format": "uri"}}})") ==
          "the schema of config sections: /properties/a: unknown format 'uri'");
    CHECK(refusal(R"({"properties": {"a": {"$ref": "#/definitions/b"}}})") ==
          "the schema of config sections: /properties/a: unknown definition 'b'");
    CHECK(refusal(R"({"properties": {"a": {"$ref": "b"}}})") ==
          "the schema of config sections: /properties/a: a $ref must be to #/definitions/NAME");
  }
}
