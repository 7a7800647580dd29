// Lists and optional texts in documents that the runtime makes.
#pragma once

#include <string>

#include "core/base/json.hpp"

namespace tenon::core {

// The member `key`, an array to which `put` adds each item.
template <class Items, class Put>
void put_list(JsonBuilder& document, const char* key, const Items& items, Put&& put) {
  document.key(key).begin_array();
  for (const auto& item : items) put(item);
  document.end_array();
}
// An array of texts: of each item what `text_of` gives.
template <class Items, class Text>
void put_texts(JsonBuilder& document, const char* key, const Items& items, Text&& text_of) {
  put_list(document, key, items, [&](const auto& item) { document.value(text_of(item)); });
}
template <class Texts>
void put_texts(JsonBuilder& document, const char* key, const Texts& texts) {
  put_list(document, key, texts, [&](const auto& text) { document.value(text); });
}
// The member is left out where the text is empty.
inline void put_text(JsonBuilder& document, const char* key, const std::string& text) {
  if (!text.empty()) document.member(key, text);
}

}  // namespace tenon::core
