// Small text helpers: numbers as people read them, suggestions, JSON strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// Characters (code points) of UTF-8 text, and the text's first ones.
int64_t display_width(std::string_view text);
std::string leading(std::string_view text, int64_t characters);

std::string grouped(int64_t number);                        // 23,456
std::string fixed(double number, int digits);               // 0.0312; "nan" and "inf" too
std::string short_number(double number);                    // what reads back as the same number
std::string counted(int64_t count, std::string_view noun);  // 1 row, 2 rows
std::string file_size(int64_t bytes);                       // 264 KB
std::string duration(double seconds);                       // 0.84 s, 1:05, 2:03:20
std::string percent(double fraction);                       // 97.22 %

// Control characters other than line breaks and tabs, those that change the direction of text, and
// what is not UTF-8, as \x1b or \u202e.
std::string escaped(std::string_view text);

std::string join(const std::vector<std::string>& words, std::string_view separator);
std::string lower(std::string_view text);
bool starts_with(std::string_view text, std::string_view start);
bool ends_with(std::string_view text, std::string_view end);
// Lines of `text` behind `indent`, broken at spaces before `width`.
std::string wrapped(std::string_view text, size_t indent, size_t width);

// " (did you mean 'run'?)", or nothing when no candidate is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

std::string json_string(std::string_view text);
std::string json_number(double number);  // null when it is not finite

}  // namespace cli
