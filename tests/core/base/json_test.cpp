// Trees: kinds, lookups, places, and what keeps a document alive.
#include "core/base/json.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

TEST_SUITE("tree") {
  TEST_CASE("every kind parses and reads back") {
    const Json document = parse_json(
        R"({"n": null, "b": true, "i": -7, "d": 0.5, "s": "t\u00e4\n", "a": [1, [], {}]})");
    CHECK(document->is_object());
    CHECK(document->size() == 6);
    CHECK(document->find("n")->is_null());
    CHECK(document->find("b")->as_bool());
    CHECK(document->find("i")->as_int() == -7);
    CHECK(document->find("i")->as_double() == -7.0);
    CHECK(document->find("d")->as_double() == 0.5);
    CHECK(document->find("s")->as_string() == "t\xC3\xA4\n");
    CHECK(document->find("a")->size() == 3);
    CHECK(document->find("a")->at(1)->is_array());
    CHECK(document->find("a")->at(3) == nullptr);
    CHECK(document->find("a")->at(-1) == nullptr);
    CHECK(document->find("x") == nullptr);
    CHECK(document->at(0)->key() == "n");
    CHECK(document->at(5)->parent() == document.get());
    CHECK(document->parent() == nullptr);
    CHECK(dump(*document) == R"({"n":null,"b":true,"i":-7,"d":0.5,"s":"tä\n","a":[1,[],{}]})");
    CHECK(dump(*parse_json(" 3 ")) == "3");
  }

  TEST_CASE("values cross the boundary with their tags") {
    const Json document = parse_json(R"([null, true, 3, 2.5, "text", [1]])");
    CHECK(document->at(0)->value().tag == TENON_VALUE_NONE);
    CHECK(document->at(1)->value().as.integer == 1);
    CHECK(document->at(2)->value().tag == TENON_VALUE_INT);
    CHECK(document->at(3)->value().as.number == 2.5);
    const tenon_value text = document->at(4)->value();
    CHECK(text.tag == TENON_VALUE_STRING);
    CHECK(std::string_view(text.as.string, text.length) == "text");
    CHECK(document->at(5)->value().as.json == document->at(5));
  }

  TEST_CASE("pointers lead to nodes and back") {
    const Json document = parse_json(R"({"plugins": [{"name": "math"}, {"a/b~c": 1}], "": 2})");
    CHECK(json_at_pointer(*document, "") == document.get());
    const tenon_json* name = json_at_pointer(*document, "/plugins/0/name");
    REQUIRE(name != nullptr);
    CHECK(name->as_string() == "math");
    CHECK(pointer_of(*name) == "/plugins/0/name");
    const tenon_json* escaped = json_at_pointer(*document, "/plugins/1/a~1b~0c");
    REQUIRE(escaped != nullptr);
    CHECK(pointer_of(*escaped) == "/plugins/1/a~1b~0c");
    CHECK(json_at_pointer(*document, "/")->as_int() == 2);
    for (const char* wrong :
         {"plugins", "/plugins/2", "/plugins/00", "/plugins/-", "/plugins/0/name/x", "/x"}) {
      CHECK(json_at_pointer(*document, wrong) == nullptr);
    }
  }

  TEST_CASE("a wrong kind is named with its place") {
    JsonOptions options;
    options.source = "f.json";
    const Json document = parse_json("{\"a\": [\"x\"]}", options);
    CHECK_THROWS_WITH(static_cast<void>(document->find("a")->at(0)->as_int()),
                      "f.json:1:8: /a/0: found a string, expected an integer");
    CHECK_THROWS_WITH(static_cast<void>(document->get("b")),
                      "f.json:1:1: /b: the member is missing");
  }

  TEST_CASE("any node keeps its document alive, on any thread") {
    Json leaf;
    {
      const Json document = parse_json(R"({"a": ["text"]})");
      leaf = Json(document->find("a")->at(0));
    }
    CHECK(leaf->as_string() == "text");
    CHECK(pointer_of(*leaf) == "/a/0");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([copy = leaf] {
        for (int k = 0; k < 1000; ++k) Json again = copy;
      });
    }
    for (std::thread& thread : threads) thread.join();
    tenon_json* given = Json(leaf).give();
    given->release();
    CHECK(leaf->as_string() == "text");
  }

  TEST_CASE("the place of a node is what is known of it") {
    JsonOptions options;
    options.source = "c.json";
    const Json document = parse_json("{\n \"a\": [1, {\"b/c\": 2}]}", options);
    CHECK(place_of(*document) == "c.json:1:1");
    CHECK(place_of(*json_at_pointer(*document, "/a/1/b~1c")) == "c.json:2:19: /a/1/b~1c");
    const Json made =
        JsonBuilder().begin_array().value(nullptr).value(nullptr).end_array().finish();
    CHECK(place_of(*made) == "");
    CHECK(place_of(*made->at(1)) == "/1");
  }
}
