// JSON documents: immutable, and they remember where in its source each node was.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/error.h"
#include "tenon/abi/value.h"

namespace tenon::core {

enum class JsonKind : uint8_t { Null, Bool, Int, Double, String, Array, Object };

struct JsonDocument;
class JsonBuilder;

// Place of a node or its key in the source. Line and column count from 1, columns in characters;
// line 0: made by code.
struct JsonPlace {
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t offset = 0;  // bytes from the start of the source
};

}  // namespace tenon::core

// A node. The document owns all of its nodes; retain and release on any node count for the
// document.
struct tenon_json {
  using Kind = tenon::core::JsonKind;

  Kind kind() const noexcept { return kind_; }
  bool is_null() const noexcept { return kind_ == Kind::Null; }
  bool is_bool() const noexcept { return kind_ == Kind::Bool; }
  bool is_int() const noexcept { return kind_ == Kind::Int; }
  bool is_number() const noexcept { return kind_ == Kind::Int || kind_ == Kind::Double; }
  bool is_string() const noexcept { return kind_ == Kind::String; }
  bool is_array() const noexcept { return kind_ == Kind::Array; }
  bool is_object() const noexcept { return kind_ == Kind::Object; }

  // Throw ValueError, naming the place, when the node is of another kind. as_double takes ints too.
  bool as_bool() const;
  int64_t as_int() const;
  double as_double() const;
  std::string_view as_string() const;

  // Elements or members; 0 for scalars.
  int64_t size() const noexcept { return count_; }
  std::span<const tenon_json> children() const noexcept;
  const tenon_json* at(int64_t index) const noexcept;
  const tenon_json* find(std::string_view key) const noexcept;
  // find, with a ValueError that names the object when there is no such member.
  const tenon_json& get(std::string_view key) const;
  // The key of the node in its parent object; empty elsewhere.
  std::string_view key() const noexcept;
  const tenon_json* parent() const noexcept;
  // The file name that the document was parsed from, or "".
  std::string_view source() const noexcept;

  // The value as the json_value slot gives it: strings borrowed, arrays and objects as JSON.
  tenon_value value() const noexcept;

  tenon::core::JsonPlace place() const noexcept { return place_; }
  tenon::core::JsonPlace key_place() const noexcept { return key_place_; }

  void retain() const noexcept;
  void release() const noexcept;

 private:
  friend class tenon::core::JsonBuilder;
  friend struct tenon::core::JsonDocument;

  tenon::core::JsonDocument* document_ = nullptr;
  union {
    int64_t integer;
    double number;
    struct {
      uint32_t offset;
      uint32_t length;
    } string;        // in the document's text
    uint32_t first;  // index of the first child
  } as_{0};
  uint32_t count_ = 0;  // children
  uint32_t key_offset_ = 0;
  uint32_t key_length_ = 0;
  uint32_t parent_ = UINT32_MAX;
  uint32_t sorted_ = UINT32_MAX;  // large objects: where their order by key begins
  tenon::core::JsonPlace place_;
  tenon::core::JsonPlace key_place_;
  Kind kind_ = Kind::Null;
};

namespace tenon::core {

// Counted pointer to a node, and so to its document. `Json::take` adopts the caller's reference.
class Json {
 public:
  Json() = default;
  explicit Json(const tenon_json* node) noexcept : node_(node) {
    if (node_ != nullptr) node_->retain();
  }
  static Json take(const tenon_json* node) noexcept {
    Json document;
    document.node_ = node;
    return document;
  }
  Json(const Json& other) noexcept : Json(other.node_) {}
  Json(Json&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Json& operator=(Json other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Json() {
    if (node_ != nullptr) node_->release();
  }

  const tenon_json* get() const noexcept { return node_; }
  // Hands the reference over, in the form that the boundary uses.
  tenon_json* give() noexcept { return const_cast<tenon_json*>(std::exchange(node_, nullptr)); }
  const tenon_json* operator->() const noexcept { return node_; }
  const tenon_json& operator*() const noexcept { return *node_; }
  explicit operator bool() const noexcept { return node_ != nullptr; }

 private:
  const tenon_json* node_ = nullptr;
};

// A key that an object has twice. `pointer` is the JSON pointer of the second one.
struct DuplicateKey {
  std::string key;
  std::string pointer;
  JsonPlace place;
  JsonPlace first;
};

struct JsonOptions {
  std::string source;                     // file name for messages; may be empty
  tenon_status kind = TENON_ERROR_VALUE;  // kind of the errors thrown
  size_t max_bytes = size_t{64} << 20;
  size_t max_depth = 64;
  bool relaxed = false;  // take comments and trailing commas
  // When given: duplicates are collected here and the first of each is kept; else they are an
  // error.
  std::vector<DuplicateKey>* duplicates = nullptr;
};

// Parses strict JSON in UTF-8. Integers outside of 64 bits and numbers outside of double are
// errors, not approximations. Errors give the place and show the line:
//   line 3, column 14: duplicate key 'name' (first at line 2, column 5)
//     {"name": 1, "name": 2}
//                 ^
// With a source name they begin with `FILE:3:14: ` instead.
Json parse_json(std::string_view json, const JsonOptions& options = {});

// Receives the values of a text in its order. Texts and values are borrowed during the call.
class JsonEvents {
 public:
  virtual void begin(bool object, JsonPlace place) = 0;
  virtual void end() = 0;
  virtual void key(std::string_view text, JsonPlace place) = 0;
  virtual void scalar(const tenon_value& value, JsonPlace place) = 0;

 protected:
  ~JsonEvents() = default;
};

// Parses as parse_json does, but makes no document: `events` sees duplicate keys too.
void scan_json(std::string_view json, const JsonOptions& options, JsonEvents& events);

// indent 0: one line without spaces. Numbers read back as the same kind and value; what JSON cannot
// express is written as null (inf, nan) or U+FFFD (bytes that are not UTF-8).
std::string dump(const tenon_json& document, int32_t indent = 0);

// The node at a JSON pointer ("/plugins/0/name") below `document`; null when there is none.
const tenon_json* json_at_pointer(const tenon_json& document, std::string_view pointer);
// The JSON pointer of a node in its document; "" for the root.
std::string pointer_of(const tenon_json& node);
// `pointer` with one more step, escaped.
std::string pointer_step(std::string_view pointer, std::string_view key);
// "FILE:3:14", "line 3, column 14" without a source name, "" for what code made.
std::string place_text(std::string_view source, JsonPlace place);
// "FILE:3:14: /plugins/0/name": where a node is written. Only what of it is known: "line 3, column
// 14: /plugins" without a source, the pointer alone of what code made, "" for its root.
std::string place_of(const tenon_json& node);
// "a string", "an integer", "null", ...
std::string_view kind_text(JsonKind kind);

// Makes a document from code, in document order:
//   JsonBuilder builder;
//   builder.begin_object().member("name", "add");
//   builder.key("types").begin_array().value("Tensor").end_array();
//   builder.end_object();
//   Json document = builder.finish();
// Misuse (a key outside of an object, a duplicate key, an open container) is a ValueError.
class JsonBuilder {
 public:
  // `source`: the file that copied nodes came from.
  explicit JsonBuilder(std::string_view source = {});
  JsonBuilder(const JsonBuilder&) = delete;
  JsonBuilder& operator=(const JsonBuilder&) = delete;
  ~JsonBuilder();

  JsonBuilder& begin_object();
  JsonBuilder& end_object();
  JsonBuilder& begin_array();
  JsonBuilder& end_array();
  // Ends the innermost of both.
  JsonBuilder& end();
  bool is_in_object() const { return !frames_.empty() && frames_.back().object; }
  JsonBuilder& key(std::string_view name, JsonPlace place = {});
  // The place of the next value or container; without it, none.
  JsonBuilder& at(JsonPlace place);

  JsonBuilder& value(std::nullptr_t);
  template <std::same_as<bool> Value>
  JsonBuilder& value(Value boolean) {
    return add_bool(boolean);
  }
  template <std::integral Value>
  requires(!std::same_as<Value, bool>) JsonBuilder& value(Value number) {
    return add_int(static_cast<int64_t>(number));
  }
  template <std::floating_point Value>
  JsonBuilder& value(Value number) {
    return add_double(static_cast<double>(number));
  }
  JsonBuilder& value(std::string_view text);
  JsonBuilder& value(const char* text) { return value(std::string_view(text)); }
  JsonBuilder& value(const std::string& text) { return value(std::string_view(text)); }

  template <class Value>
  JsonBuilder& member(std::string_view name, const Value& content) {
    return key(name).value(content);
  }
  // A node of another document with all below it; places are kept unless `places` is false.
  JsonBuilder& copy(const tenon_json& node, bool places = true);

  Json finish();

  // For the parser: where duplicates go.
  void collect_duplicates(std::vector<DuplicateKey>* duplicates) { duplicates_ = duplicates; }
  void reserve(size_t nodes, size_t text);

 private:
  struct Frame {
    size_t container;  // index in pending_
    bool object;
  };

  JsonBuilder& add_bool(bool boolean);
  JsonBuilder& add_int(int64_t number);
  JsonBuilder& add_double(double number);
  tenon_json& push(JsonKind kind);
  uint32_t store(std::string_view text);
  JsonBuilder& end(bool object);
  void index_keys(size_t first);
  std::string open_pointer() const;
  std::string_view key_text(const tenon_json& node) const;

  JsonDocument* document_;
  std::vector<tenon_json> pending_;  // open containers, each followed by its children so far
  std::vector<Frame> frames_;
  std::vector<DuplicateKey>* duplicates_ = nullptr;
  JsonPlace place_;
  JsonPlace key_place_;
  uint32_t key_offset_ = 0;
  uint32_t key_length_ = 0;
  bool has_key_ = false;
};

}  // namespace tenon::core
