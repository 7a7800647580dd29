// Tenon's sections and the application's as one schema.
#include "host_sections.hpp"

#include "trust_sections.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

namespace {

void add_members(JsonObject& object, const Json& members) {
  for (int64_t i = 0; i < members.size(); ++i) object.set(members.key(i), members[i]);
}

}  // namespace

Json whole_schema(const Json& sections) {
  JsonObject properties, dependencies, definitions, example;
  JsonArray required, examples;
  const auto add = [&](const Json& part) {
    add_members(properties, part["properties"]);
    add_members(dependencies, part["dependencies"]);
    add_members(definitions, part["definitions"]);
    for (int64_t i = 0; i < part["required"].size(); ++i) required.add(part["required"][i]);
  };
  for (const std::string_view text :
       {kFileSections, kPluginSections, kTrustSections, kRunSections}) {
    const Json part = Json::parse(text);
    add(part);
    add_members(example, part["examples"][0]);
  }
  examples.add(example.json());
  if (sections.defined()) {
    add(sections);
    for (int64_t i = 0; i < sections["examples"].size(); ++i) examples.add(sections["examples"][i]);
  }
  JsonObject whole;
  whole.set("$schema", "http://json-schema.org/draft-07/schema#").set("title", "Tenon config");
  whole.set("type", "object");
  whole.set("description", "A Tenon config: plugins, and what to do with them");
  whole.set("properties", properties.json()).set("required", required.json());
  if (sections["dependencies"].size() > 0) whole.set("dependencies", dependencies.json());
  whole.set("additionalProperties", !sections.defined());
  whole.set("examples", examples.json()).set("definitions", definitions.json());
  return whole.json();
}

}  // namespace config

TENON_NAMESPACE_END
