// Text helpers: joining, quoting, suggestions, number texts and carets.
#include "core/base/text.hpp"

#include <array>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

using namespace tenon::core;

TEST_SUITE("text") {
  TEST_CASE("words are joined, quoted and listed") {
    const Words words = {"a", "b", "c"};
    CHECK(join(words, ".") == "a.b.c");
    CHECK(join(Words{}, ".") == "");
    CHECK(word_list(words, "or") == "a, b or c");
    CHECK(quoted_list(words) == "'a', 'b' and 'c'");
    CHECK(quoted_list(Words{"a", "b"}, "or") == "'a' or 'b'");
    CHECK(quoted_list(Words{"a"}) == "'a'");
    CHECK(counted(1, "argument") == "1 argument");
    CHECK(counted(0, "argument") == "0 arguments");
  }

  TEST_CASE("quoting keeps text on one line and bounds it") {
    CHECK(quote("it's") == "'it\\'s'");
    CHECK(quote("a\nb\t\x01\\") == "'a\\nb\\t\\x01\\\\'");
    CHECK(quote("\xC3\xA4") == "'\xC3\xA4'");
    CHECK(quote("\x7f\xC2\x85\xE2\x80\xAE\xD8\x9C") == "'\\x7f\\u0085\\u202e\\u061c'");
    CHECK(printable("a\n\tb\r\x1b[2J\xC2\x9B\xE2\x81\xA6\xFF\xC3\xA4") ==
          "a\n\tb\\x0d\\x1b[2J\\u009b\\u2066\\xff\xC3\xA4");
    CHECK(escaped("a\nb") == "a\\x0ab");
    CHECK(quote("a\xFF"
                "b\xC3") == "'a\\xffb\\xc3'");
    const std::string cut = quote(std::string(119, 'x') + "\xC3\xA4" + std::string(100, 'y'));
    CHECK(cut == "'" + std::string(119, 'x') + "'...");
  }

  TEST_CASE("distance counts edits, swaps and no case") {
    CHECK(edit_distance("alpha", "alpha") == 0);
    CHECK(edit_distance("alhpa", "alpha") == 1);
    CHECK(edit_distance("Alpha", "alpha") == 0);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("", "abc") == 3);
  }

  TEST_CASE("a suggestion needs a likeness") {
    const Words names = {"input", "other", "alpha", "out"};
    CHECK(nearest_word("alhpa", names) == "alpha");
    CHECK(nearest_word("inputs", names) == "input");
    CHECK(nearest_word("oter", names) == "other");
    CHECK(nearest_word("mull", Words{"full", "mul", "mul_"}) == "mul");
    CHECK(nearest_word("mull", Words{"mul_", "mul"}) == "mul");
    // The last part of a name alone is what people type.
    CHECK(nearest_word("linaer", Words{"nn.functional.linear", "nn.Lines"}) ==
          "nn.functional.linear");
    CHECK_FALSE(nearest_word("x.linaer", Words{"nn.functional.linear"}));
    CHECK_FALSE(nearest_word("beta", names));
    CHECK_FALSE(nearest_word("", names));
    CHECK_FALSE(nearest_word("x", Words{"y"}));
    CHECK(suggestion("alfa", names) == "");
    CHECK(suggestion("alpa", names) == " (did you mean 'alpha'?)");
    CHECK(suggestion("tensor", Words{"Tensor"}) == " (did you mean 'Tensor'?)");
    CHECK_FALSE(nearest_word(std::string(5000, 'a'), names));
  }

  TEST_CASE("numbers read back as the same float") {
    CHECK(float_text(1.0) == "1.0");
    CHECK(float_text(0.1) == "0.1");
    CHECK(float_text(-0.0) == "-0.0");
    CHECK(float_text(1e-5) == "1e-05");
    CHECK(float_text(1e5) == "100000.0");
    CHECK(float_text(1e15) == "1000000000000000.0");
    CHECK(float_text(1e16) == "1e+16");
    CHECK(float_text(0.0001) == "0.0001");
    CHECK(float_text(0.30000000000000004) == "0.30000000000000004");
    CHECK(float_text(1e300) == "1e+300");
    CHECK(float_text(std::numeric_limits<double>::infinity()) == "inf");
    CHECK(float_text(-std::numeric_limits<double>::infinity()) == "-inf");
    CHECK(float_text(std::nan("")) == "nan");
  }

  TEST_CASE("only well-formed UTF-8 passes") {
    CHECK(is_utf8("plain \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"));
    for (const std::string_view bad : {"\x80", "\xC0\x80", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80",
                                       "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xFF"}) {
      CHECK_FALSE(is_utf8(bad));
    }
    CHECK(character_count("\xC3\xA4"
                          "b") == 2);
  }

  TEST_CASE("the caret is under the fault") {
    CHECK(caret_lines("abc\ndef\nghi", 5) == "\n  def\n   ^");
    CHECK(caret_lines("\tx", 1) == "\n   x\n   ^");
    CHECK(caret_lines("\xC3\xA4\xC3\xB6x", 4) == "\n  \xC3\xA4\xC3\xB6x\n    ^");
    CHECK(caret_lines("ab", 2) == "\n  ab\n    ^");
    CHECK(caret_lines("", 0) == "\n  \n  ^");
    CHECK(caret_lines("a\xFF"
                      "b",
                      2) == "\n  a?b\n    ^");
    const std::string line = caret_lines(std::string(500, 'x') + "!" + std::string(500, 'y'), 500);
    CHECK(line == "\n  ..." + std::string(60, 'x') + "!" + std::string(35, 'y') + "...\n  " +
                      std::string(63, ' ') + "^");
  }

  TEST_CASE("trimming takes the spaces at both ends") {
    CHECK(trim_spaces("  a b ") == "a b");
    CHECK(trim_spaces("\ta") == "\ta");
    CHECK(trim_spaces("   ").empty());
    CHECK(trim_spaces("").empty());
  }

  TEST_CASE("in a pattern '*' stands for any text") {
    CHECK(matches_pattern("nn.*", "nn.functional.relu"));
    CHECK(matches_pattern("*.relu", "nn.functional.relu"));
    CHECK(matches_pattern("*[A]", "add[A]"));
    CHECK(matches_pattern("a*b*c", "aXbbYc"));
    CHECK(matches_pattern("*", ""));
    CHECK(!matches_pattern("nn", "nn.relu"));
    CHECK(!matches_pattern("", "a"));
    CHECK(!matches_pattern("a*b", "abc"));
  }
}
