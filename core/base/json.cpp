// Nodes of a document: their values, children and places.
#include "core/base/json.hpp"

#include <charconv>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

[[noreturn]] void wrong_kind(const tenon_json& node, std::string_view expected) {
  const std::string place = place_of(node);
  throw Error(TENON_ERROR_VALUE, "{}found {}, expected {}",
              place.empty() ? "" : format_text("{}: ", place), kind_text(node.kind()), expected);
}

}  // namespace

std::string_view kind_text(JsonKind kind) {
  switch (kind) {
    case JsonKind::Null:
      return "null";
    case JsonKind::Bool:
      return "a boolean";
    case JsonKind::Int:
      return "an integer";
    case JsonKind::Double:
      return "a number";
    case JsonKind::String:
      return "a string";
    case JsonKind::Array:
      return "an array";
    case JsonKind::Object:
      return "an object";
  }
  return "nothing";
}

std::string place_text(std::string_view source, JsonPlace place) {
  if (place.line == 0) return escaped(source);
  if (source.empty()) return format_text("line {}, column {}", place.line, place.column);
  return format_text("{}:{}:{}", escaped(source), place.line, place.column);
}

std::string pointer_step(std::string_view pointer, std::string_view key) {
  std::string text = format_text("{}/", pointer);
  for (const char letter : key) {
    if (letter == '~') {
      text += "~0";
    } else if (letter == '/') {
      text += "~1";
    } else {
      text += letter;
    }
  }
  return text;
}

std::string pointer_of(const tenon_json& node) {
  const tenon_json* parent = node.parent();
  if (parent == nullptr) return {};
  if (parent->is_object()) return pointer_step(pointer_of(*parent), node.key());
  return format_text("{}/{}", pointer_of(*parent), &node - parent->children().data());
}

std::string place_of(const tenon_json& node) {
  const std::string place = place_text(node.source(), node.place());
  const std::string pointer = escaped(pointer_of(node));
  return place + (place.empty() || pointer.empty() ? "" : ": ") + pointer;
}

const tenon_json* json_at_pointer(const tenon_json& document, std::string_view pointer) {
  const tenon_json* node = &document;
  while (node != nullptr && !pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const std::string_view step = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(step.size());
    if (node->is_array()) {
      int64_t index = -1;
      const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
      const bool whole = error == std::errc() && end == step.data() + step.size();
      const bool plain = step.size() == 1 || (!step.empty() && step.front() != '0');
      node = whole && plain ? node->at(index) : nullptr;
      continue;
    }
    std::string key;
    for (size_t i = 0; i < step.size(); ++i) {
      const bool escape = step[i] == '~' && i + 1 < step.size();
      key += escape ? (step[++i] == '1' ? '/' : '~') : step[i];
    }
    node = node->find(key);
  }
  return node;
}

}  // namespace tenon::core

using tenon::core::JsonKind;

bool tenon_json::as_bool() const {
  if (kind_ != JsonKind::Bool) tenon::core::wrong_kind(*this, "a boolean");
  return value_.as.integer != 0;
}

int64_t tenon_json::as_int() const {
  if (kind_ != JsonKind::Int) tenon::core::wrong_kind(*this, "an integer");
  return value_.as.integer;
}

double tenon_json::as_double() const {
  if (kind_ == JsonKind::Int) return static_cast<double>(value_.as.integer);
  if (kind_ != JsonKind::Double) tenon::core::wrong_kind(*this, "a number");
  return value_.as.number;
}

std::string_view tenon_json::as_string() const {
  if (kind_ != JsonKind::String) tenon::core::wrong_kind(*this, "a string");
  return {value_.as.string, value_.length};
}

const tenon_json& tenon_json::get(std::string_view key) const {
  const tenon_json* member = find(key);
  if (member != nullptr) return *member;
  if (kind_ != JsonKind::Object) tenon::core::wrong_kind(*this, "an object");
  std::string where = tenon::core::place_text(source(), place_);
  if (!where.empty()) where += ": ";
  throw tenon::core::Error(
      TENON_ERROR_VALUE, "{}{}: the member is missing", where,
      tenon::core::escaped(tenon::core::pointer_step(tenon::core::pointer_of(*this), key)));
}
