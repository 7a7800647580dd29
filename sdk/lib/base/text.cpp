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

}  // namespace lib

TENON_NAMESPACE_END
