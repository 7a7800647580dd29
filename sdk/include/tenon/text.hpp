// Words in messages: suggestions for what was mistyped, text that a terminal may show, counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN

// " (did you mean 'add'?)" for the candidate that a mistyped word most likely means; empty when
// none is near. Any thread.
inline std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  std::vector<tenon_string> list;
  list.reserve(candidates.size());
  for (const std::string& candidate : candidates) list.push_back(detail::string_of(candidate));
  Value text;
  detail::check(service::values().suggestion, word.data(), static_cast<int64_t>(word.size()),
                static_cast<const tenon_string*>(list.data()), static_cast<int64_t>(list.size()),
                text.slot());
  return text.text();
}

// The text with what a terminal would obey, and bytes that are not UTF-8, written as escapes: \x1b
// or \u202e. Line breaks and tabs stay. Any thread.
inline std::string printable(std::string_view bytes) {
  Value text;
  detail::check(service::values().printable, bytes.data(), static_cast<int64_t>(bytes.size()),
                text.slot());
  return text.text();
}

// 23,456
inline std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  const size_t sign = number < 0 ? 1 : 0;
  for (size_t at = text.size(); at > sign + 3;) text.insert(at -= 3, ",");
  return text;
}
// "1 row", "2 rows"
inline std::string counted(int64_t count, std::string_view noun) {
  return grouped(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}
// "a, b" of words and ", ".
inline std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

TENON_NAMESPACE_END
