// Trees that code builds.
#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/base/json.hpp"

using namespace tenon::core;

TEST_SUITE("json_builder") {
  TEST_CASE("code builds trees and copies places") {
    JsonBuilder builder("c.json");
    builder.begin_object()
        .member("name", "add")
        .member("count", 2)
        .member("ok", true)
        .member("x", 1.0f);
    builder.key("types").begin_array().value("Tensor").value(nullptr).end_array();
    JsonOptions options;
    options.source = "c.json";
    const Json source = parse_json("{\"a\":\n   {\"b\": [1]}}", options);
    builder.on_key("copied", source->at(0)->key_place());
    builder.copy(*source->at(0)).end_object();
    const Json tree = builder.finish();
    CHECK(
        dump(*tree) ==
        R"({"name":"add","count":2,"ok":true,"x":1.0,"types":["Tensor",null],"copied":{"b":[1]}})");
    const tenon_json* one = json_at_pointer(*tree, "/copied/b/0");
    REQUIRE(one != nullptr);
    CHECK(place_text(one->source(), one->place()) == "c.json:2:11");
    CHECK(pointer_of(*one) == "/copied/b/0");
  }

  TEST_CASE("a misused builder says so and leaks nothing") {
    CHECK_THROWS_AS(JsonBuilder().finish(), Error);
    CHECK_THROWS_AS(JsonBuilder().begin_object().value(1), Error);
    CHECK_THROWS_AS(JsonBuilder().begin_array().key("a"), Error);
    CHECK_THROWS_AS(JsonBuilder().begin_array().end_object(), Error);
    CHECK_THROWS_AS(JsonBuilder().begin_object().key("a").end_object(), Error);
    CHECK_THROWS_AS(JsonBuilder().value(1).value(2), Error);
    CHECK_THROWS_WITH(
        JsonBuilder().begin_object().member("a", 1).member("a", 2).end_object().finish(),
        "duplicate key 'a'");
    JsonBuilder builder;
    builder.value(1);
    const Json tree = builder.finish();
    CHECK_THROWS_AS(builder.value(2), Error);
  }
}
