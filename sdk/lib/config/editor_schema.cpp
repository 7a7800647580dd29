// The schema that editors read: short forms written out, formats as regular expressions.
#include <tenon/config/config.hpp>

#include "format.hpp"
#include "host_sections.hpp"
#include "lib/base/format.hpp"
#include "schema.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

namespace {

Json for_editors(const Json& schema);

Json each_for_editors(const Json& schemas) {
  if (schemas.is_array()) {
    JsonArray list;
    for (int64_t i = 0; i < schemas.size(); ++i) list.add(for_editors(schemas[i]));
    return list.json();
  }
  JsonObject object;
  for (int64_t i = 0; i < schemas.size(); ++i) object.set(schemas.key(i), for_editors(schemas[i]));
  return object.json();
}

void add_member(JsonObject& out, const std::string& key, const Json& member, bool alone) {
  if (key == "shorthand" || key == "path_shorthand") return;
  if (key == "format") {
    const Format* format = find_format(member.text());
    if (format != nullptr && !format->pattern.empty())
      out.set("pattern", format->pattern);
    else
      out.set("minLength", 1);
  } else if (key == "$ref" && !alone) {
    // Draft 7 ignores what is beside $ref.
    out.set("allOf", JsonArray().add(JsonObject().set(key, member).json()).json());
  } else if (key == "properties" || key == "definitions" || key == "anyOf") {
    out.set(key, each_for_editors(member));
  } else if (key == "items" || key == "propertyNames" ||
             (key == "additionalProperties" && member.is_object())) {
    out.set(key, for_editors(member));
  } else {
    out.set(key, member);
  }
}

Json for_editors(const Json& schema) {
  JsonObject out;
  for (int64_t i = 0; i < schema.size(); ++i)
    add_member(out, schema.key(i), schema[i], schema.size() == 1);
  const std::string shorthand = schema["shorthand"].text(), path = schema["path_shorthand"].text();
  if (shorthand.empty()) return out.json();
  std::string meaning = lib::format_text("short for {{\"{}\": ...}}", shorthand);
  if (!path.empty())
    meaning += lib::format_text(", with a '/' or the ending .so for {{\"{}\": ...}}", path);
  JsonObject text;
  text.set("type", "string").set("minLength", 1).set("description", meaning);
  return JsonObject().set("anyOf", JsonArray().add(text.json()).add(out.json()).json()).json();
}

}  // namespace

Json schema(const Json& sections) {
  const Json whole = whole_schema(sections);
  static_cast<void>(Schema(whole));  // refuses what is not of the subset
  return for_editors(whole);
}

}  // namespace config

TENON_NAMESPACE_END
