// Order of semantic versions, and ranges as configs write them.
#include "core/plugin/facts/version_range.hpp"

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

namespace {

bool contains(const char* range, const char* version) {
  return VersionRange(range).contains(parse_version(version));
}

}  // namespace

TEST_SUITE("version range") {
  TEST_CASE("versions are ordered as semantic versioning says") {
    const char* ascending[] = {"1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
                               "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",       "1.0.0",
                               "1.0.1",        "1.2.0",         "1.10.0",           "2.0.0"};
    for (size_t i = 0; i < std::size(ascending); ++i) {
      for (size_t j = 0; j < std::size(ascending); ++j) {
        CAPTURE(ascending[i]);
        CAPTURE(ascending[j]);
        CHECK((parse_version(ascending[i]) < parse_version(ascending[j])) == (i < j));
      }
    }
    CHECK(parse_version("1.2.3+build.5") == parse_version("1.2.3"));
  }

  TEST_CASE("what is not a version is refused") {
    for (const char* text : {"", "1", "1.2", "1.2.3.4", "v1.2.3", "1.2.x", "1.2.3-", "1.2.3+",
                             "1.2.3-a b", "99999999999999999999.0.0", "-1.0.0"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(parse_version(text), Error);
    }
  }

  TEST_CASE("ranges take what they say") {
    CHECK(contains("", "0.0.1"));
    CHECK(contains("*", "7.1.0"));
    CHECK(contains(">=1.2, <2", "1.2.0"));
    CHECK(contains(">=1.2,<2", "1.99.3"));
    CHECK(!contains(">=1.2, <2", "2.0.0"));
    CHECK(!contains(">=1.2, <2", "1.1.9"));
    CHECK(contains("1.2", "1.2.7"));
    CHECK(!contains("1.2", "1.3.0"));
    CHECK(contains("1", "1.9.9"));
    CHECK(!contains("1", "2.0.0"));
    CHECK(contains("^1.2", "1.9.0"));
    CHECK(!contains("^1.2", "1.1.9"));
    CHECK(!contains("^1.2", "2.0.0"));
    CHECK(contains("^0.3.1", "0.3.9"));
    CHECK(!contains("^0.3.1", "0.4.0"));
    CHECK(!contains("^0.0.3", "0.0.4"));
    CHECK(contains("1.2.3", "1.2.3"));
    CHECK(!contains("1.2.3", "1.2.4"));
    CHECK(contains("=1.2.3-rc.1", "1.2.3-rc.1"));
    CHECK(!contains(">1.0.0", "1.0.0"));
    CHECK(contains("<=1.0.0", "1.0.0"));
  }

  TEST_CASE("what is not a range is refused with the part that is wrong") {
    for (const char* text : {"one", ">=", "1.2,", ">=1.2 <2", "~1.2", "1.2.3.4"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(VersionRange{text}, Error);
    }
  }
}
