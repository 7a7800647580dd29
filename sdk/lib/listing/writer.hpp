// Documents that are written in order.
#pragma once

#include <deque>
#include <vector>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace listing {

// Writes a document, which the host builds once, with all objects and lists in it.
//
//   writer.begin_array().begin_object().set("name", "add").end().end().json()
//
// Keys are literals: they are not copied.
class Writer {
 public:
  // Within an object as its member `key`.
  Writer& begin_object(const char* key = "") { return step(TENON_JSON_OBJECT, key); }
  Writer& begin_array(const char* key = "") { return step(TENON_JSON_ARRAY, key); }
  Writer& end() { return step(TENON_JSON_END, ""); }
  Writer& set(const char* key, JsonValue value) {
    step(TENON_JSON_VALUE, key);
    steps_.back().value = values_.emplace_back(std::move(value)).value();
    return *this;
  }
  // An element of an array.
  Writer& add(JsonValue value) { return set("", std::move(value)); }

  Json json() const {
    Json document;
    detail::check(service::documents().build, steps_.data(), static_cast<int64_t>(steps_.size()),
                  static_cast<const tenon_json*>(nullptr), document.slot());
    return document;
  }

 private:
  Writer& step(uint32_t kind, std::string_view key) {
    tenon_json_step& added = steps_.emplace_back();
    added.kind = kind;
    added.key = detail::string_of(key);
    return *this;
  }

  std::vector<tenon_json_step> steps_;
  std::deque<JsonValue> values_;  // values that steps_ refers to
};

}  // namespace listing

TENON_NAMESPACE_END
