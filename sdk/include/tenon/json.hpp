// JSON documents, as configs, plugin options and listings arrive.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN

// A node of an immutable document, keeping the whole document alive. Undefined where nothing was
// found: every question may be asked of it and answers emptily. Any thread.
class Json {
 public:
  Json() = default;
  static Json take(tenon_json* node) noexcept {
    Json document;
    document.node_ = node;
    return document;
  }
  static Json borrow(const tenon_json* node) noexcept {
    auto* mutable_node = const_cast<tenon_json*>(node);
    if (mutable_node != nullptr) host().json_retain(mutable_node);
    return take(mutable_node);
  }
  static Json parse(std::string_view json) {
    tenon_json* node = nullptr;
    detail::check(host().json_parse, json.data(), static_cast<int64_t>(json.size()), &node);
    return take(node);
  }
  Json(const Json& other) noexcept : node_(other.node_) {
    if (node_ != nullptr) host().json_retain(node_);
  }
  Json(Json&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Json& operator=(Json other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Json() {
    if (node_ != nullptr) host().json_release(node_);
  }

  bool defined() const { return node_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const tenon_json* handle() const { return node_; }
  tenon_json** slot() { return &node_; }

  bool is_object() const { return node_ != nullptr && host().json_is_object(node_) != 0; }
  bool is_null() const { return node_ == nullptr || value().tag == TENON_VALUE_NONE; }
  bool is_container() const { return node_ != nullptr && value().tag == TENON_VALUE_JSON; }
  bool is_text() const { return node_ != nullptr && value().tag == TENON_VALUE_STRING; }
  bool is_bool() const { return node_ != nullptr && value().tag == TENON_VALUE_BOOL; }
  bool is_number() const {
    return node_ != nullptr && (value().tag == TENON_VALUE_INT || value().tag == TENON_VALUE_FLOAT);
  }
  int64_t size() const { return node_ == nullptr ? 0 : host().json_size(node_); }
  Json operator[](int64_t i) const {
    return node_ == nullptr ? Json() : borrow(host().json_at(node_, i));
  }
  Json operator[](std::string_view key) const {
    return node_ == nullptr
               ? Json()
               : borrow(host().json_find(node_, key.data(), static_cast<int64_t>(key.size())));
  }
  std::string key(int64_t i) const {
    const tenon_string key = host().json_key(node_, i);
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
  bool as_bool(bool fallback = false) const {
    return is_null() ? fallback : value().as.integer != 0;
  }
  // Its place in a config, for messages: "FILE:3:14: /plugins/0/name".
  std::string place() const {
    if (node_ == nullptr) return {};
    Value text;
    detail::check(host().json_place, static_cast<const tenon_json*>(node_), text.slot());
    return text.text();
  }
  // The file that the document was read from; empty for others.
  std::string source() const {
    if (node_ == nullptr) return {};
    const tenon_string source = host().json_source(node_);
    return std::string(source.data, static_cast<size_t>(source.length));
  }
  std::string dump(int32_t indent = 0) const {
    Value text;
    detail::check(host().json_dump, static_cast<const tenon_json*>(node_), indent, text.slot());
    return text.text();
  }

 private:
  tenon_value value() const { return host().json_value(node_); }
  tenon_json* node_ = nullptr;
};

inline Argument::Argument(const Json& document) : value_{} {
  if (!document.defined()) return;
  value_.tag = TENON_VALUE_JSON;
  value_.as.json = const_cast<tenon_json*>(document.handle());
}

// A value of a document that code makes: null, a number, text or a document; it owns its copy.
class JsonValue {
 public:
  JsonValue(None = none) : value_{} {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  JsonValue(T number) : value_(Scalar(number).value()) {}
  JsonValue(std::string_view text) : value_{}, text_(text) { value_.tag = TENON_VALUE_STRING; }
  JsonValue(const std::string& text) : JsonValue(std::string_view(text)) {}
  JsonValue(const char* text) : JsonValue(std::string_view(text)) {}
  JsonValue(Json document) : value_{}, json_(std::move(document)) {
    if (json_.defined()) value_.tag = TENON_VALUE_JSON;
  }
  // Borrowed from this object.
  tenon_value value() const {
    tenon_value value = value_;
    if (value.tag == TENON_VALUE_STRING) value = Argument(text_).value();
    if (value.tag == TENON_VALUE_JSON) value.as.json = const_cast<tenon_json*>(json_.handle());
    return value;
  }

 private:
  tenon_value value_;
  std::string text_;
  Json json_;
};

// An array made element by element: JsonArray().add(2).add("x").json().
class JsonArray {
 public:
  JsonArray& add(JsonValue value) {
    values_.push_back(std::move(value));
    return *this;
  }
  bool empty() const { return values_.empty(); }
  Json json() const { return create(nullptr); }

 protected:
  Json create(const tenon_string* keys) const {
    std::vector<tenon_value> values(values_.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = values_[i].value();
    tenon_json* node = nullptr;
    detail::check(host().json_create, keys, static_cast<const tenon_value*>(values.data()),
                  static_cast<int64_t>(values.size()), &node);
    return Json::take(node);
  }

 private:
  std::vector<JsonValue> values_;
};

// An object made member by member: JsonObject().set("op", "add").set("alpha", 2).json(). ValueError
// for a key that is set twice.
class JsonObject : private JsonArray {
 public:
  JsonObject& set(std::string_view key, JsonValue value) {
    keys_.emplace_back(key);
    add(std::move(value));
    return *this;
  }
  Json json() const {
    // One more than there are: never null, also for an object without members.
    std::vector<tenon_string> keys(keys_.size() + 1);
    for (size_t i = 0; i < keys_.size(); ++i) keys[i] = detail::string_of(keys_[i]);
    return create(keys.data());
  }

 private:
  std::vector<std::string> keys_;
};

TENON_NAMESPACE_END
