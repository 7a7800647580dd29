// Texts from patterns, and errors made of them.
#include "core/base/format.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

TEST_SUITE("format") {
  TEST_CASE("arguments take their places") {
    const std::string op = "add";
    CHECK(format_text("{}(): expected {}, got {}", op, std::string_view("a"), "b") ==
          "add(): expected a, got b");
    CHECK(format_text("{} {} {} {}", int64_t{-1}, uint8_t{2}, size_t{3}, 'x') == "-1 2 3 x");
    CHECK(format_text("{{{}}}", 1) == "{1}");
  }

  TEST_CASE("a message that is not a pattern stays as it is") {
    CHECK(Error(TENON_ERROR_VALUE, "{} {").message == "{} {");
    CHECK(Error(TENON_ERROR_VALUE, std::string("{x}")).message == "{x}");
    const Error error(TENON_ERROR_TYPE, "expected {}, got {}", "{", std::string("}"));
    CHECK(error.kind == TENON_ERROR_TYPE);
    CHECK(error.message == "expected {, got }");
  }
}
