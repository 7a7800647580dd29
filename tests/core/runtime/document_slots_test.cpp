// Documents as plugins read and make them.
#include <cstring>
#include <span>

#include "core/base/json.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

Json parsed(std::string_view text) {
  tenon_json* document = nullptr;
  CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
          return slots().documents.parse(text.data(), static_cast<int64_t>(text.size()), nullptr,
                                         &document, nullptr, error);
        }) == "");
  return Json::take(document);
}
std::string dumped(const tenon_json* document, int32_t indent = 0) {
  Given text;
  CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
          return slots().documents.dump(document, indent, &text.value, error);
        }) == "");
  return text.text();
}
Json built(std::span<const tenon_json_step> steps, const tenon_json* source) {
  tenon_json* document = nullptr;
  CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
          return slots().documents.build(steps.data(), static_cast<int64_t>(steps.size()), source,
                                         &document, error);
        }) == "");
  return Json::take(document);
}
std::string text_of(tenon_string text) { return {text.data, static_cast<size_t>(text.length)}; }

}  // namespace

TEST_SUITE("runtime/document_slots") {
  TEST_CASE("members are read by key and by place, and outside of them nothing is") {
    const Json document = parsed(R"({"a": [1, 2.5], "b": null})");
    CHECK(slots().documents.is_object(document.get()) == 1);
    CHECK(slots().documents.size(document.get()) == 2);
    CHECK(text_of(slots().documents.key(document.get(), 1)) == "b");
    CHECK(text_of(slots().documents.key(document.get(), 2)).empty());
    CHECK(text_of(slots().documents.key(document.get(), -1)).empty());
    const tenon_json* list = slots().documents.find(document.get(), "a", 1);
    REQUIRE(list != nullptr);
    CHECK(slots().documents.is_object(list) == 0);
    CHECK(slots().documents.value(slots().documents.at(list, 0)).tag == TENON_VALUE_INT);
    CHECK(slots().documents.value(slots().documents.at(list, 1)).as.number == 2.5);
    CHECK(slots().documents.at(list, 2) == nullptr);
    CHECK(slots().documents.find(document.get(), "ab", 2) == nullptr);
    CHECK(slots().documents.find(document.get(), "ab", 1) == list);  // the length counts
  }

  TEST_CASE("a text that is not JSON is refused with its line, and no document is given") {
    tenon_json* document = nullptr;
    const std::string text = "{\n\"a\": }";
    const std::string message = message_of_slot(TENON_ERROR_VALUE, [&](tenon_error** error) {
      return slots().documents.parse(text.data(), static_cast<int64_t>(text.size()), nullptr,
                                     &document, nullptr, error);
    });
    CHECK(has(message, "line 2"));
    CHECK(document == nullptr);
  }

  TEST_CASE("a text of a file is read with its name, and duplicates are listed") {
    const std::string text = "{\"a\": 1, // one\n\"a\": [2,]}";
    tenon_json_reading reading{};
    reading.size = sizeof(reading);
    reading.flags = TENON_JSON_RELAXED;
    reading.source = "c.json";
    reading.failure = TENON_ERROR_CONFIG;
    reading.max_bytes = 100;
    const auto parse = [&](tenon_status status, tenon_json** document, tenon_json** duplicates) {
      return message_of_slot(status, [&](tenon_error** error) {
        return slots().documents.parse(text.data(), static_cast<int64_t>(text.size()), &reading,
                                       document, duplicates, error);
      });
    };
    tenon_json *document = nullptr, *duplicates = nullptr;
    CHECK(parse(TENON_OK, &document, &duplicates) == "");
    CHECK(dumped(document) == R"({"a":1})");
    CHECK(dumped(duplicates) == R"([{"key":"a","pointer":"/a","line":2,"column":1,"offset":16,)"
                                R"("first_line":1,"first_column":2}])");
    tenon_json_position position{};
    slots().documents.position(slots().documents.at(document, 0), &position);
    CHECK(position.value.column == 7);
    CHECK(position.value.offset == 6);
    CHECK(position.key.column == 2);
    slots().documents.release(document);
    slots().documents.release(duplicates);
    CHECK(has(parse(TENON_ERROR_CONFIG, &document, nullptr), "c.json:2:1: duplicate key 'a'"));
    reading.max_bytes = 10;
    CHECK(has(parse(TENON_ERROR_CONFIG, &document, nullptr), "at most 10 are read"));
    reading.max_bytes = 100;
    reading.value_bytes = int64_t{1} << 30;
    CHECK(has(parse(TENON_ERROR_CONFIG, &document, nullptr), "split it into several"));
  }

  TEST_CASE("steps make a document, with the places of their origins") {
    JsonOptions options;
    options.source = "c.json";
    const Json source = parse_json("{\"a\":\n   {\"b\": [1]}, \"c\": 2}", options);
    const auto step = [](uint32_t kind, std::string_view key = "",
                         const tenon_json* origin = nullptr, tenon_value value = {}) {
      return tenon_json_step{
          {key.data(), static_cast<int64_t>(key.size())}, value, origin, kind, 0};
    };
    const auto copy = [](const tenon_json& node) {
      tenon_value value{};
      value.tag = TENON_VALUE_JSON;
      value.as.json = const_cast<tenon_json*>(&node);
      return value;
    };
    tenon_value number{};
    number.tag = TENON_VALUE_FLOAT;
    number.as.number = 2;
    const tenon_json& a = source->get("a");
    const tenon_json_step steps[] = {step(TENON_JSON_OBJECT, "", source.get()),
                                     step(TENON_JSON_VALUE, "x", &a, copy(a)),
                                     step(TENON_JSON_VALUE, "y", nullptr, copy(a)),
                                     step(TENON_JSON_ARRAY, "z", &source->get("c")),
                                     step(TENON_JSON_VALUE, "ignored", nullptr, number),
                                     step(TENON_JSON_VALUE),
                                     step(TENON_JSON_END),
                                     step(TENON_JSON_END)};
    const Json made = built(steps, source.get());
    CHECK(dump(*made) == R"({"x":{"b":[1]},"y":{"b":[1]},"z":[2.0,null]})");
    CHECK(place_of(*json_at_pointer(*made, "/x/b/0")) == "c.json:2:11: /x/b/0");
    CHECK(place_of(*json_at_pointer(*made, "/y/b/0")) == "c.json: /y/b/0");
    CHECK(place_of(*json_at_pointer(*made, "/z")) == "c.json:2:21: /z");
    CHECK(made->get("x").key_place().line == 1);
    CHECK(made->get("z").key_place().column == 16);
    CHECK(made->get("y").key_place().line == 0);

    const auto refusal = [&](std::vector<tenon_json_step> list) {
      tenon_json* document = nullptr;
      tenon_error* error = nullptr;
      CHECK(slots().documents.build(list.data(), static_cast<int64_t>(list.size()), nullptr,
                                    &document, &error) != TENON_OK);
      CHECK(document == nullptr);
      Outcome outcome;
      outcome.take(error);
      return outcome.message;
    };
    const auto object = step(TENON_JSON_OBJECT), end = step(TENON_JSON_END);
    CHECK(refusal({}) == "cannot make a document: finish before the end");
    CHECK(refusal({object}) == "cannot make a document: finish before the end");
    CHECK(refusal({object, end, end}) == "cannot make a document: an end where none belongs");
    CHECK(refusal({object, end, object, end}) == "cannot make a document: a second root");
    CHECK(refusal({object, step(TENON_JSON_VALUE, "a"), step(TENON_JSON_VALUE, "a"), end}) ==
          "duplicate key 'a'");
    CHECK(refusal({step(7)}) == "a step of a document has the kind 7, expected 0 to 3");
    tenon_value tensor{};
    tensor.tag = TENON_VALUE_TENSOR;
    CHECK(has(refusal({step(TENON_JSON_VALUE, "", nullptr, tensor)}), "found a value of tag 6"));
  }

  TEST_CASE("steps make a document, with copies of their values") {
    char word[] = "text";
    tenon_json_step steps[4] = {};
    steps[0].kind = TENON_JSON_OBJECT;
    steps[1].key = {"n", 1};
    steps[1].value = integer(3);
    steps[2].key = {"s", 1};
    steps[2].value.tag = TENON_VALUE_STRING;
    steps[2].value.length = 4;
    steps[2].value.as.string = word;
    steps[3].kind = TENON_JSON_END;
    tenon_json* object = nullptr;
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().documents.build(steps, 4, nullptr, &object, error);
          }) == "");
    std::memset(word, 'x', 4);
    CHECK(dumped(object) == R"({"n":3,"s":"text"})");
    slots().documents.release(object);
    CHECK(has(message_of_slot(TENON_ERROR_VALUE,
                              [&](tenon_error** error) {
                                return slots().documents.build(steps, 3, nullptr, &object, error);
                              }),
              "cannot make a document"));
  }

  TEST_CASE("a handle keeps its document, and a node of it does too") {
    tenon_json* node = nullptr;
    {
      const Json document = parsed(R"({"a": {"b": [7]}})");
      node = const_cast<tenon_json*>(slots().documents.find(document.get(), "a", 1));
      slots().documents.retain(node);
    }
    CHECK(dumped(node) == R"({"b":[7]})");
    Given place;
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().documents.place(node, &place.value, error);
          }) == "");
    CHECK(has(place.text(), "/a"));
    slots().documents.release(node);
    slots().documents.release(nullptr);
  }

  TEST_CASE("a bit of reading that the host does not know is refused") {
    tenon_json_reading reading{};
    reading.size = sizeof reading;
    reading.flags = TENON_JSON_RELAXED << 1;
    reading.failure = TENON_ERROR_VALUE;
    reading.max_bytes = 100;
    tenon_json* document = nullptr;
    CHECK(has(message_of_slot(TENON_ERROR_ARGUMENT,
                              [&](tenon_error** error) {
                                return slots().documents.parse("1", 1, &reading, &document, nullptr,
                                                               error);
                              }),
              "documents.parse: flags that this Tenon does not know: 0x2"));
    CHECK(document == nullptr);
  }

  TEST_CASE("no document is refused by name") {
    Given text;
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().documents.dump(nullptr, 0, &text.value, error);
          }) == "the document is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().documents.place(nullptr, &text.value, error);
          }) == "the document is null");
    CHECK(text.value.tag == TENON_VALUE_NONE);
  }
}
