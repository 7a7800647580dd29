// Nodes of a document: their values, children and places.
#include "core/base/json.hpp"

#include <algorithm>
#include <charconv>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json_document.hpp"
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

void tenon_json::retain() const noexcept {
  document_->references.fetch_add(1, std::memory_order_relaxed);
}

void tenon_json::release() const noexcept {
  // Kept aside: this node dies with its document.
  tenon::core::JsonDocument* const document = document_;
  if (document->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete document;
}

bool tenon_json::as_bool() const {
  if (kind_ != JsonKind::Bool) tenon::core::wrong_kind(*this, "a boolean");
  return as_.integer != 0;
}

int64_t tenon_json::as_int() const {
  if (kind_ != JsonKind::Int) tenon::core::wrong_kind(*this, "an integer");
  return as_.integer;
}

double tenon_json::as_double() const {
  if (kind_ == JsonKind::Int) return static_cast<double>(as_.integer);
  if (kind_ != JsonKind::Double) tenon::core::wrong_kind(*this, "a number");
  return as_.number;
}

std::string_view tenon_json::as_string() const {
  if (kind_ != JsonKind::String) tenon::core::wrong_kind(*this, "a string");
  return document_->view(as_.string.offset, as_.string.length);
}

std::span<const tenon_json> tenon_json::children() const noexcept {
  if (count_ == 0) return {};
  return {document_->nodes.data() + as_.first, count_};
}

const tenon_json* tenon_json::at(int64_t index) const noexcept {
  if (index < 0 || index >= count_) return nullptr;
  return document_->nodes.data() + as_.first + index;
}

const tenon_json* tenon_json::find(std::string_view key) const noexcept {
  if (kind_ != JsonKind::Object || count_ == 0) return nullptr;
  const std::span<const tenon_json> members = children();
  if (sorted_ == UINT32_MAX) {
    for (const tenon_json& member : members) {
      if (member.key() == key) return &member;
    }
    return nullptr;
  }
  const auto begin = document_->sorted.begin() + sorted_;
  const auto end = begin + count_;
  const auto found =
      std::lower_bound(begin, end, key, [&](uint32_t position, std::string_view expected) {
        return members[position].key() < expected;
      });
  return found != end && members[*found].key() == key ? &members[*found] : nullptr;
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

std::string_view tenon_json::key() const noexcept {
  return document_->view(key_offset_, key_length_);
}

const tenon_json* tenon_json::parent() const noexcept {
  return parent_ == UINT32_MAX ? nullptr : document_->nodes.data() + parent_;
}

std::string_view tenon_json::source() const noexcept { return document_->source; }

tenon_value tenon_json::value() const noexcept {
  tenon_value value{};
  switch (kind_) {
    case JsonKind::Null:
      break;
    case JsonKind::Bool:
      value.tag = TENON_VALUE_BOOL;
      value.as.integer = as_.integer;
      break;
    case JsonKind::Int:
      value.tag = TENON_VALUE_INT;
      value.as.integer = as_.integer;
      break;
    case JsonKind::Double:
      value.tag = TENON_VALUE_FLOAT;
      value.as.number = as_.number;
      break;
    case JsonKind::String:
      value.tag = TENON_VALUE_STRING;
      value.length = as_.string.length;
      value.as.string = document_->text.data() + as_.string.offset;
      break;
    case JsonKind::Array:
    case JsonKind::Object:
      value.tag = TENON_VALUE_JSON;
      value.as.json = const_cast<tenon_json*>(this);
      break;
  }
  return value;
}
