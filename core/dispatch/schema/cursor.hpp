// Reading position in the text of a schema, with the words of its errors; private to the folder.
#pragma once

#include <string>
#include <string_view>

#include "core/base/characters.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/schema/schema.hpp"

namespace tenon::core {

class SchemaCursor {
 public:
  explicit SchemaCursor(std::string_view text) : source(text) {}

  // Throws the ValueError of a fault at the offset, with the text and a caret.
  [[noreturn]] void fail(size_t offset, const std::string& what) const;
  // The token at the reading position, for messages.
  std::string here();

  void skip_space() {
    while (at < source.size() && (source[at] == ' ' || source[at] == '\n' || source[at] == '\t'))
      ++at;
  }
  char peek() {
    skip_space();
    return at < source.size() ? source[at] : '\0';
  }
  bool take(std::string_view token) {
    skip_space();
    if (!source.substr(at).starts_with(token)) return false;
    at += token.size();
    return true;
  }
  void expect(std::string_view token, std::string_view why) {
    if (!take(token)) fail(at, format_text("expected {}, found {}", why, here()));
  }
  // A word without leading digit; empty when there is none.
  std::string_view take_word() {
    skip_space();
    size_t end = at;
    if (end < source.size() && begins_name(source[end])) {
      while (end < source.size() && is_of_name(source[end])) ++end;
    }
    const std::string_view word = source.substr(at, end - at);
    at = end;
    return word;
  }

  const std::string_view source;
  size_t at = 0;
};

// Reads the default of the parameter, whose type is known, at the reading position. Its strings and
// lists live in the schema.
void parse_default(SchemaCursor& text, Schema& schema, Parameter& parameter);

}  // namespace tenon::core
