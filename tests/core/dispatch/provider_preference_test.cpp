// Preferences by shapes: which holds, and what it says.
#include "core/dispatch/table/provider_preference.hpp"

#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("dispatch/provider_preference") {
  TEST_CASE("the first preference whose conditions all hold is found, with its text") {
    const Schema schema = parse_schema("t.f(Tensor a, int n, Tensor? b=None) -> Tensor");
    const ProviderPreferences preferences(
        schema, {{"one", {{"a", ShapeClass("[2]")}, {"b", ShapeClass("[3]")}}, "config 'c'"},
                 {"two", {{"a", ShapeClass("[2]")}}, "config 'c'"},
                 {"three", {}, "config 'd'"}});
    const TensorRef two = floats({1, 2}), three = floats({1, 2, 3});
    const auto found = [&](const tenon_value& a, const tenon_value& b) {
      const tenon_value arguments[] = {a, integer(1), b};
      return std::string(preferences.find(arguments).text);
    };
    CHECK(found(tensor_value(two.get()), tensor_value(three.get())) ==
          "config 'c' prefers 'one' where a is [2] and b is [3]");
    CHECK(found(tensor_value(two.get()), tensor_value(two.get())) ==
          "config 'c' prefers 'two' where a is [2]");
    CHECK(found(tensor_value(two.get()), {}) == "config 'c' prefers 'two' where a is [2]");
    CHECK(found(tensor_value(three.get()), {}) == "config 'd' prefers 'three'");
  }

  TEST_CASE(
      "a preference about a parameter that the op does not have, or that is not a tensor, never "
      "holds") {
    const Schema schema = parse_schema("t.f(Tensor a, int n) -> Tensor");
    const ProviderPreferences preferences(schema,
                                          {{"one", {{"c", ShapeClass("[2]")}}, "config 'c'"},
                                           {"two", {{"n", ShapeClass("[]")}}, "config 'c'"}});
    const TensorRef two = floats({1, 2});
    const tenon_value arguments[] = {tensor_value(two.get()), integer(1)};
    CHECK(preferences.find(arguments).preference == nullptr);
  }
}
