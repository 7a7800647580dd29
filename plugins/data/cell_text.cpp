// Spellings of missing values and infinities in cells.
#include "cell_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "decimal.hpp"
#include "file_fault.hpp"

namespace data {

namespace {

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xc2 ? 0
                          : lead < 0xe0 ? 2
                          : lead < 0xf0 ? 3
                          : lead < 0xf5 ? 4
                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t code = lead & (0xffu >> (length == 1 ? 1 : length + 1));
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10ffff)) ||
        (code >= 0xd800 && code < 0xe000))
      return false;
    i += length;
  }
  return true;
}

}  // namespace

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_missing(std::string_view text) {
  constexpr std::string_view words[] = {"", "na", "n/a", "#n/a", "nan", "null", "none", "?"};
  constexpr size_t longest = 4;
  if (text.size() > longest) return false;
  return std::find(std::begin(words), std::end(words), lower_case(std::string(text))) !=
         std::end(words);
}

bool is_infinite(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const char* last = text.data() + text.size();
  const auto word = decimal<double>(text.data(), last);
  return word.error == std::errc() && word.stop == last && std::isinf(word.value);
}

bool has_decimal_comma(std::string_view text) {
  double value = 0;
  return text.find(',') != text.npos && read_decimal(text, ',', value) == Reading::number;
}

void check_utf8(std::string_view text, const std::string& place) {
  if (!is_utf8(text))
    throw Fault(quoted_text(text) + " is not UTF-8: convert the file to UTF-8", place);
}

}  // namespace data
