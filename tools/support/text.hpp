// Small text helpers: numbers as people read them, lines of a width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/text.hpp>

namespace cli {

// Characters (code points) of UTF-8 text, and the text's first ones.
int64_t display_width(std::string_view text);
std::string leading(std::string_view text, int64_t characters);

using tenon::grouped, tenon::counted, tenon::join;  // 23,456; 1 row, 2 rows
std::string fixed(double number, int digits);       // 0.0312; "nan" and "inf" too
std::string loss_text(double loss);                 // 0.0312; 1.23e+20 where it is large
std::string short_number(double number);            // reads back as the same number
std::string file_size(int64_t bytes);               // 264 KB
std::string duration(double seconds);               // 0.84 s, 1:05, 2:03:20
std::string percent(double fraction);               // 97.22 %

std::string lower(std::string_view text);  // ASCII letters
// Text as HTML and XML hold it: the characters of their markup are written as &amp; and the like.
std::string markup_text(std::string_view text);
// Lines of `text` behind `indent`, broken at spaces before `width`.
std::string wrapped(std::string_view text, size_t indent, size_t width);

}  // namespace cli
