// A JSON Schema as the reader walks it: tables of keys, that refer to each other.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>

#include "format.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

struct ObjectSchema;

// Integers that every JSON reader keeps exactly are between its negative and it.
inline constexpr double kMostInteger = 9007199254740992.0;

// One way in which a value may be written.
struct ValueSchema {
  enum class Type : uint8_t {
    boolean,
    integer,
    number,
    text,
    object,   // with the keys of `object`
    map,      // any keys, values of `elements`
    array,    // of `elements`
    members,  // an object that another component checks
    any       // any value, which another component checks
  };
  Type type = Type::any;
  const Format* format = nullptr;  // a text's, or that of the keys of a map
  std::vector<std::string> choices{};
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;   // low itself is out
  bool below_high = false;  // high itself is out
  const ObjectSchema* object = nullptr;
  std::vector<ValueSchema> elements{};
  int64_t fewest = 0;  // length of arrays
  int64_t most = std::numeric_limits<int64_t>::max();
};

struct KeySchema {
  std::string name, meaning;
  std::vector<ValueSchema> schemas;
  bool required = false;
  Json fallback;                   // undefined: no default
  std::vector<std::string> needs;  // keys beside it without which it makes no sense
};

struct ObjectSchema {
  std::string name;  // among the definitions; empty: it is none
  std::vector<KeySchema> keys;
  bool open = true;            // other keys belong to another component
  std::string shorthand;       // key that a bare text in place of the object stands for
  std::string path_shorthand;  // key that a text stands for when it is a plugin's path

  const KeySchema* find(std::string_view key) const;
  // Keys that messages offer: without "$schema".
  std::vector<std::string> names() const;
};

class Schema {
 public:
  // ValueError with the place of what is not of the subset, see config.hpp.
  explicit Schema(const Json& schema);
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  const ObjectSchema& root() const { return *root_; }

 private:
  const ObjectSchema* object_of(std::string_view name, const Json& schema);
  const ObjectSchema* referenced(const Json& reference);
  std::vector<ValueSchema> values_of(const Json& schema);
  ValueSchema value_of(const Json& schema);

  Json schema_;
  std::deque<ObjectSchema> objects_;  // addresses stay: objects refer to each other
  const ObjectSchema* root_;
};

// "an integer from 1 to 1024", "'lazy', 'eager' or 'never'", ...
std::string expected_text(const ValueSchema& schema);
std::string expected_text(const std::vector<ValueSchema>& schemas);

}  // namespace config

TENON_NAMESPACE_END
