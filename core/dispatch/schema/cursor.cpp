// Messages of the schema parser.
#include "core/dispatch/schema/cursor.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

void SchemaCursor::fail(size_t offset, const std::string& what) const {
  throw Error(TENON_ERROR_VALUE, "schema error at column {}: {}{}",
              character_count(source.substr(0, offset)) + 1, what, caret_lines(source, offset));
}

std::string SchemaCursor::here() {
  skip_space();
  if (at >= source.size()) return "the end of the text";
  size_t end = at + 1;
  const bool word = is_of_name(source[at]);
  while (end < source.size() && (word ? is_of_name(source[end]) : continues_character(source[end])))
    ++end;
  return quote(source.substr(at, end - at));
}

}  // namespace tenon::core
