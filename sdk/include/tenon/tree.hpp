// Trees: JSON-like documents, as configs, plugin options and listings arrive.
#pragma once

#include <string>
#include <string_view>

#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN

// A node of an immutable document, keeping the whole document alive. Undefined where nothing was
// found: every question may be asked of it and answers emptily. Any thread.
class Tree {
 public:
  Tree() = default;
  static Tree take(tenon_tree* node) noexcept {
    Tree tree;
    tree.node_ = node;
    return tree;
  }
  static Tree borrow(const tenon_tree* node) noexcept {
    auto* mutable_node = const_cast<tenon_tree*>(node);
    if (mutable_node != nullptr) host().tree_retain(mutable_node);
    return take(mutable_node);
  }
  static Tree parse(std::string_view json) {
    tenon_tree* node = nullptr;
    detail::check(host().tree_parse, json.data(), static_cast<int64_t>(json.size()), &node);
    return take(node);
  }
  Tree(const Tree& other) noexcept : node_(other.node_) {
    if (node_ != nullptr) host().tree_retain(node_);
  }
  Tree(Tree&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Tree& operator=(Tree other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Tree() {
    if (node_ != nullptr) host().tree_release(node_);
  }

  bool defined() const { return node_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const tenon_tree* handle() const { return node_; }
  tenon_tree** slot() { return &node_; }

  bool is_object() const { return node_ != nullptr && host().tree_is_object(node_) != 0; }
  bool is_null() const { return node_ == nullptr || value().tag == TENON_VALUE_NONE; }
  bool is_container() const { return node_ != nullptr && value().tag == TENON_VALUE_TREE; }
  bool is_text() const { return node_ != nullptr && value().tag == TENON_VALUE_STRING; }
  bool is_number() const {
    return node_ != nullptr && (value().tag == TENON_VALUE_INT || value().tag == TENON_VALUE_FLOAT);
  }
  int64_t size() const { return node_ == nullptr ? 0 : host().tree_size(node_); }
  Tree operator[](int64_t i) const {
    return node_ == nullptr ? Tree() : borrow(host().tree_at(node_, i));
  }
  Tree operator[](std::string_view key) const {
    return node_ == nullptr
               ? Tree()
               : borrow(host().tree_find(node_, key.data(), static_cast<int64_t>(key.size())));
  }
  std::string key(int64_t i) const {
    const tenon_string key = host().tree_key(node_, i);
    return std::string(key.data, static_cast<size_t>(key.length));
  }

  // The node as a plain value, or the fallback when it is absent or null.
  std::string text(std::string_view fallback = "") const {
    if (!is_text()) return std::string(fallback);
    const tenon_value v = value();
    return std::string(v.as.string, v.length);
  }
  int64_t integer(int64_t fallback = 0) const {
    return is_null() ? fallback : Scalar(value()).to<int64_t>();
  }
  double number(double fallback = 0) const {
    return is_null() ? fallback : Scalar(value()).to<double>();
  }
  bool truth(bool fallback = false) const { return is_null() ? fallback : value().as.integer != 0; }
  std::string json(int32_t indent = 0) const {
    Value text;
    detail::check(host().tree_json, static_cast<const tenon_tree*>(node_), indent, text.slot());
    return text.text();
  }

 private:
  tenon_value value() const { return host().tree_value(node_); }
  tenon_tree* node_ = nullptr;
};

TENON_NAMESPACE_END
