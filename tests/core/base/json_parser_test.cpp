// Strict parsing: places, and what is said of text that is not a document.
#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/base/json.hpp"

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

TEST_SUITE("json_parser") {
  TEST_CASE("nodes remember line, column and offset, counted in characters") {
    const Json tree =
        parse_json("{\"a\": 1,\n  \"\xC3\xA4\": [\"\xC3\xB6\", 22, {\"deep\": false}]}");
    const tenon_json& array = *tree->at(1);
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
  }

  TEST_CASE("duplicate keys can be collected, the first of each kept") {
    std::vector<DuplicateKey> duplicates;
    JsonOptions options;
    options.duplicates = &duplicates;
    const Json tree =
        parse_json(R"({"a": [0, {"k": 1, "k": {"z": [1]}, "j": 2, "k": 3}], "a": 4})", options);
    CHECK(dump(*tree) == R"({"a":[0,{"k":1,"j":2}]})");
    REQUIRE(duplicates.size() == 3);
    CHECK(duplicates[0].pointer == "/a/1/k");
    CHECK(duplicates[2].pointer == "/a");
    CHECK(pointer_of(*json_at_pointer(*tree, "/a/1/j")) == "/a/1/j");
  }

  TEST_CASE("large objects are found by key and checked for duplicates") {
    std::string source = "{";
    for (int i = 0; i < 1000; ++i)
      source += "\"key" + std::to_string(i * 7919 % 1000) + "\":" + std::to_string(i) + ",";
    const Json tree = parse_json(source + "\"last\":0}");
    CHECK(tree->size() == 1001);
    for (const tenon_json& member : tree->children()) CHECK(tree->find(member.key()) == &member);
    CHECK(tree->find("key1000") == nullptr);
    CHECK(tree->find("") == nullptr);
    CHECK(fault(source + "\"key5\":0}").find("duplicate key 'key5'") != std::string::npos);
    std::vector<DuplicateKey> duplicates;
    JsonOptions options;
    options.duplicates = &duplicates;
    const Json kept = parse_json(source + "\"key5\":0, \"key5\":1}", options);
    CHECK(kept->size() == 1000);
    CHECK(duplicates.size() == 2);
    CHECK(kept->find("key5") != nullptr);
  }

  TEST_CASE("text that is not UTF-8 is refused") {
    CHECK(fault("[\"\xC3(\"]").find("the text is not UTF-8") != std::string::npos);
    CHECK(fault("[\"\xED\xA0\x80\"]").find("the text is not UTF-8") != std::string::npos);
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
    const Json tree =
        parse_json("// head\n{\"a\": /* \n */ 1, // x\n \"b\": [1, 2,], /*,*/}", options);
    CHECK(dump(*tree) == R"({"a":1,"b":[1,2]})");
    CHECK(tree->find("a")->place().line == 3);
    CHECK(tree->find("a")->place().column == 5);
    CHECK(tree->find("b")->place().line == 4);
    CHECK(tree->find("b")->at(1)->place().column == 11);
  }

  TEST_CASE("numbers round-trip exactly") {
    CHECK(round_trip("[1, 1.0, -0.0, 1e5, 0.1, 9223372036854775807, -9223372036854775808]") ==
          "[1,1.0,-0.0,100000.0,0.1,9223372036854775807,-9223372036854775808]");
    CHECK(round_trip("0.30000000000000004") == "0.30000000000000004");
    CHECK(round_trip("2.2250738585072014e-308") == "2.2250738585072014e-308");
    CHECK(round_trip("1.7976931348623157e308") == "1.7976931348623157e+308");
    CHECK(round_trip("1e-400") == "0.0");
    CHECK(round_trip("-1e-400") == "-0.0");
  }
}
