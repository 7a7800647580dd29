// The config as data: the keys of plugins, ops and types, each with its types, range, default,
// meaning and examples. Reading, the editors' JSON Schema and the reference page all come from this
// table. Further sections of a
// config are described in JSON by what reads them: config_sections.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/base/json.hpp"

namespace tenon::core {

enum class ConfigType : uint8_t {
  Bool,
  Int,
  Number,
  Text,
  Object,  // with the keys of `object`
  Map,     // any keys, values of `elements`
  Array,   // of `elements`
  Free,    // an object that another component checks
  Any      // any value, which another component checks
};

// What a text stands for.
enum class ConfigText : uint8_t {
  Any,
  Choice,
  InputPath,   // made absolute, from the config's folder
  OutputPath,  // the same
  PluginId,    // or one version of it: "math@1.2.0"
  PluginPath,
  Name,     // an op or module: words with dots between
  Pattern,  // the same, where '*' stands for anything
  Version,
  Sha256,
  PublicKey,   // of minisign
  ShapeClass,  // of operands: "f32[64..127, 784]"
  Namespace    // a name, or names that begin with it: "acme", "acme."; '*' stands for anything
};

// Integers that every JSON reader keeps exactly are between its negative and it.
inline constexpr double kMaxConfigInt = 9007199254740992.0;

struct ConfigObject;

// One way in which a value may be written.
struct ConfigSchema {
  ConfigType type = ConfigType::Free;
  ConfigText text = ConfigText::Any;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;   // low itself is out
  bool below_high = false;  // high itself is out
  std::span<const std::string_view> choices{};
  const ConfigObject* object = nullptr;
  std::span<const ConfigSchema> elements{};
  int64_t fewest = 0;  // of arrays
  int64_t most = std::numeric_limits<int64_t>::max();
};

struct ConfigKey {
  std::string_view name;
  std::string_view meaning;
  std::span<const ConfigSchema> schemas;
  bool required = false;
  std::string_view fallback{};                // JSON of the default; empty: none
  std::span<const std::string_view> needs{};  // keys beside it without which it makes no sense
};

struct ConfigObject {
  std::string_view name;
  std::string_view meaning;
  std::span<const ConfigKey> keys;
  bool open = false;                  // other keys belong to another component
  std::string_view shorthand{};       // the key that a bare text in place of the object stands for
  std::string_view path_shorthand{};  // the same for a text that is a plugin's path
  std::string_view examples{};        // JSON array of objects that have every key between them
};

const ConfigObject& config_table();

// JSON Schema (draft 7) of configs with these further sections, which may be null, for editors.
Json config_schema(const tenon_json* sections);

}  // namespace tenon::core
