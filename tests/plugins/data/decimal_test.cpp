#include "plugins/data/decimal.hpp"

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include <doctest/doctest.h>

namespace {

using data::Decimal;

// Digits, signs and words as files have them, right and wrong.
std::string random_text(std::mt19937& random) {
  static const char* const pieces[] = {"0",    "1",        "17",    "999999999999999999999",
                                       "3.25", ".",        "-",     "+",
                                       "e",    "E+4",      "e-400", "e400",
                                       "x",    " ",        "\"",    "inf",
                                       "nan",  "infinity", ",",     "5",
                                       "a"};
  std::string text;
  const size_t count = 1 + random() % 5;
  for (size_t i = 0; i < count; ++i) text += pieces[random() % std::size(pieces)];
  return text;
}

template <class T>
bool same(const Decimal<T>& a, const Decimal<T>& b) {
  if (a.stop != b.stop || a.error != b.error) return false;
  if (a.error != std::errc()) return true;
  return std::isnan(a.value) ? std::isnan(b.value)
                             : std::memcmp(&a.value, &b.value, sizeof a.value) == 0;
}

}  // namespace

TEST_SUITE("plugins/data/decimal") {
  TEST_CASE("both ways to read a number agree on random texts") {
    std::mt19937 random(20);
    for (int i = 0; i < 20000; ++i) {
      const std::string text = random_text(random);
      CAPTURE(text);
      const char* end = text.data() + text.size();
      REQUIRE(same(data::decimal<double>(text.data(), end),
                   data::decimal_by_strtod<double>(text.data(), end)));
      REQUIRE(same(data::decimal<float>(text.data(), end),
                   data::decimal_by_strtod<float>(text.data(), end)));
    }
  }
}
