// tenon docs: the reference page of configs, made from the schema that checks them and from the facts
// of the plugins that are installed.
#include <algorithm>

#include <tenon/config/config.hpp>
#include <tenon/runtime.hpp>
#include <tenon/training/config.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "text.hpp"

namespace cli {

namespace {

struct DocsOptions {
  std::string config;  // whose plugins are installed as well; empty: none
  bool json = false;
};

namespace training = tenon::training;

using tenon::Json;

struct Key {
  std::string name, type, fallback, meaning, example;  // JSON of default and example; empty: none
  bool required = false;
};

// An object of the config: the whole, or a definition of the schema.
struct Section {
  std::string name, meaning;  // the whole has no name
  std::string shorthand;      // meaning of a text in its place
  std::vector<Key> keys;
  std::vector<training::ConfigChoice> choices;
};

std::string code(const std::string& text) { return format_text("`{}`", text); }

// "integer from 1 to 1024", "number of at least 0 and below 1".
std::string range_text(const Json& schema) {
  std::vector<std::string> bounds;
  const std::pair<const char*, const char*> words[] = {{"minimum", "at least"},
                                                       {"exclusiveMinimum", "above"},
                                                       {"maximum", "at most"},
                                                       {"exclusiveMaximum", "below"}};
  for (const auto& [member, word] : words) {
    if (schema[member].defined())
      bounds.push_back(format_text("{} {}", word, schema[member].dump()));
  }
  return bounds.empty() ? "" : format_text(", {}", join(bounds, " and "));
}

std::string reference_text(const Json& reference) {
  const std::string target = reference.text();
  const std::string name = target.substr(target.rfind('/') + 1);
  return format_text("[{}](#{})", name, name);
}

std::string type_text(const Json& schema);

std::string list_text(const Json& schema) {
  std::string text = format_text("list of {}", type_text(schema["items"]));
  if (schema["minItems"].defined())
    text += format_text(", at least {}", schema["minItems"].integer());
  if (schema["maxItems"].defined())
    text += format_text("{} at most {}", schema["minItems"].defined() ? " and" : ",",
                        schema["maxItems"].integer());
  return text;
}

std::string type_text(const Json& schema) {
  if (schema["$ref"].defined()) return reference_text(schema["$ref"]);
  if (schema["allOf"].defined()) return type_text(schema["allOf"][0]);
  if (const Json several = schema["anyOf"]; several.defined()) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < several.size(); ++i) texts.push_back(type_text(several[i]));
    return join(texts, " or ");
  }
  if (const Json choices = schema["enum"]; choices.defined()) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < choices.size(); ++i) texts.push_back(code(choices[i].dump()));
    return join(texts, ", ");
  }
  const std::string type = schema["type"].text();
  if (type.empty()) return "any";
  if (type == "array") return list_text(schema);
  if (type == "object" && schema["additionalProperties"].is_object())
    return format_text("object of {}", type_text(schema["additionalProperties"]));
  if (schema["pattern"].defined())
    return format_text("string like {}", code(schema["pattern"].text()));
  return type + range_text(schema);
}

bool holds(const Json& list, const std::string& name) {
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list[i].text() == name) return true;
  }
  return false;
}

Section section_of(const std::string& name, const Json& definition) {
  const Json several = definition["anyOf"];
  const Json object = several.defined() ? several[1] : definition;
  Section section;
  section.name = name;
  section.meaning = object["description"].text();
  if (several.defined()) section.shorthand = several[0]["description"].text();
  const Json properties = object["properties"], examples = object["examples"];
  for (int64_t i = 0; i < properties.size(); ++i) {
    const Json schema = properties[i];
    Key key;
    key.name = properties.key(i);
    key.type = type_text(schema);
    key.meaning = schema["description"].text();
    key.required = holds(object["required"], key.name);
    if (schema["default"].defined()) key.fallback = schema["default"].dump();
    std::vector<std::string> needs;
    for (int64_t k = 0; k < object["dependencies"][key.name].size(); ++k)
      needs.push_back(object["dependencies"][key.name][k].text());
    if (!needs.empty()) key.meaning += format_text("; needs {}", join(needs, ", "));
    for (int64_t k = 0; k < examples.size() && key.example.empty(); ++k) {
      if (examples[k][key.name].defined()) key.example = examples[k][key.name].dump();
    }
    section.keys.push_back(std::move(key));
  }
  section.choices = training::config_choices(name);
  return section;
}

std::vector<Section> reference() {
  const Json schema = training::config_schema(false), definitions = schema["definitions"];
  std::vector<Section> sections = {section_of("", schema)};
  for (int64_t i = 0; i < definitions.size(); ++i)
    sections.push_back(section_of(definitions.key(i), definitions[i]));
  return sections;
}

// ---- Markdown ----

// Text outside of code: no character of it is a mark.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '<' || c == '_') out += '\\';
    out += c;
  }
  return out;
}

// Code within a cell of a table.
std::string cell_code(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return code(out);
}

std::string keys_text(const Section& section) {
  std::string text = "| key | type | default | meaning | example |\n|---|---|---|---|---|\n";
  for (const Key& key : section.keys) {
    const std::string fallback = !key.fallback.empty() ? cell_code(key.fallback)
                                 : key.required        ? "required"
                                                       : "";
    const std::string example =
        key.example.empty() ? "" : cell_code(format_text("\"{}\": {}", key.name, key.example));
    text += format_text("| {} | {} | {} | {} | {} |\n", cell_code(key.name), key.type, fallback,
                        plain(key.meaning), example);
  }
  return text;
}

std::string keyword_text(const training::DeclaredType& parameter) {
  return cell_code(
      format_text("{} {}{}", parameter.text, parameter.name,
                  parameter.has_default ? format_text("={}", parameter.default_text) : ""));
}

std::string choices_text(const Section& section) {
  std::string text =
      "\nInstalled:\n\n| type | plugin | further keys | meaning |\n|---|---|---|---|\n";
  for (const training::ConfigChoice& choice : section.choices) {
    std::vector<std::string> names, keywords;
    for (const std::string& name : choice.names) names.push_back(cell_code(name));
    for (const training::DeclaredType& parameter : choice.parameters)
      keywords.push_back(keyword_text(parameter));
    text += format_text("| {} | {} | {} | {} |\n", join(names, ", "), plain(choice.plugin),
                        join(keywords, ", "), plain(choice.doc));
  }
  return text;
}

std::string markdown(const std::vector<Section>& sections) {
  std::string text =
      "# Configs of Tenon\n\n"
      "Written by `tenon docs` from the tables that configs are checked against, and from the "
      "declarations of the plugins that are installed.\n\n"
      "A config is JSON, in which comments (`//`, `/* */`) and a comma behind the last element are "
      "taken as well. Paths are relative to the folder of the config. `tenon new --config` writes "
      "one "
      "to begin with, `tenon plan CONFIG` checks it, `tenon schema` prints its JSON Schema for "
      "editors.\n";
  for (const Section& section : sections) {
    text += format_text("\n## {}\n\n{}.", section.name.empty() ? "config" : section.name,
                        plain(section.meaning));
    if (!section.shorthand.empty())
      text += format_text(" A text in its place is {}.", plain(section.shorthand));
    text += "\n\n" + keys_text(section);
    if (!section.choices.empty()) text += choices_text(section);
  }
  return text;
}

// ---- JSON ----

Json choice_json(const training::ConfigChoice& choice) {
  tenon::JsonArray parameters;
  for (const training::DeclaredType& parameter : choice.parameters) {
    tenon::JsonObject object;
    object.set("name", parameter.name).set("type", parameter.text);
    if (parameter.has_default) object.set("default", parameter.default_text);
    parameters.add(object.json());
  }
  return tenon::JsonObject()
      .set("names", text_array(choice.names))
      .set("plugin", choice.plugin)
      .set("schema", choice.schema)
      .set("doc", choice.doc)
      .set("parameters", parameters.json())
      .json();
}

Json section_json(const Section& section) {
  tenon::JsonArray keys, choices;
  for (const Key& key : section.keys) {
    tenon::JsonObject object;
    object.set("name", key.name).set("type", key.type).set("required", key.required);
    if (!key.fallback.empty()) object.set("default", Json::parse(key.fallback));
    object.set("meaning", key.meaning);
    if (!key.example.empty()) object.set("example", Json::parse(key.example));
    keys.add(object.json());
  }
  for (const training::ConfigChoice& choice : section.choices) choices.add(choice_json(choice));
  return tenon::JsonObject()
      .set("name", text_or_null(section.name))
      .set("meaning", section.meaning)
      .set("shorthand", text_or_null(section.shorthand))
      .set("keys", keys.json())
      .set("installed", choices.json())
      .json();
}

int print_docs(const DocsOptions& options) {
  if (!options.config.empty())
    tenon::config::apply(training::read_config(options.config), tenon::EagerPlugins::wait);
  const std::vector<Section> sections = reference();
  if (!options.json) {
    print(markdown(sections));
    return kFine;
  }
  tenon::JsonArray list;
  for (const Section& section : sections) list.add(section_json(section));
  print_json(list.json());
  return kFine;
}

}  // namespace

void define_docs(Commands& commands) {
  auto [command, options] = commands.add(
      print_docs, "docs",
      "Print the reference of configs: every key, and the ops and modules that are installed",
      "  tenon docs > config.md\n"
      "  tenon docs digits.json    # with the plugins that this config names\n"
      "  tenon docs --json\n"
      "The page is Markdown.");
  command.optional_argument(options.config, "CONFIG",
                            "A config whose plugins are installed as well");
  command.json(options.json);
}

}  // namespace cli
