// Trees: JSON-like documents, as configs, plugin options and listings arrive.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
  // Where a config has it, for messages: "FILE:3:14: /plugins/0/name".
  std::string place() const {
    if (node_ == nullptr) return {};
    Value text;
    detail::check(host().tree_place, static_cast<const tenon_tree*>(node_), text.slot());
    return text.text();
  }
  std::string json(int32_t indent = 0) const {
    Value text;
    detail::check(host().tree_json, static_cast<const tenon_tree*>(node_), indent, text.slot());
    return text.text();
  }

 private:
  tenon_value value() const { return host().tree_value(node_); }
  tenon_tree* node_ = nullptr;
};

// A value of a document that code makes: null, a number, text or a tree; it owns its copy.
class TreeValue {
 public:
  TreeValue(None = none) : value_{} {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  TreeValue(T number) : value_(Scalar(number).value()) {}
  TreeValue(std::string_view text) : value_{}, text_(text) { value_.tag = TENON_VALUE_STRING; }
  TreeValue(const std::string& text) : TreeValue(std::string_view(text)) {}
  TreeValue(const char* text) : TreeValue(std::string_view(text)) {}
  TreeValue(const Tree& tree) : value_{}, tree_(tree) {
    if (tree_.defined()) value_.tag = TENON_VALUE_TREE;
  }
  // Borrowed from this object.
  tenon_value value() const {
    tenon_value value = value_;
    if (value.tag == TENON_VALUE_STRING) value = Argument(text_).value();
    if (value.tag == TENON_VALUE_TREE) value.as.tree = const_cast<tenon_tree*>(tree_.handle());
    return value;
  }

 private:
  tenon_value value_;
  std::string text_;
  Tree tree_;
};

// An array made element by element: TreeArray().add(2).add("x").tree().
class TreeArray {
 public:
  TreeArray& add(TreeValue value) {
    values_.push_back(std::move(value));
    return *this;
  }
  bool empty() const { return values_.empty(); }
  Tree tree() const { return create(nullptr); }

 protected:
  Tree create(const tenon_string* keys) const {
    std::vector<tenon_value> values;
    for (const TreeValue& value : values_) values.push_back(value.value());
    tenon_tree* node = nullptr;
    detail::check(host().tree_create, keys, static_cast<const tenon_value*>(values.data()),
                  static_cast<int64_t>(values.size()), &node);
    return Tree::take(node);
  }

 private:
  std::vector<TreeValue> values_;
};

// An object made member by member: TreeObject().set("op", "add").set("alpha", 2).tree(). ValueError
// for a key that is set twice.
class TreeObject : private TreeArray {
 public:
  TreeObject& set(std::string_view key, TreeValue value) {
    keys_.emplace_back(key);
    add(std::move(value));
    return *this;
  }
  Tree tree() const {
    std::vector<tenon_string> keys{{}};  // never null, also for an object without members
    keys.clear();
    for (const std::string& key : keys_) keys.push_back(detail::string_of(key));
    return create(keys.data());
  }

 private:
  std::vector<std::string> keys_;
};

TENON_NAMESPACE_END
