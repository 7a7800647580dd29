// Result values own what they hold.
#include "core/dispatch/binding/value.hpp"

#include <string>

#include <doctest/doctest.h>

#include "core/base/json.hpp"

using namespace tenon::core;

TEST_SUITE("dispatch/value") {
  TEST_CASE("strings and lists of strings are copies") {
    std::string text = "hello";
    tenon_value value = make_string(text);
    text[0] = 'j';
    CHECK(value.tag == TENON_VALUE_STRING);
    CHECK(std::string(value.as.string, value.length) == "hello");
    release_value(value);
    CHECK(value.tag == TENON_VALUE_NONE);
    tenon_value list = make_string_list({"a", "", "ccc"});
    CHECK(list.length == 3);
    CHECK(std::string(list.as.strings[2].data, 3) == "ccc");
    CHECK(list.as.strings[1].length == 0);
    release_value(list);
    tenon_value empty = make_string("");
    CHECK(empty.length == 0);
    release_value(empty);
    release_value(empty);
  }

  TEST_CASE("tensors are released once, and lists may hold nothing") {
    const TensorRef tensor = make_empty(TENON_F32, {});
    tenon_value value = make_tensor_list({tensor, tensor, tensor, TensorRef()});
    CHECK(tensor->references.load() == 4);
    release_value(value);
    CHECK(tensor->references.load() == 1);
    tenon_value none = make_tensor_list({});
    CHECK(none.length == 0);
    release_value(none);
  }

  TEST_CASE("a copied document outlives what it was copied from") {
    tenon_value copy;
    {
      const Json document = parse_json(R"({"columns": ["a", 3]})");
      tenon_value value{};
      value.tag = TENON_VALUE_JSON;
      value.as.json = const_cast<tenon_json*>(document.get());
      copy = copy_value(value);
    }
    CHECK(copy.as.json->get("columns").at(1)->as_int() == 3);
    release_value(copy);
    CHECK(copy.tag == TENON_VALUE_NONE);
  }
}
