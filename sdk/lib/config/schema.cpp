#include "schema.hpp"

#include <cmath>
#include <utility>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

namespace {

using Type = ValueSchema::Type;

[[noreturn]] void refuse(const Json& node, const std::string& what) {
  throw ValueError(lib::format_text("the schema of config sections: {}: {}", node.place(), what));
}

const Format* format_of(const Json& schema) {
  const std::string name = schema["format"].text();
  const Format* format = find_format(name);
  if (format == nullptr && !name.empty())
    refuse(schema, lib::format_text("unknown format '{}'", name));
  return format;
}

void read_bounds(const Json& schema, ValueSchema& value) {
  const auto bound = [&](const char* name, double& limit) {
    const Json found = schema[name];
    if (found.defined()) limit = found.number();
    return found.defined();
  };
  bound("minimum", value.low);
  bound("maximum", value.high);
  value.above_low = bound("exclusiveMinimum", value.low);
  value.below_high = bound("exclusiveMaximum", value.high);
}

}  // namespace

const KeySchema* ObjectSchema::find(std::string_view key) const {
  for (const KeySchema& one : keys) {
    if (one.name == key) return &one;
  }
  return nullptr;
}

std::vector<std::string> ObjectSchema::names() const {
  std::vector<std::string> names;
  for (const KeySchema& key : keys) {
    if (key.name != "$schema") names.push_back(key.name);
  }
  return names;
}

Schema::Schema(const Json& schema) : schema_(schema), root_(object_of("", schema)) {}

const ObjectSchema* Schema::object_of(std::string_view name, const Json& schema) {
  ObjectSchema& object = objects_.emplace_back();
  object.name = name;  // known before its keys are read, which may refer to it
  object.shorthand = schema["shorthand"].text();
  object.path_shorthand = schema["path_shorthand"].text();
  object.open = schema["additionalProperties"].as_bool(true);
  const std::vector<std::string> required = lib::texts_of(schema["required"]);
  const Json properties = schema["properties"];
  for (int64_t i = 0; i < properties.size(); ++i) {
    const Json property = properties[i];
    KeySchema key;
    key.name = properties.key(i);
    key.meaning = property["description"].text();
    key.schemas = values_of(property);
    key.fallback = property["default"];
    for (const std::string& one : required) key.required = key.required || one == key.name;
    key.needs = lib::texts_of(schema["dependencies"][key.name]);
    object.keys.push_back(std::move(key));
  }
  return &object;
}

const ObjectSchema* Schema::referenced(const Json& reference) {
  constexpr std::string_view kStart = "#/definitions/";
  const std::string target = reference["$ref"].text();
  if (target.rfind(kStart, 0) != 0) refuse(reference, "a $ref must be to #/definitions/NAME");
  const std::string name = target.substr(kStart.size());
  for (const ObjectSchema& object : objects_) {
    if (!name.empty() && object.name == name) return &object;
  }
  const Json definition = schema_["definitions"][name];
  if (!definition.defined()) refuse(reference, lib::format_text("unknown definition '{}'", name));
  return object_of(name, definition);
}

std::vector<ValueSchema> Schema::values_of(const Json& schema) {
  std::vector<ValueSchema> list;
  const Json several = schema["anyOf"];
  if (!several.defined()) list.push_back(value_of(schema));
  for (int64_t i = 0; i < several.size(); ++i) list.push_back(value_of(several[i]));
  return list;
}

ValueSchema Schema::value_of(const Json& schema) {
  ValueSchema value;
  if (schema["$ref"].defined()) {
    value.type = Type::object;
    value.object = referenced(schema);
    return value;
  }
  const std::string type = schema["type"].text();
  if (type.empty()) return value;
  if (type == "boolean") {
    value.type = Type::boolean;
  } else if (type == "integer" || type == "number") {
    value.type = type == "integer" ? Type::integer : Type::number;
    if (type == "integer") value.low = -kMostInteger, value.high = kMostInteger;
    read_bounds(schema, value);
  } else if (type == "string") {
    value.type = Type::text;
    value.choices = lib::texts_of(schema["enum"]);
    value.format = format_of(schema);
  } else if (type == "array") {
    value.type = Type::array;
    value.elements = values_of(schema["items"]);
    value.fewest = schema["minItems"].integer(value.fewest);
    value.most = schema["maxItems"].integer(value.most);
  } else if (type == "object" && schema["propertyNames"].defined()) {
    value.type = Type::map;
    value.format = format_of(schema["propertyNames"]);
    value.elements = values_of(schema["additionalProperties"]);
  } else if (type == "object" && schema["properties"].defined()) {
    value.type = Type::object;
    value.object = object_of("", schema);
  } else if (type == "object") {
    value.type = Type::members;
  } else {
    refuse(schema, lib::format_text("unknown type '{}'", type));
  }
  return value;
}

namespace {

std::string number_text(double number) {
  if (std::fabs(number) < 1e15 && number == std::floor(number))
    return std::to_string(static_cast<int64_t>(number));
  return lib::format_text("{}", number);
}

// " from 1 to 1024", " above 0", " of at least 0 and below 1"; bounds of kMostInteger are not
// worth a word.
std::string range_text(const ValueSchema& schema) {
  const bool low = schema.low > -kMostInteger;
  const bool high = schema.high < kMostInteger;
  if (low && high && schema.low == schema.high)
    return lib::format_text(" equal to {}", number_text(schema.low));
  if (low && high && !schema.above_low && !schema.below_high)
    return lib::format_text(" from {} to {}", number_text(schema.low), number_text(schema.high));
  std::string text;
  if (low) text += (schema.above_low ? " above " : " of at least ") + number_text(schema.low);
  if (low && high) text += " and";
  if (high) text += (schema.below_high ? " below " : " of at most ") + number_text(schema.high);
  return text;
}

std::string length_text(const ValueSchema& schema) {
  if (schema.fewest == schema.most) return lib::format_text(" of {}", schema.most);
  if (schema.fewest == 0) return "";
  if (schema.most == std::numeric_limits<int64_t>::max())
    return lib::format_text(" of at least {}", schema.fewest);
  return lib::format_text(" of {} to {}", schema.fewest, schema.most);
}

}  // namespace

std::string expected_text(const ValueSchema& schema) {
  switch (schema.type) {
    case Type::boolean:
      return "true or false";
    case Type::integer:
      return "an integer" + range_text(schema);
    case Type::number:
      return "a number" + range_text(schema);
    case Type::text:
      if (!schema.choices.empty()) return lib::quoted_list(schema.choices, "or");
      return std::string(schema.format == nullptr ? "a string" : schema.format->expected);
    case Type::object:
      return schema.object->shorthand.empty() ? "an object" : "a string or an object";
    case Type::array:
      return "an array" + length_text(schema);
    case Type::map:
    case Type::members:
      return "an object";
    case Type::any:
      break;
  }
  return "any value";
}

std::string expected_text(const std::vector<ValueSchema>& schemas) {
  std::vector<std::string> texts;
  texts.reserve(schemas.size());
  for (const ValueSchema& schema : schemas) texts.push_back(expected_text(schema));
  return lib::word_list(texts, "or");
}

}  // namespace config

TENON_NAMESPACE_END
