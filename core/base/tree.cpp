// Nodes of a tree: their values, children and places.
#include "core/base/tree.hpp"

#include <algorithm>
#include <charconv>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/tree_document.hpp"

namespace tenon::core {

namespace {

[[noreturn]] void wrong_kind(const tenon_tree& node, std::string_view expected) {
  const std::string place = place_of(node);
  throw Error(TENON_ERROR_VALUE, (place.empty() ? "" : place + ": ") + "found " +
                                     std::string(kind_text(node.kind())) + ", expected " +
                                     std::string(expected));
}

}  // namespace

std::string_view kind_text(TreeKind kind) {
  switch (kind) {
    case TreeKind::Null:
      return "null";
    case TreeKind::Bool:
      return "a boolean";
    case TreeKind::Int:
      return "an integer";
    case TreeKind::Double:
      return "a number";
    case TreeKind::String:
      return "a string";
    case TreeKind::Array:
      return "an array";
    case TreeKind::Object:
      return "an object";
  }
  return "nothing";
}

std::string place_text(std::string_view source, TreePlace place) {
  if (place.line == 0) return escaped(source);
  const std::string line = std::to_string(place.line);
  const std::string column = std::to_string(place.column);
  if (source.empty()) return "line " + line + ", column " + column;
  return escaped(source) + ":" + line + ":" + column;
}

std::string pointer_step(std::string_view pointer, std::string_view key) {
  std::string text = std::string(pointer) + "/";
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

std::string pointer_of(const tenon_tree& node) {
  const tenon_tree* parent = node.parent();
  if (parent == nullptr) return {};
  if (parent->is_object()) return pointer_step(pointer_of(*parent), node.key());
  return pointer_of(*parent) + "/" + std::to_string(&node - parent->children().data());
}

std::string place_of(const tenon_tree& node) {
  const std::string place = place_text(node.source(), node.place());
  const std::string pointer = escaped(pointer_of(node));
  return place + (place.empty() || pointer.empty() ? "" : ": ") + pointer;
}

const tenon_tree* tree_at_pointer(const tenon_tree& tree, std::string_view pointer) {
  const tenon_tree* node = &tree;
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

using tenon::core::TreeKind;

void tenon_tree::retain() const noexcept {
  document_->references.fetch_add(1, std::memory_order_relaxed);
}

void tenon_tree::release() const noexcept {
  // Kept aside: this node dies with its document.
  tenon::core::TreeDocument* const document = document_;
  if (document->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete document;
}

bool tenon_tree::as_bool() const {
  if (kind_ != TreeKind::Bool) tenon::core::wrong_kind(*this, "a boolean");
  return as_.integer != 0;
}

int64_t tenon_tree::as_int() const {
  if (kind_ != TreeKind::Int) tenon::core::wrong_kind(*this, "an integer");
  return as_.integer;
}

double tenon_tree::as_double() const {
  if (kind_ == TreeKind::Int) return static_cast<double>(as_.integer);
  if (kind_ != TreeKind::Double) tenon::core::wrong_kind(*this, "a number");
  return as_.number;
}

std::string_view tenon_tree::as_string() const {
  if (kind_ != TreeKind::String) tenon::core::wrong_kind(*this, "a string");
  return document_->view(as_.string.offset, as_.string.length);
}

std::span<const tenon_tree> tenon_tree::children() const noexcept {
  if (count_ == 0) return {};
  return {document_->nodes.data() + as_.first, count_};
}

const tenon_tree* tenon_tree::at(int64_t index) const noexcept {
  if (index < 0 || index >= count_) return nullptr;
  return document_->nodes.data() + as_.first + index;
}

const tenon_tree* tenon_tree::find(std::string_view key) const noexcept {
  if (kind_ != TreeKind::Object || count_ == 0) return nullptr;
  const std::span<const tenon_tree> members = children();
  if (sorted_ == UINT32_MAX) {
    for (const tenon_tree& member : members) {
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

const tenon_tree& tenon_tree::get(std::string_view key) const {
  const tenon_tree* member = find(key);
  if (member != nullptr) return *member;
  if (kind_ != TreeKind::Object) tenon::core::wrong_kind(*this, "an object");
  std::string where = tenon::core::place_text(source(), place_);
  if (!where.empty()) where += ": ";
  throw tenon::core::Error(
      TENON_ERROR_VALUE,
      where + tenon::core::escaped(tenon::core::pointer_step(tenon::core::pointer_of(*this), key)) +
          ": there is no such member");
}

std::string_view tenon_tree::key() const noexcept {
  return document_->view(key_offset_, key_length_);
}

const tenon_tree* tenon_tree::parent() const noexcept {
  return parent_ == UINT32_MAX ? nullptr : document_->nodes.data() + parent_;
}

std::string_view tenon_tree::source() const noexcept { return document_->source; }

tenon_value tenon_tree::value() const noexcept {
  tenon_value value{};
  switch (kind_) {
    case TreeKind::Null:
      break;
    case TreeKind::Bool:
      value.tag = TENON_VALUE_BOOL;
      value.as.integer = as_.integer;
      break;
    case TreeKind::Int:
      value.tag = TENON_VALUE_INT;
      value.as.integer = as_.integer;
      break;
    case TreeKind::Double:
      value.tag = TENON_VALUE_FLOAT;
      value.as.number = as_.number;
      break;
    case TreeKind::String:
      value.tag = TENON_VALUE_STRING;
      value.length = as_.string.length;
      value.as.string = document_->text.data() + as_.string.offset;
      break;
    case TreeKind::Array:
    case TreeKind::Object:
      value.tag = TENON_VALUE_TREE;
      value.as.tree = const_cast<tenon_tree*>(this);
      break;
  }
  return value;
}
