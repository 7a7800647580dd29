// Trees as text.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/base/json.hpp"

using namespace tenon::core;

TEST_SUITE("json_writer") {
  TEST_CASE("indented text keeps short lists on one line") {
    const Json tree = parse_json(R"({"a":[1,2.0,"x"],"b":{},"c":[],"d":[{"e":null}]})");
    CHECK(dump(*tree, 2) ==
          "{\n  \"a\": [1, 2.0, \"x\"],\n  \"b\": {},\n  \"c\": [],\n  \"d\": [\n    {\n      "
          "\"e\": null\n    }\n  ]\n}");
    CHECK(dump(*parse_json(dump(*tree, 2))) == dump(*tree));
    const Json wide =
        parse_json("[\"" + std::string(60, 'x') + "\", \"" + std::string(60, 'y') + "\"]");
    CHECK(dump(*wide, 2) ==
          "[\n  \"" + std::string(60, 'x') + "\",\n  \"" + std::string(60, 'y') + "\"\n]");
  }

  TEST_CASE("what JSON cannot hold is written as null or the replacement character") {
    JsonBuilder builder;
    builder.begin_array().value(std::nan("")).value(std::numeric_limits<double>::infinity());
    builder
        .value(
            "a\xFF"
            "b\"\\\x01")
        .end_array();
    CHECK(dump(*builder.finish()) ==
          "[null,null,\"a\xEF\xBF\xBD"
          "b\\\"\\\\\\u0001\"]");
  }
}
