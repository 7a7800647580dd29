// Small text helpers that messages and listings share: joining, quoting, suggestions, source
// carets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::core {

using Words = std::vector<std::string_view>;

template <class Texts>
std::string join(const Texts& words, std::string_view separator) {
  std::string text;
  std::string_view between;
  for (const std::string_view word : words) {
    text.append(between).append(word);
    between = separator;
  }
  return text;
}

// Text as a terminal may show it: control characters (C0, DEL, C1), those that change the direction
// or the line of what follows, and bytes that are not UTF-8 are written as \x1b or \u202e; those in
// `keep` stay.
std::string escaped(std::string_view text, std::string_view keep = "");
// Printable form of a text of several lines: a message, a log line.
std::string printable(std::string_view text);
// The character of UTF-8 at the front of a text, which is not empty; one byte where there is none.
std::string_view front_character(std::string_view text);
// Whether `escaped` writes this front character in another way.
bool needs_escape(std::string_view character) noexcept;

// 'text' in single quotes; quotes, backslashes and control characters escaped, long text cut.
std::string quote(std::string_view text);
// "'a', 'b' and 'c'"; Python's own messages put a comma before the last word of three.
std::string quoted_list(std::span<const std::string_view> words,
                        std::string_view conjunction = "and");
// "a, b or c"
std::string word_list(std::span<const std::string_view> words, std::string_view conjunction);
// "1 argument", "2 arguments"
std::string counted(int64_t count, std::string_view noun);

// Edits (insert, delete, replace, swap neighbours) between two words, ignoring ASCII case.
int64_t edit_distance(std::string_view a, std::string_view b);
// The candidate that a mistyped word most likely means: at most a third of its letters wrong.
std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates);
// " (did you mean 'alpha'?)", or nothing when no candidate is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

// Whether the whole text is the pattern, in which '*' stands for any text.
bool matches_pattern(std::string_view pattern, std::string_view text);
bool any_matches(std::span<const std::string> patterns, std::string_view text);

// The shortest text that reads back as the same number and as a float: 1.0, 0.1, 1e-05, inf, nan.
std::string float_text(double number);

// Characters (code points) of UTF-8 text.
int64_t character_count(std::string_view text);
// Whether every byte belongs to well-formed UTF-8.
bool is_utf8(std::string_view text);

// The source line around byte `offset` of `source` and a caret under it, each line after a newline
// and two spaces. Long lines are cut to a window; control characters print as spaces.
std::string caret_lines(std::string_view source, size_t offset);

// Without the spaces, or other blanks, at both ends.
std::string_view trim_spaces(std::string_view text, std::string_view blanks = " ");
// "A, B ,C" as A, B and C; what is empty is left out.
Words comma_words(std::string_view text);

}  // namespace tenon::core
