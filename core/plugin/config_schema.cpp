// The config's table as JSON Schema (draft 7), for editors.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/format.hpp"
#include "core/plugin/config_sections.hpp"
#include "core/plugin/config_table.hpp"
#include "core/plugin/config_text.hpp"

namespace tenon::core {

namespace {

using Type = ConfigType;
using Text = ConfigText;

void put_number(JsonBuilder& out, std::string_view name, double number) {
  if (number == std::floor(number)) {
    out.member(name, static_cast<int64_t>(number));
  } else {
    out.member(name, number);
  }
}

void put_schemas(JsonBuilder& out, std::span<const ConfigSchema> schemas);

// The members that describe one schema, into an object that is open.
void put_schema(JsonBuilder& out, const ConfigSchema& schema) {
  switch (schema.type) {
    case Type::Bool:
      out.member("type", "boolean");
      break;
    case Type::Int:
    case Type::Number:
      out.member("type", schema.type == Type::Int ? "integer" : "number");
      if (schema.low > -kMaxConfigInt)
        put_number(out, schema.above_low ? "exclusiveMinimum" : "minimum", schema.low);
      if (schema.high < kMaxConfigInt)
        put_number(out, schema.below_high ? "exclusiveMaximum" : "maximum", schema.high);
      break;
    case Type::Text:
      out.member("type", "string");
      if (schema.text == Text::Choice) {
        out.key("enum").begin_array();
        for (const std::string_view choice : schema.choices) out.value(choice);
        out.end_array();
      } else if (!text_pattern(schema.text).empty()) {
        out.member("pattern", text_pattern(schema.text));
      } else if (schema.text != Text::Any) {
        out.member("minLength", 1);
      }
      break;
    case Type::Object:
      out.member("$ref", format_text("#/definitions/{}", schema.object->name));
      break;
    case Type::Map:
      out.member("type", "object");
      out.key("propertyNames")
          .begin_object()
          .member("pattern", text_pattern(schema.text))
          .end_object();
      out.key("additionalProperties").begin_object();
      put_schemas(out, schema.elements);
      out.end_object();
      break;
    case Type::Array:
      out.member("type", "array");
      out.key("items").begin_object();
      put_schemas(out, schema.elements);
      out.end_object();
      if (schema.fewest > 0) out.member("minItems", schema.fewest);
      if (schema.most < std::numeric_limits<int64_t>::max()) out.member("maxItems", schema.most);
      break;
    case Type::Free:
      out.member("type", "object");
      break;
    case Type::Any:
      break;
  }
}

void put_schemas(JsonBuilder& out, std::span<const ConfigSchema> schemas) {
  if (schemas.size() == 1) return put_schema(out, schemas.front());
  out.key("anyOf").begin_array();
  for (const ConfigSchema& schema : schemas) {
    out.begin_object();
    put_schema(out, schema);
    out.end_object();
  }
  out.end_array();
}

void put_object(JsonBuilder& out, const ConfigObject& object) {
  out.member("type", "object").member("description", object.meaning);
  out.key("properties").begin_object();
  for (const ConfigKey& key : object.keys) {
    out.key(key.name).begin_object();
    // Draft 7 ignores what is beside $ref.
    const bool reference = key.schemas.size() == 1 && key.schemas.front().type == Type::Object;
    if (reference) {
      out.key("allOf").begin_array().begin_object();
      put_schemas(out, key.schemas);
      out.end_object().end_array();
    } else {
      put_schemas(out, key.schemas);
    }
    out.member("description", key.meaning);
    if (!key.fallback.empty()) out.key("default").copy(*parse_json(key.fallback), false);
    out.end_object();
  }
  out.end_object();
  const auto any = [&](auto&& has) {
    return std::any_of(object.keys.begin(), object.keys.end(), has);
  };
  if (any([](const ConfigKey& key) { return key.required; })) {
    out.key("required").begin_array();
    for (const ConfigKey& key : object.keys) {
      if (key.required) out.value(key.name);
    }
    out.end_array();
  }
  if (any([](const ConfigKey& key) { return !key.needs.empty(); })) {
    out.key("dependencies").begin_object();
    for (const ConfigKey& key : object.keys) {
      if (key.needs.empty()) continue;
      out.key(key.name).begin_array();
      for (const std::string_view need : key.needs) out.value(need);
      out.end_array();
    }
    out.end_object();
  }
  out.member("additionalProperties", object.open);
  if (!object.examples.empty()) out.key("examples").copy(*parse_json(object.examples), false);
}

void put_definition(JsonBuilder& out, const ConfigObject& object) {
  if (object.shorthand.empty()) return put_object(out, object);
  out.key("anyOf").begin_array();
  std::string meaning = format_text("short for {{\"{}\": ...}}", object.shorthand);
  if (!object.path_shorthand.empty())
    meaning +=
        format_text(", with a '/' or the ending .so for {{\"{}\": ...}}", object.path_shorthand);
  out.begin_object().member("type", "string").member("minLength", 1);
  out.member("description", meaning).end_object();
  out.begin_object();
  put_object(out, object);
  out.end_object().end_array();
}

void collect_objects(std::span<const ConfigSchema> schemas,
                     std::vector<const ConfigObject*>& objects) {
  for (const ConfigSchema& schema : schemas) {
    collect_objects(schema.elements, objects);
    if (schema.object == nullptr) continue;
    bool known = false;
    for (const ConfigObject* object : objects) known = known || object == schema.object;
    if (known) continue;
    objects.push_back(schema.object);
    for (const ConfigKey& key : schema.object->keys) collect_objects(key.schemas, objects);
  }
}

}  // namespace

Json config_schema(const tenon_json* schema) {
  const ConfigSections sections(schema);
  std::vector<const ConfigObject*> objects;
  for (const ConfigKey& key : sections.table().keys) collect_objects(key.schemas, objects);
  JsonBuilder out;
  out.begin_object().member("$schema", "http://json-schema.org/draft-07/schema#");
  out.member("title", "Tenon config");
  put_object(out, sections.table());
  out.key("definitions").begin_object();
  for (const ConfigObject* object : objects) {
    out.key(object->name).begin_object();
    put_definition(out, *object);
    out.end_object();
  }
  out.end_object().end_object();
  return out.finish();
}

}  // namespace tenon::core
