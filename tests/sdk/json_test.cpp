// Documents: parsing, asking emptily, printing.
#include <limits>

#include <tenon/text.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

TEST_SUITE("sdk/json") {
  TEST_CASE("nodes keep the whole document alive and answer by kind") {
    Json name;
    {
      const Json document = Json::parse(
          R"({"name": "digits", "sizes": [1, 2.5, true, null], "nested": {"deep": 7}})");
      CHECK(document.is_object());
      CHECK(document.size() == 3);
      CHECK(document.key(1) == "sizes");
      CHECK(document["sizes"].size() == 4);
      CHECK(document["sizes"][0].integer() == 1);
      CHECK(document["sizes"][1].number() == 2.5);
      CHECK(document["sizes"][2].as_bool());
      CHECK(document["sizes"][3].is_null());
      CHECK(document["nested"]["deep"].integer() == 7);
      name = document["name"];
    }
    CHECK(name.text() == "digits");
  }

  TEST_CASE("what is not there answers emptily") {
    const Json document = Json::parse("{}");
    CHECK_FALSE(document["a"].defined());
    CHECK(document["a"]["b"][3].text("fallback") == "fallback");
    CHECK(document["a"].integer(4) == 4);
    CHECK(document["a"].number(0.5) == 0.5);
    CHECK(document["a"].as_bool(true));
    CHECK(document["a"].size() == 0);
    CHECK_FALSE(document[0].defined());
  }

  TEST_CASE("a node of another kind is an error that names its place and what it is") {
    const Json document = Json::parse(R"({"count": "four", "list": [1], "on": 1})");
    const Refusal text = refusal([&] { document["count"].integer(); });
    CHECK(text.kind == TENON_ERROR_TYPE);
    CHECK(has(text.text, "/count: expected an integer, found \"four\""));
    CHECK(has(refusal([&] { document["list"].number(); }).text, "expected a number, found [1]"));
    CHECK(has(refusal([&] { document["on"].as_bool(); }).text,
              "/on: expected true or false, found 1"));
    CHECK(document["list"].text("none") == "none");
  }

  TEST_CASE("a document prints as it was") {
    const std::string text = R"({"a":[1,2.5,"x\n",true,null],"b":{}})";
    CHECK(Json::parse(text).dump() == text);
    CHECK(has(Json::parse(text).dump(2), "\n  \"b\""));
  }

  TEST_CASE("a fault is reported with its place") {
    const Refusal refused = refusal([] { Json::parse("{\"a\": 1,\n \"b\": }"); });
    CHECK(refused.kind != TENON_OK);
    CHECK(has(refused.text, "line 2"));
  }

  TEST_CASE("documents are made value by value") {
    JsonArray list;
    CHECK(list.empty());
    list.add(1).add(2.0).add(true).add("x\n").add(none).add(Json()).add(Json::parse("[{}]"));
    JsonObject object;
    object.set("list", list.json()).set("name", std::string("a\0b", 3));
    CHECK(object.json().dump() ==
          R"({"list":[1,2.0,true,"x\n",null,null,[{}]],"name":"a\u0000b"})");
    CHECK(JsonObject().json().dump() == "{}");
    CHECK(JsonArray().json().dump() == "[]");
    CHECK(JsonArray().add(std::numeric_limits<double>::infinity()).json().dump() == "[null]");
    CHECK_THROWS_AS(JsonObject().set("a", 1).set("a", 2).json(), ValueError);
  }

  TEST_CASE("a node names its place") {
    CHECK(Json().place().empty());
    CHECK(Json::parse("{\"a\": [1]}")["a"][0].place() == "line 1, column 8: /a/0");
    CHECK(JsonObject().set("a", 1).json()["a"].place() == "/a");
  }

  TEST_CASE("words in messages") {
    CHECK(suggestion("linaer", {"nn.functional.linear", "add"}) ==
          " (did you mean 'nn.functional.linear'?)");
    CHECK(suggestion("zzz", {"add"}).empty());
    CHECK(suggestion("", {"a"}).empty());
    CHECK(printable("a\033\xf9\xe2\x80\xae\n") == "a\\x1b\\xf9\\u202e\n");
  }

  TEST_CASE("an error names its kind") {
    CHECK(ValueError("x").kind_name() == std::string("ValueError"));
    CHECK(ConfigError("x").kind_name() == std::string("ConfigError"));
    CHECK(Error(999, "x").kind_name() == std::string("Error"));
  }
}
