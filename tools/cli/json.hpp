// Documents as commands print them.
#pragma once

#include <tenon/tree.hpp>

#include "terminal.hpp"

namespace cli {

// In the form of all listings: two spaces to a level.
inline void print_json(const tenon::Tree& tree) { print(tree.json(2) + "\n"); }
inline void print_json(const tenon::TreeObject& object) { print_json(object.tree()); }

// null where the text is empty.
inline tenon::TreeValue text_or_null(const std::string& text) {
  return text.empty() ? tenon::TreeValue() : tenon::TreeValue(text);
}

inline tenon::Tree text_array(const std::vector<std::string>& texts) {
  tenon::TreeArray list;
  for (const std::string& text : texts) list.add(text);
  return list.tree();
}

}  // namespace cli
