// Nodes of a config as the reader sees them, and the normalized document that it makes of them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace config {

// Borrowed from a document. Null where there is nothing, as Json is.
class ConfigNode {
 public:
  ConfigNode(const tenon_json* node = nullptr) : node_(node) {}
  ConfigNode(const Json& document) : node_(document.handle()) {}

  explicit operator bool() const { return node_ != nullptr; }
  const tenon_json* handle() const { return node_; }
  tenon_value value() const { return service::documents().value(node_); }

  bool is_bool() const { return value().tag == TENON_VALUE_BOOL; }
  bool is_integer() const { return value().tag == TENON_VALUE_INT; }
  bool is_number() const { return is_integer() || value().tag == TENON_VALUE_FLOAT; }
  bool is_text() const { return value().tag == TENON_VALUE_STRING; }
  bool is_object() const { return service::documents().is_object(node_) != 0; }
  bool is_array() const { return value().tag == TENON_VALUE_JSON && !is_object(); }

  bool as_bool() const { return value().as.integer != 0; }
  double number() const {
    const tenon_value number = value();
    return number.tag == TENON_VALUE_INT ? static_cast<double>(number.as.integer)
                                         : number.as.number;
  }
  // Empty for other values.
  std::string_view text() const {
    const tenon_value text = value();
    return text.tag == TENON_VALUE_STRING ? std::string_view(text.as.string, text.length)
                                          : std::string_view();
  }
  std::string dump() const { return Json::borrow(node_).dump(); }

  int64_t size() const { return service::documents().size(node_); }
  ConfigNode operator[](int64_t index) const { return service::documents().at(node_, index); }
  ConfigNode operator[](std::string_view key) const {
    return service::documents().find(node_, key.data(), static_cast<int64_t>(key.size()));
  }
  std::string_view key(int64_t index) const {
    const tenon_string key = service::documents().key(node_, index);
    return {key.data, static_cast<size_t>(key.length)};
  }
  tenon_json_place place() const { return position().value; }
  tenon_json_place key_place() const { return position().key; }

 private:
  tenon_json_position position() const {
    tenon_json_position position;
    service::documents().position(node_, &position);
    return position;
  }
  const tenon_json* node_;
};

// The way from the root to a node: a chain on the stack of the walk.
struct Path {
  const Path* outer = nullptr;
  std::string_view key{};
  int64_t index = -1;  // in an array; -1: a member

  // A JSON pointer.
  std::string text() const;
};

// Control characters, those of line breaks too, as escapes.
std::string escaped(std::string_view text);
// "FILE:3:14", "line 3, column 14" without a file.
std::string place_text(std::string_view file, tenon_json_place place);

// A document, front to back. Nodes and texts that it is made of are borrowed until `finish`.
class DocumentBuilder {
 public:
  // The key of the member that begins next.
  void key(std::string_view key) { key_ = key; }
  // `origin`: the node whose place it has; null: none.
  void begin_object(ConfigNode origin) { add(TENON_JSON_OBJECT, {}, origin); }
  void begin_array(ConfigNode origin) { add(TENON_JSON_ARRAY, {}, origin); }
  void end() { add(TENON_JSON_END, {}, nullptr); }
  void value(tenon_value value, ConfigNode origin) { add(TENON_JSON_VALUE, value, origin); }
  void text(std::string text, ConfigNode origin);
  // The node with all below it.
  void copy(ConfigNode node, ConfigNode origin);

  // A document of the file that `source` came from.
  Json finish(ConfigNode source) const;

 private:
  void add(uint32_t kind, tenon_value value, ConfigNode origin);

  std::string_view key_;
  std::vector<tenon_json_step> steps_;
  std::deque<std::string> texts_;
};

}  // namespace config

TENON_NAMESPACE_END
