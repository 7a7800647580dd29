// The schema of configs for editors.
#include <doctest/doctest.h>

#include "core/base/json.hpp"
#include "core/plugin/config_table.hpp"

using namespace tenon::core;

TEST_SUITE("config schema") {
  TEST_CASE("the schema has the host's keys, and those of sections") {
    const Json own = config_schema(nullptr);
    CHECK(json_at_pointer(*own, "/properties/seed/default")->as_int() == 0);
    CHECK(json_at_pointer(*own, "/definitions/plugin/anyOf/0/type")->as_string() == "string");
    CHECK(json_at_pointer(*own, "/additionalProperties")->as_bool());
    const Json sections = parse_json(R"({"properties": {"server": {"$ref": "#/definitions/server",
      "description": "where it listens"}}, "definitions": {"server": {"properties": {
      "port": {"type": "integer", "minimum": 1, "default": 80}}, "additionalProperties": false}}})");
    const Json schema = config_schema(sections.get());
    CHECK_FALSE(json_at_pointer(*schema, "/additionalProperties")->as_bool());
    CHECK(dump(*json_at_pointer(*schema, "/definitions/server/properties/port")) ==
          R"({"type":"integer","minimum":1,"description":"","default":80})");
    CHECK(json_at_pointer(*schema, "/properties/server/allOf/0/$ref")->as_string() ==
          "#/definitions/server");
  }
}
