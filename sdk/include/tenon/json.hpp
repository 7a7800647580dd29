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
  static Json take(tenon_json* node) noexcept {  // takes the reference
    Json document;
    document.node_ = node;
    return document;
  }
  static Json borrow(const tenon_json* node) noexcept {  // adds a reference
    auto* mutable_node = const_cast<tenon_json*>(node);
    if (mutable_node != nullptr) service::documents().retain(mutable_node);
    return take(mutable_node);
  }
  static Json parse(std::string_view json) {  // ValueError with line and column
    tenon_json* node = nullptr;
    detail::check(service::documents().parse, json.data(), static_cast<int64_t>(json.size()),
                  static_cast<const tenon_json_reading*>(nullptr), &node,
                  static_cast<tenon_json**>(nullptr));
    return take(node);
  }
  Json(const Json& other) noexcept : node_(other.node_) {
    if (node_ != nullptr) service::documents().retain(node_);
  }
  Json(Json&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Json& operator=(Json other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Json() {
    if (node_ != nullptr) service::documents().release(node_);
  }

  bool defined() const { return node_ != nullptr; }     // false: there is no such member
  explicit operator bool() const { return defined(); }  // as defined()
  const tenon_json* handle() const { return node_; }    // borrowed
  tenon_json** slot() { return &node_; }                // for functions that store a node

  // False where undefined, as the others.
  bool is_object() const { return node_ != nullptr && service::documents().is_object(node_) != 0; }
  // False where undefined.
  bool is_array() const { return is_container() && !is_object(); }
  // Null or undefined.
  bool is_null() const { return node_ == nullptr || value().tag == TENON_VALUE_NONE; }
  // An object or array.
  bool is_container() const { return node_ != nullptr && value().tag == TENON_VALUE_JSON; }
  // A string.
  bool is_text() const { return node_ != nullptr && value().tag == TENON_VALUE_STRING; }
  // True or false.
  bool is_bool() const { return node_ != nullptr && value().tag == TENON_VALUE_BOOL; }
  // Without fraction, of 64 bits.
  bool is_integer() const { return node_ != nullptr && value().tag == TENON_VALUE_INT; }
  bool is_number() const {  // an integer or a fraction
    return node_ != nullptr && (value().tag == TENON_VALUE_INT || value().tag == TENON_VALUE_FLOAT);
  }
  // Members or elements; 0 of others.
  int64_t size() const { return node_ == nullptr ? 0 : service::documents().size(node_); }
  Json operator[](int64_t i) const {  // undefined outside
    return node_ == nullptr ? Json() : borrow(service::documents().at(node_, i));
  }
  Json operator[](std::string_view key) const {  // undefined where it is missing
    return node_ == nullptr ? Json()
                            : borrow(service::documents().find(node_, key.data(),
                                                               static_cast<int64_t>(key.size())));
  }
  std::string key(int64_t i) const {  // key of member i
    const tenon_string key = service::documents().key(node_, i);
    return std::string(key.data, static_cast<size_t>(key.length));
  }

  // The node as a plain value, or the fallback when it is absent or null. Numbers, true and
  // false raise a TypeError with the place of a node of another kind; its text is the fallback.
  std::string text(std::string_view fallback = "") const {
    if (!is_text()) return std::string(fallback);
    const tenon_value v = value();
    return std::string(v.as.string, v.length);
  }
  int64_t integer(int64_t fallback = 0) const {  // a fraction is cut off
    if (is_null()) return fallback;
    require(is_number(), "an integer");
    return Scalar(value()).to<int64_t>();
  }
  double number(double fallback = 0) const {  // an integer or a fraction
    if (is_null()) return fallback;
    require(is_number(), "a number");
    return Scalar(value()).to<double>();
  }
  bool as_bool(bool fallback = false) const {  // true or false
    if (is_null()) return fallback;
    require(is_bool(), "true or false");
    return value().as.integer != 0;
  }
  // Its place in a config, for messages: "FILE:3:14: /plugins/0/name".
  std::string place() const {
    if (node_ == nullptr) return {};
    Value text;
    detail::check(service::documents().place, static_cast<const tenon_json*>(node_), text.slot());
    return text.text();
  }
  // The file that the document was read from; empty for others.
  std::string source() const {
    if (node_ == nullptr) return {};
    const tenon_string source = service::documents().source(node_);
    return std::string(source.data, static_cast<size_t>(source.length));
  }
  std::string dump(int32_t indent = 0) const {  // 0: one line
    Value text;
    detail::check(service::documents().dump, static_cast<const tenon_json*>(node_), indent,
                  text.slot());
    return text.text();
  }

 private:
  tenon_value value() const { return service::documents().value(node_); }
  void require(bool is_one, std::string_view expected) const {
    if (!is_one) throw_other(expected);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void throw_other(std::string_view expected) const {
    detail::throw_message(TENON_ERROR_TYPE, {place(), ": expected ", expected, ", found ", dump()});
  }
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
  JsonValue(None = none) : value_{} {}  // null
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  JsonValue(T number) : value_(Scalar(number).value()) {}  // an integer or a number
  // A string; borrowed until the document is made.
  JsonValue(std::string_view text) : value_{}, text_(text) { value_.tag = TENON_VALUE_STRING; }
  JsonValue(const std::string& text) : JsonValue(std::string_view(text)) {}  // borrowed
  JsonValue(const char* text) : JsonValue(std::string_view(text)) {}         // borrowed
  JsonValue(Json document) : value_{}, json_(std::move(document)) {  // copied when it is added
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
  JsonArray& add(JsonValue value) {  // returns itself
    values_.push_back(std::move(value));
    return *this;
  }
  bool empty() const { return values_.empty(); }  // without elements
  Json json() const { return create(nullptr); }   // the document

 protected:
  // With keys an object.
  Json create(const std::vector<std::string>* keys) const {
    std::vector<tenon_json_step> steps(values_.size() + 2);
    steps.front().kind = keys == nullptr ? TENON_JSON_ARRAY : TENON_JSON_OBJECT;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (keys != nullptr) steps[i + 1].key = detail::string_of((*keys)[i]);
      steps[i + 1].value = values_[i].value();
    }
    steps.back().kind = TENON_JSON_END;
    tenon_json* node = nullptr;
    detail::check(service::documents().build, static_cast<const tenon_json_step*>(steps.data()),
                  static_cast<int64_t>(steps.size()), static_cast<const tenon_json*>(nullptr),
                  &node);
    return Json::take(node);
  }

 private:
  std::vector<JsonValue> values_;
};

// An object made member by member: JsonObject().set("op", "add").set("alpha", 2).json(). ValueError
// for a key that is set twice.
class JsonObject : private JsonArray {
 public:
  JsonObject& set(std::string_view key, JsonValue value) {  // returns itself
    keys_.emplace_back(key);
    add(std::move(value));
    return *this;
  }
  Json json() const { return create(&keys_); }  // the document

 private:
  std::vector<std::string> keys_;
};

TENON_NAMESPACE_END
