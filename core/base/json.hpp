// JSON documents: immutable, and they remember where in its source each node was.
//
// Boost.JSON parses; its `value` is not used, because it knows neither key nor parent nor place,
// and because a node here is the boundary's value already.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/intrusive_ptr.hpp"
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
  // As the boundary has it: strings borrowed, arrays and objects as JSON.
  tenon_value value() const noexcept { return value_; }

  // Elements or members; none for scalars.
  std::span<const tenon_json> children() const noexcept { return {children_, count_}; }
  int64_t size() const noexcept { return count_; }
  const tenon_json* at(int64_t index) const noexcept {
    return index < 0 || index >= count_ ? nullptr : children_ + index;
  }
  const tenon_json* find(std::string_view key) const noexcept;
  // find, with a ValueError that names the object when there is no such member.
  const tenon_json& get(std::string_view key) const;
  // The key of the node in its parent object; empty elsewhere.
  std::string_view key() const noexcept { return key_; }
  const tenon_json* parent() const noexcept { return parent_; }

  // The file name that the document was parsed from, or "".
  std::string_view source() const noexcept;
  tenon::core::JsonPlace place() const noexcept { return place_; }
  tenon::core::JsonPlace key_place() const noexcept { return key_place_; }

  void retain() const noexcept;
  void release() const noexcept;

 private:
  friend class tenon::core::JsonBuilder;

  tenon::core::JsonDocument* document_ = nullptr;
  tenon_value value_{};
  tenon_json* children_ = nullptr;
  const uint32_t* by_key_ = nullptr;  // positions of an object's members, by key
  const tenon_json* parent_ = nullptr;
  std::string_view key_;
  tenon::core::JsonPlace place_;
  tenon::core::JsonPlace key_place_;
  uint32_t count_ = 0;  // children
  Kind kind_ = Kind::Null;
};

namespace tenon::core {

// Counted pointer to a node, and so to its document. Nodes are immutable: pointers to them with and
// without const mean the same.
class Json : public IntrusivePtr<tenon_json> {
 public:
  Json() = default;
  Json(IntrusivePtr node) noexcept : IntrusivePtr(std::move(node)) {}
  explicit Json(const tenon_json* node) noexcept : IntrusivePtr(const_cast<tenon_json*>(node)) {}
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
  // When given: duplicates are listed here and the first of each is kept; else they are an error.
  std::vector<DuplicateKey>* duplicates = nullptr;
};

// Parses strict JSON in UTF-8. Integers outside of 64 bits and numbers outside of double are
// errors, not approximations. Errors give the place and show the line:
//   line 3, column 14: duplicate key 'name' (first at line 2, column 5)
//     {"name": 1, "name": 2}
//                 ^
// With a source name they begin with `FILE:3:14: ` instead.
Json parse_json(std::string_view json, const JsonOptions& options = {});

// For texts of strangers, of which few bytes can make a document of many times their memory:
// throws, with the options' kind and source, when parse_json could take more memory for the text
// than its size and 256 MiB, from which the caller takes `bytes_per_value` for what it makes
// of each value. To be called before it; 838,000 values are always read where the caller takes
// nothing.
void require_bounded(std::string_view json, const JsonOptions& options, size_t bytes_per_value = 0);

// Receives the values of a document in its order. Texts and values are borrowed during the call.
class JsonEvents {
 public:
  virtual void on_begin(bool object, JsonPlace place) = 0;
  virtual void on_end() = 0;
  virtual void on_key(std::string_view text, JsonPlace place) = 0;
  // NONE, BOOL, INT, FLOAT or STRING.
  virtual void on_scalar(const tenon_value& value, JsonPlace place) = 0;

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

// Makes a document, in document order:
//   JsonBuilder builder;
//   builder.begin_object().member("name", "add");
//   builder.key("types").begin_array().value("Tensor").end_array();
//   builder.end_object();
//   Json document = builder.finish();
// Misuse (a key outside of an object, a duplicate key, an open container) is a ValueError.
class JsonBuilder final : public JsonEvents {
 public:
  // `source`: the file that the nodes came from.
  explicit JsonBuilder(std::string_view source = {});
  JsonBuilder(const JsonBuilder&) = delete;
  JsonBuilder& operator=(const JsonBuilder&) = delete;
  ~JsonBuilder();

  void on_begin(bool object, JsonPlace place) override;
  void on_end() override;
  void on_key(std::string_view text, JsonPlace place) override;
  void on_scalar(const tenon_value& value, JsonPlace place) override;

  JsonBuilder& begin_object() { return begin(true); }
  JsonBuilder& end_object() { return end(true); }
  JsonBuilder& begin_array() { return begin(false); }
  JsonBuilder& end_array() { return end(false); }
  JsonBuilder& key(std::string_view name) {
    on_key(name, {});
    return *this;
  }
  JsonBuilder& value(std::nullptr_t) { return scalar({}); }
  template <std::same_as<bool> Value>
  JsonBuilder& value(Value boolean) {
    return scalar({TENON_VALUE_BOOL, 0, {.integer = boolean ? 1 : 0}});
  }
  template <std::integral Value>
  requires(!std::same_as<Value, bool>) JsonBuilder& value(Value number) {
    return scalar({TENON_VALUE_INT, 0, {.integer = static_cast<int64_t>(number)}});
  }
  template <std::floating_point Value>
  JsonBuilder& value(Value number) {
    return scalar({TENON_VALUE_FLOAT, 0, {.number = static_cast<double>(number)}});
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

  // Whether the next value needs a key.
  bool is_in_object() const { return !open_.empty() && pending_[open_.back()].is_object(); }
  // Members that were dropped, because an earlier one has their key: the first hundred of them.
  std::vector<DuplicateKey> take_duplicates() { return std::exchange(duplicates_, {}); }
  // ValueError where duplicates were not taken.
  Json finish();

 private:
  JsonBuilder& begin(bool object) {
    on_begin(object, {});
    return *this;
  }
  JsonBuilder& end(bool object);
  JsonBuilder& scalar(const tenon_value& value) {
    on_scalar(value, {});
    return *this;
  }
  tenon_json& push(JsonKind kind, JsonPlace place);
  std::string_view store(std::string_view text);
  std::span<uint32_t> members_by_key(size_t first);
  const uint32_t* index_members(size_t first);
  tenon_json* settle(std::span<const tenon_json> nodes);
  std::string open_pointer() const;

  JsonDocument* document_;
  std::vector<tenon_json> pending_;  // open containers, each followed by its children so far
  std::vector<size_t> open_;         // positions of open containers in pending_
  std::vector<DuplicateKey> duplicates_;
  std::string_view key_;
  JsonPlace key_place_;
  bool has_key_ = false;
};

}  // namespace tenon::core
