// Sections that an application adds to the config, read from a JSON Schema into the config's table.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.hpp"
#include "core/plugin/config_table.hpp"

namespace tenon::core {

// The host's table with the sections behind its own keys. The slot config_read_sections has the
// part of JSON Schema that is understood; ValueError names the place of anything else.
class ConfigSections {
 public:
  // Null: the host's own keys, and any other key is left to the application.
  explicit ConfigSections(const tenon_json* schema);
  ConfigSections(const ConfigSections&) = delete;
  ConfigSections& operator=(const ConfigSections&) = delete;
  const ConfigObject& table() const { return root_; }

 private:
  std::vector<ConfigKey> keys_of(const tenon_json& object);
  std::span<const ConfigSchema> schemas_of(const tenon_json& schema);
  ConfigSchema schema_of(const tenon_json& schema);
  ConfigSchema text_schema(const tenon_json& schema);
  const ConfigObject* object_of(std::string_view name, const tenon_json& schema);
  const ConfigObject* referenced(const tenon_json& reference);
  std::span<const std::string_view> names_of(const tenon_json& list);

  Json schema_;
  ConfigObject root_;
  // Addresses stay: tables refer to each other, and may be recursive.
  std::deque<ConfigObject> objects_;
  std::deque<std::vector<ConfigKey>> keys_;
  std::deque<std::vector<ConfigSchema>> schemas_;
  std::deque<std::vector<std::string_view>> names_;
  std::deque<std::string> texts_;
};

}  // namespace tenon::core
