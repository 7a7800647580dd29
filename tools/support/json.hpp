// Documents as commands print them.
#pragma once

#include <tenon/json.hpp>

#include "format.hpp"
#include "terminal.hpp"

namespace cli {

// In the form of all listings: two spaces to a level.
inline void print_json(const tenon::Json& document) {
  print(format_text("{}\n", document.dump(2)));
}
inline void print_json(const tenon::JsonObject& object) { print_json(object.json()); }

// null where the text is empty.
inline tenon::JsonValue text_or_null(const std::string& text) {
  return text.empty() ? tenon::JsonValue() : tenon::JsonValue(text);
}

inline tenon::Json text_array(const std::vector<std::string>& texts) {
  tenon::JsonArray list;
  for (const std::string& text : texts) list.add(text);
  return list.json();
}

}  // namespace cli
