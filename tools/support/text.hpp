// Small text helpers: numbers as people read them, lines of a width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/text.hpp>

namespace cli {

// Columns that UTF-8 text takes on a terminal: two for a letter of East Asian writing, none for a mark
// that joins the letter before. The text's first characters, as many as fit.
int64_t display_width(std::string_view text);
std::string leading(std::string_view text, int64_t columns);
// Lines of at most `columns`, broken behind spaces, else behind commas, slashes and dots, else anywhere;
// those behind the first begin with `hanging` spaces. 0 columns: one line.
std::vector<std::string> lines_of(std::string_view text, int64_t columns, int64_t hanging = 0);
// Text of several lines, of which those that are longer than `columns` are broken; what is behind the
// break begins where the second column of the line does, if it has one. 0 columns: the text.
std::string fitted(std::string_view text, int64_t columns);

using tenon::grouped, tenon::counted, tenon::join;  // 23,456; 1 row, 2 rows
std::string fixed(double number, int digits);       // 0.0312; "nan" and "inf" too
std::string loss_text(double loss);                 // 0.0312; 1.23e+20 where it is large
std::string short_number(double number);            // reads back as the same number
std::string file_size(int64_t bytes);               // 264 KB
std::string duration(double seconds);               // 0.84 s, 1:05, 2:03:20
std::string percent(double fraction);               // 97.22 %

std::string lower(std::string_view text);  // ASCII letters
// " (did you mean 'exit-codes'?)" of a word that is the beginning of some name, of which the shortest
// counts, else nearly one; or nothing.
std::string suggested(const std::string& word, const std::vector<std::string>& names);
// Text as HTML and XML hold it: the characters of their markup are written as &amp; and the like.
std::string markup_text(std::string_view text);
// Lines of `text` behind `indent`, broken at spaces before `width`.
std::string wrapped(std::string_view text, size_t indent, size_t width);

}  // namespace cli
