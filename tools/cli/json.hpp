// JSON that is made here; listings of the runtime come as trees that print themselves.
#pragma once

#include <string>
#include <string_view>

#include <tenon/tree.hpp>

#include "terminal.hpp"
#include "text.hpp"

namespace cli {

// An object member by member; text() is valid at any time.
class JsonObject {
 public:
  JsonObject& raw(std::string_view key, std::string_view json) {
    text_ += (text_.empty() ? "" : ",") + json_string(key) + ":" + std::string(json);
    return *this;
  }
  JsonObject& put(std::string_view key, std::string_view text) {
    return raw(key, json_string(text));
  }
  JsonObject& put(std::string_view key, double number) { return raw(key, json_number(number)); }
  JsonObject& put(std::string_view key, int64_t number) { return raw(key, std::to_string(number)); }
  JsonObject& truth(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  // The text, or null when it is empty.
  JsonObject& optional(std::string_view key, std::string_view text) {
    return raw(key, text.empty() ? "null" : json_string(text));
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

class JsonArray {
 public:
  JsonArray& raw(std::string_view json) {
    text_ += (text_.empty() ? "" : ",") + std::string(json);
    return *this;
  }
  std::string text() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
};

// In the form of all listings: two spaces to a level.
inline void print_json(const tenon::Tree& tree) { print(tree.json(2) + "\n"); }
inline void print_json(const std::string& json) { print_json(tenon::Tree::parse(json)); }

}  // namespace cli
