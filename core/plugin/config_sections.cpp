// A JSON Schema of sections as tables of keys.
#include "core/plugin/config_sections.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace tenon::core {

namespace {

std::string_view text_in(const tenon_json& node, std::string_view key) {
  const tenon_json* found = node.find(key);
  return found == nullptr ? std::string_view() : found->as_string();
}

[[noreturn]] void refuse(const tenon_json& node, std::string_view what) {
  throw Error(TENON_ERROR_VALUE, "the schema of config sections: {}: {}", pointer_of(node), what);
}

// Two JSON arrays as one.
std::string joined(std::string_view first, std::string_view second) {
  return format_text("{},{}", first.substr(0, first.rfind(']')), second.substr(1));
}

struct Format {
  std::string_view name;
  ConfigText text;
};
constexpr Format kFormats[] = {{"name", ConfigText::Name},
                               {"input-path", ConfigText::InputPath},
                               {"output-path", ConfigText::OutputPath}};

}  // namespace

ConfigSections::ConfigSections(const tenon_json* schema) : schema_(schema), root_(config_table()) {
  root_.open = schema == nullptr;
  if (schema == nullptr) return;
  std::vector<ConfigKey> all(root_.keys.begin(), root_.keys.end());
  const std::vector<ConfigKey> sections = keys_of(*schema);
  all.insert(all.end(), sections.begin(), sections.end());
  root_.keys = keys_.emplace_back(std::move(all));
  if (const tenon_json* examples = schema->find("examples"))
    root_.examples = texts_.emplace_back(joined(root_.examples, dump(*examples)));
}

std::vector<ConfigKey> ConfigSections::keys_of(const tenon_json& object) {
  std::vector<ConfigKey> keys;
  for (const tenon_json& property : object.get("properties").children()) {
    ConfigKey key;
    key.name = property.key();
    key.meaning = text_in(property, "description");
    key.schemas = schemas_of(property);
    if (const tenon_json* fallback = property.find("default"))
      key.fallback = texts_.emplace_back(dump(*fallback));
    if (const tenon_json* required = object.find("required")) {
      for (const tenon_json& name : required->children())
        key.required = key.required || name.as_string() == key.name;
    }
    if (const tenon_json* needs = object.find("dependencies")) {
      if (const tenon_json* list = needs->find(key.name)) key.needs = names_of(*list);
    }
    keys.push_back(key);
  }
  return keys;
}

std::span<const std::string_view> ConfigSections::names_of(const tenon_json& list) {
  std::vector<std::string_view>& names = names_.emplace_back();
  for (const tenon_json& name : list.children()) names.push_back(name.as_string());
  return names;
}

std::span<const ConfigSchema> ConfigSections::schemas_of(const tenon_json& schema) {
  std::vector<ConfigSchema> list;
  if (const tenon_json* several = schema.find("anyOf")) {
    for (const tenon_json& one : several->children()) list.push_back(schema_of(one));
  } else {
    list.push_back(schema_of(schema));
  }
  return schemas_.emplace_back(std::move(list));
}

ConfigSchema ConfigSections::schema_of(const tenon_json& schema) {
  if (schema.find("$ref") != nullptr)
    return {.type = ConfigType::Object, .object = referenced(schema)};
  ConfigSchema read;
  const std::string_view type = text_in(schema, "type");
  if (type.empty()) return {.type = ConfigType::Any};
  if (type == "boolean") return {.type = ConfigType::Bool};
  if (type == "string") return text_schema(schema);
  if (type == "object") {
    if (schema.find("properties") == nullptr) return {.type = ConfigType::Free};
    return {.type = ConfigType::Object, .object = object_of(schema.key(), schema)};
  }
  if (type == "array") {
    read.type = ConfigType::Array;
    read.elements = schemas_of(schema.get("items"));
    if (const tenon_json* fewest = schema.find("minItems")) read.fewest = fewest->as_int();
    if (const tenon_json* most = schema.find("maxItems")) read.most = most->as_int();
    return read;
  }
  if (type != "integer" && type != "number") refuse(schema, format_text("unknown type '{}'", type));
  read.type = type == "integer" ? ConfigType::Int : ConfigType::Number;
  if (type == "integer") read.low = -kMaxConfigInt, read.high = kMaxConfigInt;
  const auto bound = [&](std::string_view name, double& limit) {
    const tenon_json* found = schema.find(name);
    if (found != nullptr) limit = found->as_double();
    return found != nullptr;
  };
  bound("minimum", read.low);
  bound("maximum", read.high);
  read.above_low = bound("exclusiveMinimum", read.low);
  read.below_high = bound("exclusiveMaximum", read.high);
  return read;
}

ConfigSchema ConfigSections::text_schema(const tenon_json& schema) {
  ConfigSchema read{.type = ConfigType::Text};
  if (const tenon_json* choices = schema.find("enum")) {
    read.text = ConfigText::Choice;
    read.choices = names_of(*choices);
  }
  const std::string_view name = text_in(schema, "format");
  if (name.empty()) return read;
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const Format& format) { return format.name == name; });
  if (found == std::end(kFormats)) refuse(schema, format_text("unknown format '{}'", name));
  read.text = found->text;
  return read;
}

const ConfigObject* ConfigSections::object_of(std::string_view name, const tenon_json& schema) {
  ConfigObject& object = objects_.emplace_back();
  object.name = name;  // known before its keys are read, which may refer to it
  object.meaning = text_in(schema, "description");
  object.shorthand = text_in(schema, "shorthand");
  const tenon_json* open = schema.find("additionalProperties");
  object.open = open == nullptr || open->as_bool();
  if (const tenon_json* examples = schema.find("examples"))
    object.examples = texts_.emplace_back(dump(*examples));
  object.keys = keys_.emplace_back(keys_of(schema));
  return &object;
}

const ConfigObject* ConfigSections::referenced(const tenon_json& reference) {
  constexpr std::string_view kStart = "#/definitions/";
  const std::string_view target = text_in(reference, "$ref");
  if (!target.starts_with(kStart)) refuse(reference, "a $ref must be to #/definitions/NAME");
  const std::string_view name = target.substr(kStart.size());
  for (const ConfigObject& object : objects_) {
    if (object.name == name) return &object;
  }
  const tenon_json* definitions = schema_->find("definitions");
  const tenon_json* found = definitions == nullptr ? nullptr : definitions->find(name);
  if (found == nullptr) refuse(reference, format_text("unknown definition '{}'", name));
  return object_of(name, *found);
}

}  // namespace tenon::core
