// The host prints a text value in quotes: the libraries' messages quote as its own do.
#include "lib/base/text.hpp"

#include <tenon/value.hpp>

TENON_NAMESPACE_BEGIN

namespace lib {

std::string quote(std::string_view text) {
  tenon_value value{};
  value.tag = TENON_VALUE_STRING;
  value.length = static_cast<uint32_t>(text.size());
  value.as.string = text.data();
  Value quoted;
  detail::check(service::values().text, static_cast<const tenon_value*>(&value), quoted.slot());
  return quoted.text();
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t k) {
      return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U;
    };
    const unsigned first = byte(0), second = byte(1);
    if (first < 0x80) {
      ++i;
      continue;
    }
    if (first < 0xC2 || first > 0xF4) return false;
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    for (size_t k = 1; k < length; ++k) {
      if ((byte(k) & 0xC0U) != 0x80) return false;
    }
    // Longer than need be, half of a surrogate pair, or above U+10FFFF.
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
      return false;
    i += length;
  }
  return true;
}

std::string word_list(const std::vector<std::string>& words, std::string_view conjunction) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " " + std::string(conjunction) + " ";
    text += words[i];
  }
  return text;
}

std::string quoted_list(const std::vector<std::string>& words, std::string_view conjunction) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back(quote(word));
  return word_list(quoted, conjunction);
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < list.size(); ++i) texts.push_back(list[i].text());
  return texts;
}

bool matches(std::string_view pattern, std::string_view text) {
  size_t at = 0, place = 0, star = std::string_view::npos, resume = 0;
  while (at < text.size()) {
    if (place < pattern.size() && pattern[place] == '*') {
      star = place++;
      resume = at;
    } else if (place < pattern.size() && pattern[place] == text[at]) {
      ++at;
      ++place;
    } else if (star != std::string_view::npos) {
      place = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  while (place < pattern.size() && pattern[place] == '*') ++place;
  return place == pattern.size();
}

}  // namespace lib

TENON_NAMESPACE_END
