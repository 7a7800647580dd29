// Documents as plugins read and make them.
#include <cstring>

#include "core/base/json.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return group<add_json_slots>(); }

Json parsed(std::string_view text) {
  tenon_json* document = nullptr;
  CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
          return slots().documents.parse(text.data(), static_cast<int64_t>(text.size()), &document,
                                         error);
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
std::string text_of(tenon_string text) { return {text.data, static_cast<size_t>(text.length)}; }

}  // namespace

TEST_SUITE("runtime/json_slots") {
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
      return slots().documents.parse(text.data(), static_cast<int64_t>(text.size()), &document,
                                     error);
    });
    CHECK(has(message, "line 2"));
    CHECK(document == nullptr);
  }

  TEST_CASE("keys make an object, no keys an array, each with copies of its values") {
    char word[] = "text";
    tenon_value values[2] = {};
    values[0] = integer(3);
    values[1].tag = TENON_VALUE_STRING;
    values[1].length = 4;
    values[1].as.string = word;
    const tenon_string keys[] = {{"n", 1}, {"s", 1}};
    tenon_json *object = nullptr, *array = nullptr;
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().documents.create(keys, values, 2, &object, error);
          }) == "");
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().documents.create(nullptr, values, 2, &array, error);
          }) == "");
    std::memset(word, 'x', 4);
    CHECK(dumped(object) == R"({"n":3,"s":"text"})");
    CHECK(dumped(array) == R"([3,"text"])");
    slots().documents.release(object);
    slots().documents.release(array);
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
