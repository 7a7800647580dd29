// Configs of trainings: reading them, and their JSON Schema for editors.
#include <algorithm>

#include <tenon/runtime.hpp>
#include <tenon/text.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/op_choice.hpp>
#include <tenon/training/optimizer.hpp>

#include "config_sections.hpp"
#include "format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

Json sections() { return Json::parse(kSections); }

// The JSON Schema of one argument; empty where any value may do.
Json argument_schema(const DeclaredType& type) {
  const auto of = [](const char* name) { return JsonObject().set("type", name).json(); };
  Json one = JsonObject().json();
  if (type.base == "int") one = of("integer");
  if (type.base == "float") one = of("number");
  if (type.base == "bool") one = of("boolean");
  if (type.base == "str" || type.base == "dtype") one = of("string");
  if (type.list) {
    const Json list = JsonObject().set("type", "array").set("items", one).json();
    one = JsonObject().set("anyOf", JsonArray().add(one).add(list).json()).json();
  }
  if (type.optional) {
    one = JsonObject().set("anyOf", JsonArray().add(one).add(of("null")).json()).json();
  }
  return one;
}

// An installed op or module that a section may name.
struct Choice {
  std::vector<std::string> names;  // that "type" may have
  std::string doc;
  std::vector<DeclaredType> parameters;
};

// An object for one choice: its arguments beside the keys of the section, which they take precedence
// over, except over modules inside.
Json choice_schema(const Choice& choice, const Json& properties) {
  JsonObject keys;
  JsonArray names;
  for (const std::string& name : choice.names) names.add(name);
  std::vector<std::string> arguments = {"type"};
  keys.set("type", JsonObject().set("enum", names.json()).json());
  for (const DeclaredType& parameter : choice.parameters) {
    if (parameter.name == "type" || (parameter.base == "Module" && properties[parameter.name]))
      continue;
    arguments.push_back(parameter.name);
    keys.set(parameter.name, argument_schema(parameter));
  }
  for (int64_t i = 0; i < properties.size(); ++i) {
    if (std::find(arguments.begin(), arguments.end(), properties.key(i)) == arguments.end())
      keys.set(properties.key(i), properties[i]);
  }
  return JsonObject()
      .set("type", "object")
      .set("description", choice.doc)
      .set("properties", keys.json())
      .set("required", JsonArray().add("type").json())
      .set("additionalProperties", false)
      .json();
}

// Which ops an editor offers in a section; a config may name others as well. The arguments of data
// readers stay open, since the reader may follow from the file's ending.
struct Offer {
  const char* definition;
  const OpRole& (*role)();
  bool (*fits)(const std::vector<DeclaredType>& parameters);
};
bool scores(const std::vector<DeclaredType>& parameters) {
  return parameters.size() >= 2 && parameters[1].name == "target" && parameters[1].is_tensor();
}
const Offer kOffers[] = {
    {"loss", loss_role, scores},
    {"metric", metric_role, scores},
    {"optimizer", optimizer_role,
     [](const std::vector<DeclaredType>& parameters) {
       const FoundOp op{"", {}, parameters};
       return op.has("learning_rate") && optimizer_schema(op).faults.empty();
     }},
    {"schedule", schedule_role,
     [](const std::vector<DeclaredType>& parameters) {
       return !parameters.empty() && parameters[0].name == "step" && parameters[0].base == "int";
     }},
    {"transform", transform_role,
     [](const std::vector<DeclaredType>& parameters) {
       return !parameters.empty() && parameters[0].name == "input" &&
              FoundOp{"", {}, parameters}.has("seed");
     }},
    {"clip", clip_role,
     [](const std::vector<DeclaredType>& parameters) {
       return !parameters.empty() && parameters[0].mutates && parameters[0].list;
     }},
};

// "op" or "module" of all plugins that are found: their declarations, from facts alone.
std::vector<Json> declared(const char* kind) {
  std::vector<Json> list;
  const Json plugins = describe("plugins");
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const std::string state = plugins[i]["state"].text();
    if (state != "indexed" && state != "active") continue;
    const Json items = describe("declarations", plugins[i]["path"].text())[kind];
    for (int64_t k = 0; k < items.size(); ++k) list.push_back(items[k]);
  }
  return list;
}

std::vector<Choice> offered(const Offer& offer) {
  std::vector<Choice> choices;
  const std::string form = offer.role().forms.front();
  for (const Json& op : declared("ops")) {
    Choice choice;
    choice.parameters = declared_types(op["parameters"]);
    if (!offer.fits(choice.parameters)) continue;
    // JSON has no tensors, and what the training passes is not for the config.
    const std::vector<std::string>& supplied = offer.role().supplied;
    std::vector<DeclaredType>& parameters = choice.parameters;
    parameters.erase(std::remove_if(parameters.begin(), parameters.end(),
                                    [&](const DeclaredType& one) {
                                      return one.base == "Tensor" ||
                                             std::find(supplied.begin(), supplied.end(),
                                                       one.name) != supplied.end();
                                    }),
                     parameters.end());
    const std::string name = op["name"].text();
    if (const std::string known = short_name(form, name); !known.empty())
      choice.names.push_back(known);
    choice.names.push_back(name);
    choice.doc = op["schema"].text();
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::vector<Choice> offered_modules() {
  std::vector<Choice> choices;
  for (const Json& module : declared("modules")) {
    choices.push_back(
        {{module["name"].text()}, module["schema"].text(), declared_types(module["parameters"])});
  }
  return choices;
}

// A definition with a bare name or one of the choices in place of an open object.
Json closed_definition(const Json& definition, const std::vector<Choice>& choices) {
  const Json object = definition["anyOf"].defined() ? definition["anyOf"][1] : definition;
  JsonArray names, all;
  for (const Choice& choice : choices) {
    for (const std::string& name : choice.names) names.add(name);
  }
  all.add(JsonObject().set("enum", names.json()).json());
  for (const Choice& choice : choices) all.add(choice_schema(choice, object["properties"]));
  return JsonObject().set("anyOf", all.json()).json();
}

}  // namespace

Json read_config(const std::string& path) { return tenon::read_config(path, sections()); }

Json config_schema(bool installed) {
  Json schema = tenon::config_schema(sections());
  if (!installed) return schema;
  const Json definitions = schema["definitions"];
  JsonObject closed;
  for (int64_t i = 0; i < definitions.size(); ++i) {
    const std::string name = definitions.key(i);
    Json definition = definitions[i];
    for (const Offer& offer : kOffers) {
      if (name == offer.definition) definition = closed_definition(definition, offered(offer));
    }
    if (name == "module") definition = closed_definition(definition, offered_modules());
    closed.set(name, definition);
  }
  JsonObject whole;
  for (int64_t i = 0; i < schema.size(); ++i) {
    if (schema.key(i) == "definitions")
      whole.set("definitions", closed.json());
    else
      whole.set(schema.key(i), schema[i]);
  }
  return whole.json();
}

std::string missing_keys(const Json& config, bool training) {
  std::vector<std::string> missing;
  std::vector<std::string> keys = {"data", "model"};
  if (training) keys.insert(keys.end(), {"loss", "optimizer", "training"});
  for (const std::string& key : keys) {
    if (!config[key].defined()) missing.push_back(format_text("\"{}\"", key));
  }
  return join(missing, ", no ");
}

}  // namespace training

TENON_NAMESPACE_END
