// Texts of cells that are not numbers.
#pragma once

#include <string>
#include <string_view>

namespace data {

// With small letters in place of the capitals of ASCII.
std::string lower_case(std::string text);

// Whether a cell has no value: nothing, NA, nan, null, ? and the like; in any case of letters.
bool is_missing(std::string_view text);
// inf, -infinity and the like.
bool is_infinite(std::string_view text);
// "1,5": what is a number where the comma is the decimal point.
bool has_decimal_comma(std::string_view text);
// Throws Fault, with the place, for text that is not UTF-8.
void check_utf8(std::string_view text, const std::string& place);

}  // namespace data
