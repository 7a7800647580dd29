// Sections as a JSON Schema, and the schema that editors read.
#include "support.hpp"

using tenon::Json;
namespace config = tenon::config;

namespace {

std::string schema_refusal(const std::string& sections) {
  return refusal(TENON_ERROR_VALUE,
                 [&] { parsed(R"({"schema_version": 1})", Json::parse(sections)); });
}

// Without the short form.
Json object_of(const Json& definition) {
  return definition["anyOf"].defined() ? definition["anyOf"][1] : definition;
}

}  // namespace

TEST_SUITE("config schema") {
  TEST_CASE("the schema has the keys of Tenon, and those of sections") {
    const Json own = config::schema();
    CHECK(own["properties"]["seed"]["default"].integer() == 0);
    CHECK(own["definitions"]["plugin"]["anyOf"][0]["type"].text() == "string");
    CHECK(own["definitions"]["disable"]["anyOf"][0]["description"].text() ==
          "short for {\"op\": ...}");
    CHECK(own["additionalProperties"].as_bool());
    const Json sections = Json::parse(R"({"properties": {"server": {"$ref": "#/definitions/server",
      "description": "where it listens"}}, "definitions": {"server": {"properties": {
      "port": {"type": "integer", "minimum": 1, "default": 80},
      "log": {"type": "string", "format": "output-path"}}, "additionalProperties": false}}})");
    const Json schema = config::schema(sections);
    CHECK_FALSE(schema["additionalProperties"].as_bool());
    const Json server = schema["definitions"]["server"]["properties"];
    CHECK(server["port"].dump() == R"({"type":"integer","minimum":1,"default":80})");
    CHECK(server["log"].dump() == R"({"type":"string","minLength":1})");
    CHECK(schema["properties"]["server"]["allOf"][0]["$ref"].text() == "#/definitions/server");
  }

  TEST_CASE("every key of Tenon has a meaning, and every object an example") {
    const Json schema = config::schema();
    for (int64_t i = 0; i < schema["properties"].size(); ++i) {
      CAPTURE(schema["properties"].key(i));
      CHECK(contains(schema["examples"][0].dump(), '"' + schema["properties"].key(i) + "\":"));
    }
    REQUIRE(schema["definitions"].size() == 8);
    for (int64_t i = 0; i < schema["definitions"].size(); ++i) {
      const Json object = object_of(schema["definitions"][i]);
      CHECK_FALSE(object["description"].text().empty());
      CHECK(object["examples"].size() > 0);
      for (int64_t k = 0; k < object["properties"].size(); ++k) {
        CAPTURE(object["properties"].key(k));
        CHECK_FALSE(object["properties"][k]["description"].text().empty());
      }
    }
  }

  TEST_CASE("sections may refer to themselves, and a bare text stands for a member") {
    const Json sections = Json::parse(R"({"properties": {"tree": {"$ref": "#/definitions/tree"}},
      "required": ["tree"],
      "definitions": {"tree": {"shorthand": "name", "properties": {
        "name": {"type": "string"}, "size": {"type": "integer", "maximum": 5, "default": 2},
        "parts": {"type": "array", "items": {"$ref": "#/definitions/tree"}}}}}})");
    const Json read =
        parsed(R"({"schema_version": 1, "tree": {"parts": ["a", {"parts": ["b"]}]}})", sections);
    CHECK(
        read["tree"].dump() ==
        R"({"size":2,"parts":[{"name":"a","size":2},{"size":2,"parts":[{"name":"b","size":2}]}]})");
    CHECK(contains(fault(R"({"schema_version": 1})", sections), "/tree: missing"));
    CHECK(contains(fault(R"({"schema_version": 1, "tree": {"parts": [{"size": 6}]}})", sections),
                   "/tree/parts/0/size: found 6, expected an integer of at most 5"));
  }

  TEST_CASE("what is not of the subset names its place") {
    const std::string start = "the schema of config sections: /properties/a: ";
    CHECK(schema_refusal(R"({"properties": {"a": {"type": "date"}}})") ==
          start + "unknown type 'date'");
    CHECK(schema_refusal(R"({"properties": {"a": {"type": "string", "format": "uri"}}})") ==
          start + "unknown format 'uri'");
    CHECK(schema_refusal(R"({"properties": {"a": {"$ref": "#/definitions/b"}}})") ==
          start + "unknown definition 'b'");
    CHECK(schema_refusal(R"({"properties": {"a": {"$ref": "b"}}})") ==
          start + "a $ref must be to #/definitions/NAME");
    CHECK(schema_refusal(R"({"properties": {"seed": {"type": "integer"}}})") ==
          "duplicate key 'seed'");
  }
}
