// Raw data about plugins, schemas and tables as JSON documents, without views: libraries make listings
// from them. sdk/share/tenon/documents.md has the shapes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.hpp"
#include "core/runtime/runtime.hpp"

namespace tenon::core {

// The version, and the folders that are searched for plugins.
Json runtime_document(PluginManager& manager);
// All plugin files that were found, with their states. Nothing is loaded.
Json plugins_document(PluginManager& manager);
// Plugin files with their facts.
Json facts_document(PluginManager& manager);
// The facts of one file, and whether its code could be unmapped. Throws PluginError.
Json facts_document(const std::string& path);
// The plugins that declare a name, which of them is used, and why.
Json providers_document(const Runtime& runtime, ItemKind kind, std::string_view name);
// Tensor types, overrides and ambiguities of the type table.
Json registrations_document(const Runtime& runtime);
// Throws ValueError for a schema that cannot be parsed.
Json schema_document(std::string_view schema);
// A generation whose code was withdrawn.
Json retired_document(const RetiredPlugin& retired);

// Full names of the ops that a tensor type may override, of those that usable plugins declare; sorted.
std::vector<std::string> overridable_ops(PluginManager& manager);

// ---- lists and optional texts in documents ----

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
