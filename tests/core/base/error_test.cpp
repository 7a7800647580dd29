// Errors on their way across the boundary and back.
#include "core/base/error.hpp"

#include <new>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "tenon/abi/error.h"

using namespace tenon::core;

TEST_SUITE("error") {
  TEST_CASE("an error that is caught and thrown again is the same") {
    Error given(TENON_ERROR_INDEX, "out of range");
    given.op = "t.op";
    given.provider = "plugin";
    tenon_error* error = nullptr;
    const tenon_status status = guarded(&error, [&] { throw given; });
    CHECK(status == TENON_ERROR_INDEX);
    REQUIRE(error != nullptr);
    try {
      throw_status(status, error);  // takes it
    } catch (const Error& again) {
      CHECK(again.kind == TENON_ERROR_INDEX);
      CHECK(again.message == "out of range");
      CHECK(again.op == "t.op");
      CHECK(again.provider == "plugin");
    }
  }

  TEST_CASE("a body that throws nothing leaves no error") {
    tenon_error* error = nullptr;
    CHECK(guarded(&error, [] {}) == TENON_OK);
    CHECK(error == nullptr);
  }

  TEST_CASE("where no error is asked for the status says its kind") {
    CHECK(guarded(nullptr, [] { throw Error(TENON_ERROR_TYPE, "no"); }) == TENON_ERROR_TYPE);
  }

  TEST_CASE("a status without an error is thrown as an error of its kind") {
    try {
      throw_status(TENON_ERROR_VALUE, nullptr);
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.kind == TENON_ERROR_VALUE);
      CHECK_FALSE(error.message.empty());
    }
  }

  TEST_CASE("what is not an error of the core becomes one, memory without an allocation") {
    tenon_error* error = nullptr;
    CHECK(guarded(&error, [] { throw std::bad_alloc(); }) == TENON_ERROR_MEMORY);
    REQUIRE(error != nullptr);
    CHECK(error->preallocated);
    error = nullptr;
    const tenon_status status = guarded(&error, [] { throw std::string("text"); });
    CHECK(status != TENON_OK);
    REQUIRE(error != nullptr);
    CHECK_FALSE(error->error.message.empty());
    delete error;
  }

  TEST_CASE("no two kinds have the same name") {
    std::set<std::string> names;
    const tenon_status kinds[] = {TENON_ERROR_TYPE,   TENON_ERROR_VALUE,   TENON_ERROR_INDEX,
                                  TENON_ERROR_MEMORY, TENON_ERROR_RUNTIME, TENON_ERROR_PLUGIN,
                                  TENON_ERROR_GRAPH,  TENON_ERROR_INPLACE, TENON_ERROR_CONFIG};
    for (const tenon_status kind : kinds) names.insert(error_kind_text(kind));
    CHECK(names.size() == std::size(kinds));
    CHECK(names.contains("TypeError"));
  }
}
