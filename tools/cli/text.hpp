// Small text helpers: numbers as people read them, lines of a width.
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

std::string join(const std::vector<std::string>& words, std::string_view separator);
std::string lower(std::string_view text);  // ASCII letters
// Lines of `text` behind `indent`, broken at spaces before `width`.
std::string wrapped(std::string_view text, size_t indent, size_t width);

}  // namespace cli
