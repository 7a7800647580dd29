// Kinds of characters, at the borders of each.
#include "core/base/characters.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace tenon::core;

namespace {

template <class Is>
std::string all_that(Is&& is) {
  std::string found;
  for (int byte = 0; byte < 256; ++byte) {
    if (is(static_cast<char>(byte))) found += static_cast<char>(byte);
  }
  return found;
}

const std::string kDigits = "0123456789";
const std::string kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const std::string kSmall = "abcdefghijklmnopqrstuvwxyz";

}  // namespace

TEST_SUITE("base/characters") {
  TEST_CASE("digits and letters are those of ASCII, names have underscores as well") {
    CHECK(all_that(is_digit) == kDigits);
    CHECK(all_that(is_letter) == kCapitals + kSmall);
    CHECK(all_that(begins_name) == kCapitals + "_" + kSmall);
    CHECK(all_that(is_of_name) == kDigits + kCapitals + "_" + kSmall);
  }

  TEST_CASE("capitals become small letters, all other bytes stay") {
    for (int byte = 0; byte < 256; ++byte) {
      const auto c = static_cast<char>(byte);
      const size_t at = kCapitals.find(c);
      CHECK(lower_case(c) == (at == std::string::npos ? c : kSmall[at]));
    }
  }

  TEST_CASE("hexadecimal digits have their values in both cases") {
    CHECK(all_that([](char c) { return hexadecimal(c) >= 0; }) == kDigits + "ABCDEFabcdef");
    CHECK(hexadecimal('0') == 0);
    CHECK(hexadecimal('9') == 9);
    CHECK(hexadecimal('a') == 10);
    CHECK(hexadecimal('F') == 15);
    CHECK(hexadecimal('g') == -1);
  }

  TEST_CASE("bytes after the first continue a character") {
    const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
    std::string continuing;
    for (const char byte : text) continuing += continues_character(byte) ? '1' : '0';
    CHECK(continuing == "0010110111");
  }
}
