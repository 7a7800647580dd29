// JSON documents: strict parsing with places, lookups, the builder and the writer.
#include "core/base/json.hpp"

#include <cmath>
#include <limits>
#include <thread>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

namespace {

std::string fault(std::string_view source, const JsonOptions& options = {}) {
  try {
    parse_json(source, options);
  } catch (const Error& error) {
    CHECK(error.kind == options.kind);
    return error.message;
  }
  return "no error";
}

std::string round_trip(std::string_view source) { return dump(*parse_json(source)); }

}  // namespace

TEST_SUITE("json") {
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

  TEST_CASE("numbers round-trip exactly") {
    CHECK(round_trip("[1, 1.0, -0.0, 1e5, 0.1, 9223372036854775807, -9223372036854775808]") ==
          "[1,1.0,-0.0,100000.0,0.1,9223372036854775807,-9223372036854775808]");
    CHECK(round_trip("0.30000000000000004") == "0.30000000000000004");
    CHECK(round_trip("2.2250738585072014e-308") == "2.2250738585072014e-308");
    CHECK(round_trip("1.7976931348623157e308") == "1.7976931348623157e+308");
    CHECK(round_trip("1e-400") == "0.0");
    CHECK(round_trip("-1e-400") == "-0.0");
    CHECK(fault("[9223372036854775808]") ==
          "line 1, column 2: the integer does not fit in 64 bits\n"
          "  [9223372036854775808]\n"
          "   ^");
    CHECK(fault("123456789012345678901234567890")
              .starts_with("line 1, column 1: the integer does not fit"));
    CHECK(
        fault("[1, 1e400]").starts_with("line 1, column 5: the number is too large for a double"));
  }

  TEST_CASE("nodes remember line, column and offset, counted in characters") {
    const Json document =
        parse_json("{\"a\": 1,\n  \"\xC3\xA4\": [\"\xC3\xB6\", 22, {\"deep\": false}]}");
    const tenon_json& array = *document->at(1);
    CHECK(array.key_place().line == 2);
    CHECK(array.key_place().column == 3);
    CHECK(array.place().column == 8);
    CHECK(array.at(0)->place().column == 9);
    CHECK(array.at(1)->place().column == 14);
    CHECK(array.at(1)->place().offset == 24);
    CHECK(array.at(2)->at(0)->place().column == 27);
    CHECK(place_text("", array.place()) == "line 2, column 8");
    CHECK(place_text("c.json", array.place()) == "c.json:2:8");
    CHECK(place_text("", {}) == "");
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

  TEST_CASE("duplicate keys are refused, naming both places") {
    CHECK(fault("{\n    \"name\": 1,\n  \"x\": 2, \"name\": 2\n}") ==
          "line 3, column 11: duplicate key 'name' (first at line 2, column 5)\n"
          "    \"x\": 2, \"name\": 2\n"
          "            ^");
    JsonOptions options;
    options.source = "c.json";
    options.kind = TENON_ERROR_CONFIG;
    CHECK(fault(R"({"a":{"b":1,"b":2}})", options) ==
          "c.json:1:13: duplicate key 'b' (first at line 1, column 7)\n"
          "  {\"a\":{\"b\":1,\"b\":2}}\n"
          "              ^");
    // The same key escaped differently is the same key.
    CHECK(fault(R"({"a":1,"\u0061":2})").starts_with("line 1, column 8: duplicate key 'a'"));
  }

  TEST_CASE("duplicate keys can be collected, the first of each kept") {
    std::vector<DuplicateKey> duplicates;
    JsonOptions options;
    options.duplicates = &duplicates;
    const Json document =
        parse_json(R"({"a": [0, {"k": 1, "k": {"z": [1]}, "j": 2, "k": 3}], "a": 4})", options);
    CHECK(dump(*document) == R"({"a":[0,{"k":1,"j":2}]})");
    REQUIRE(duplicates.size() == 3);
    CHECK(duplicates[0].pointer == "/a/1/k");
    CHECK(duplicates[2].pointer == "/a");
    CHECK(pointer_of(*json_at_pointer(*document, "/a/1/j")) == "/a/1/j");
  }

  TEST_CASE("large objects are found by key and checked for duplicates") {
    std::string source = "{";
    for (int i = 0; i < 1000; ++i)
      source += "\"key" + std::to_string(i * 7919 % 1000) + "\":" + std::to_string(i) + ",";
    const Json document = parse_json(source + "\"last\":0}");
    CHECK(document->size() == 1001);
    for (const tenon_json& member : document->children())
      CHECK(document->find(member.key()) == &member);
    CHECK(document->find("key1000") == nullptr);
    CHECK(document->find("") == nullptr);
    CHECK(fault(source + "\"key5\":0}").find("duplicate key 'key5'") != std::string::npos);
    std::vector<DuplicateKey> duplicates;
    JsonOptions options;
    options.duplicates = &duplicates;
    const Json kept = parse_json(source + "\"key5\":0, \"key5\":1}", options);
    CHECK(kept->size() == 1000);
    CHECK(duplicates.size() == 2);
    CHECK(kept->find("key5") != nullptr);
  }

  TEST_CASE("syntax errors say what is wrong, where, with the line") {
    CHECK(fault("{\"a\": 1,\n \"b\": }") ==
          "line 2, column 7: unexpected '}'\n   \"b\": }\n        ^");
    CHECK(fault("[1, 2,]").starts_with(
        "line 1, column 7: a comma before ']'; JSON allows none after the last entry"));
    CHECK(fault("{\"a\":1,}").starts_with("line 1, column 8: a comma before '}'"));
    CHECK(fault("[1 // one\n]").starts_with("line 1, column 4: JSON has no comments"));
    CHECK(fault("{'a': 1}").starts_with("line 1, column 2: strings are written in double quotes"));
    CHECK(fault("{\"a\": 1 \"b\": 2}") ==
          "line 1, column 9: unexpected '\"'; is a comma or colon missing before it?\n"
          "  {\"a\": 1 \"b\": 2}\n          ^");
    CHECK(fault("{\"a\": 1").starts_with("line 1, column 8: the text ends before the value does"));
    CHECK(fault("{\"a").starts_with("line 1, column 4: the text ends inside a string"));
    CHECK(fault("{\"a\nb\": 1}").starts_with("line 1, column 4: the line ends inside a string"));
    CHECK(fault("[\"\\q\"]").find("no such escape") != std::string::npos);
    CHECK(fault("[\"\\ud800\"]").find("half of a surrogate pair") != std::string::npos);
    CHECK(fault("[\"\\u12g4\"]").find("four hexadecimal digits") != std::string::npos);
    CHECK(fault("[\"\xC3(\"]").find("the text is not UTF-8") != std::string::npos);
    CHECK(fault("[\"\xED\xA0\x80\"]").find("the text is not UTF-8") != std::string::npos);
    CHECK(fault("\xEF\xBB\xBF{}").find("byte order mark") != std::string::npos);
    CHECK(
        fault("[1] 2").starts_with("line 1, column 5: unexpected '2' after the end of the value"));
    CHECK(fault("") == "the text is empty, expected JSON");
    CHECK(fault(" \n ") == "the text is empty, expected JSON");
    for (const char* wrong :
         {"nul", "NaN", "01", "1.", ".5", "+1", "[1,,2]", "{\"a\"}", "{1:2}", "]", "tru"}) {
      CHECK(fault(wrong) != "no error");
    }
  }

  TEST_CASE("depth and size are limited") {
    CHECK(dump(*parse_json(std::string(64, '[') + std::string(64, ']'))).size() == 128);
    CHECK(fault(std::string(65, '[') + std::string(65, ']')).find("nested deeper than 64 levels") !=
          std::string::npos);
    CHECK(fault(std::string(100000, '[')).find("nested deeper than 64 levels") !=
          std::string::npos);
    JsonOptions options;
    options.max_bytes = 4;
    CHECK(fault("[1, 2]", options) == "the text has 6 bytes; at most 4 are read");
  }

  TEST_CASE("comments and trailing commas are taken only when asked for") {
    JsonOptions options;
    options.relaxed = true;
    const Json document =
        parse_json("// head\n{\"a\": /* \n */ 1, // x\n \"b\": [1, 2,], /*,*/}", options);
    CHECK(dump(*document) == R"({"a":1,"b":[1,2]})");
    CHECK(document->find("a")->place().line == 3);
    CHECK(document->find("a")->place().column == 5);
    CHECK(document->find("b")->place().line == 4);
    CHECK(document->find("b")->at(1)->place().column == 11);
  }

  TEST_CASE("a wrong kind is named with its place") {
    JsonOptions options;
    options.source = "f.json";
    const Json document = parse_json("{\"a\": [\"x\"]}", options);
    CHECK_THROWS_WITH(static_cast<void>(document->find("a")->at(0)->as_int()),
                      "f.json:1:8: /a/0: found a string, expected an integer");
    CHECK_THROWS_WITH(static_cast<void>(document->get("b")),
                      "f.json:1:1: /b: there is no such member");
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

  TEST_CASE("code builds documents and copies places along") {
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
    builder.key("copied", source->at(0)->key_place()).copy(*source->at(0)).end_object();
    const Json document = builder.finish();
    CHECK(
        dump(*document) ==
        R"({"name":"add","count":2,"ok":true,"x":1.0,"types":["Tensor",null],"copied":{"b":[1]}})");
    const tenon_json* one = json_at_pointer(*document, "/copied/b/0");
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
    CHECK_THROWS_AS(JsonBuilder().begin_object().member("a", 1).member("a", 2).end_object(), Error);
    JsonBuilder builder;
    builder.value(1);
    const Json document = builder.finish();
    CHECK_THROWS_AS(builder.value(2), Error);
  }

  TEST_CASE("indented text keeps short lists on one line") {
    const Json document = parse_json(R"({"a":[1,2.0,"x"],"b":{},"c":[],"d":[{"e":null}]})");
    CHECK(dump(*document, 2) ==
          "{\n  \"a\": [1, 2.0, \"x\"],\n  \"b\": {},\n  \"c\": [],\n  \"d\": [\n    {\n      "
          "\"e\": null\n    }\n  ]\n}");
    CHECK(dump(*parse_json(dump(*document, 2))) == dump(*document));
    const Json wide =
        parse_json("[\"" + std::string(60, 'x') + "\", \"" + std::string(60, 'y') + "\"]");
    CHECK(dump(*wide, 2) ==
          "[\n  \"" + std::string(60, 'x') + "\",\n  \"" + std::string(60, 'y') + "\"\n]");
  }

  TEST_CASE("the place of a node is what is known of it") {
    JsonOptions options;
    options.source = "c.json";
    const Json document = parse_json("{\n \"a\": [1, {\"b/c\": 2}]}", options);
    CHECK(place_of(*document) == "c.json:1:1");
    CHECK(place_of(*json_at_pointer(*document, "/a/1/b~1c")) == "c.json:2:19: /a/1/b~1c");
    const Json made = make_array(std::vector<tenon_value>(2));
    CHECK(place_of(*made) == "");
    CHECK(place_of(*made->at(1)) == "/1");
  }

  TEST_CASE("objects of values copy documents, and refuse what a document cannot hold") {
    const Json part = parse_json("[1, {\"x\": null}]");
    tenon_value values[3]{};
    values[0].tag = TENON_VALUE_JSON;
    values[0].as.json = const_cast<tenon_json*>(part.get());
    values[1].tag = TENON_VALUE_FLOAT;
    values[1].as.number = 2;
    const tenon_string keys[] = {{"a", 1}, {"b", 1}, {"b", 1}};
    CHECK(dump(*make_object(std::span(keys, 2), std::span(values, 2))) ==
          R"({"a":[1,{"x":null}],"b":2.0})");
    CHECK(dump(*make_object({}, {})) == "{}");
    CHECK_THROWS_AS(make_object(keys, values), Error);
    values[2].tag = TENON_VALUE_TENSOR;
    CHECK_THROWS_AS(make_array(values), Error);
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
