// JSON Schema of configs for editors, with the ops and modules that are installed.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include <tenon/config/config.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/op_choice.hpp>
#include <tenon/training/optimizer.hpp>

#include "config_sections.hpp"
#include "lib/base/optimizer_form.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// The JSON Schema of one argument; empty where any value may do.
Json argument_schema(const DeclaredType& type) {
  const auto of = [](const char* name) { return JsonObject().set("type", name).json(); };
  Json one = JsonObject().json();
  if (type.base == "int") one = of("integer");
  if (type.base == "float") one = of("number");
  if (type.base == "bool") one = of("boolean");
  if (type.base == "str" || type.base == "dtype") one = of("string");
  // Numbers and lists of them, or the op that computes it, by its name or with its keywords.
  if (type.base == "Tensor") {
    one = JsonObject()
              .set("anyOf", JsonArray()
                                .add(of("number"))
                                .add(of("array"))
                                .add(of("string"))
                                .add(of("object"))
                                .json())
              .json();
  }
  if (type.list) {
    const Json list = JsonObject().set("type", "array").set("items", one).json();
    one = JsonObject().set("anyOf", JsonArray().add(one).add(list).json()).json();
  }
  if (type.optional) {
    one = JsonObject().set("anyOf", JsonArray().add(one).add(of("null")).json()).json();
  }
  return one;
}

// An object for one choice: its arguments beside the keys of the section, which they take precedence
// over, except over modules inside.
Json choice_schema(const ConfigChoice& choice, const Json& properties) {
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
      .set("description", choice.schema)
      .set("properties", keys.json())
      .set("required", JsonArray().add("type").json())
      .set("additionalProperties", false)
      .json();
}

// Which ops a section offers; a config may name others as well.
struct Offer {
  const char* definition;
  const OpRole& (*role)();
  bool (*fits)(const FoundOp& op);
};
bool scores(const FoundOp& op) {
  return op.parameters.size() >= 2 && op.parameters[1].name == "target" &&
         op.parameters[1].is_tensor();
}
bool begins_with(const FoundOp& op, const char* name) {
  return !op.parameters.empty() && op.parameters[0].name == name;
}
const Offer kOffers[] = {
    {"data", reader_role,
     [](const FoundOp& op) {
       return begins_with(op, "path") && op.has("with_targets") &&
              op.listing["returns"].size() >= 2;
     }},
    {"loss", loss_role, scores},
    {"metric", metric_role, scores},
    {"optimizer", optimizer_role,
     [](const FoundOp& op) {
       return lib::is_optimizer(op.listing["parameters"], lib::OptimizerForm::one);
     }},
    {"schedule", schedule_role,
     [](const FoundOp& op) { return begins_with(op, "step") && op.parameters[0].base == "int"; }},
    {"transform", transform_role,
     [](const FoundOp& op) { return begins_with(op, "input") && op.has("seed"); }},
    {"sampler", sampler_role,
     [](const FoundOp& op) { return begins_with(op, "labels") && op.has("seed"); }},
    {"clip", clip_role,
     [](const FoundOp& op) {
       const std::vector<DeclaredType>& all = op.parameters;
       return !all.empty() && all[0].mutates && all[0].list &&
              (all.size() == 1 || all[1].keyword_only);
     }},
};

// "ops" or "modules" of all plugins that are found, by what they declare.
std::vector<ConfigChoice> declared(const char* kind,
                                   const std::function<bool(const FoundOp&)>& fits) {
  std::unordered_map<std::string, std::string> docs;
  const Json listings = std::string_view(kind) == "ops" ? listing::ops() : listing::modules();
  for (int64_t i = 0; i < listings.size(); ++i)
    docs.emplace(listings[i]["name"].text(), listings[i]["doc"].text());
  std::vector<ConfigChoice> choices;
  const Json plugins = listing::plugins();
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const std::string state = plugins[i]["state"].text();
    if (state != "indexed" && state != "active") continue;
    const Json items = listing::declarations(plugins[i]["path"].text())[kind];
    for (int64_t k = 0; k < items.size(); ++k) {
      const std::string name = items[k]["name"].text();
      FoundOp item{name, items[k], declared_types(items[k]["parameters"])};
      if (fits(item))
        choices.push_back({{name},
                           plugins[i]["id"].text(),
                           items[k]["schema"].text(),
                           docs[name],
                           std::move(item.parameters)});
    }
  }
  return choices;
}

std::vector<ConfigChoice> offered(const Offer& offer) {
  std::vector<ConfigChoice> choices = declared("ops", offer.fits);
  const OpRole& role = offer.role();
  for (ConfigChoice& choice : choices) {
    if (const std::string known = short_name(role.forms.front(), choice.names.front());
        !known.empty())
      choice.names.insert(choice.names.begin(), known);
    // Arguments that the training passes are not for the config: operands, states, names.
    std::vector<DeclaredType>& parameters = choice.parameters;
    const auto passed = [&](const DeclaredType& one) {
      const auto in = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), one.name) != names.end();
      };
      const bool operand = one.is_tensor() && &one - parameters.data() < role.operands;
      const bool changed = one.is_tensor() && (one.list || one.mutates);
      return operand || changed || in(role.supplied) || in(role.others);
    };
    parameters.erase(std::remove_if(parameters.begin(), parameters.end(), passed),
                     parameters.end());
  }
  return choices;
}

// A definition with a bare name or one of the choices in place of an open object.
Json closed_definition(const Json& definition, const std::vector<ConfigChoice>& choices) {
  const Json object = definition["anyOf"].defined() ? definition["anyOf"][1] : definition;
  JsonArray names, all;
  for (const ConfigChoice& choice : choices) {
    for (const std::string& name : choice.names) names.add(name);
  }
  all.add(JsonObject().set("enum", names.json()).json());
  for (const ConfigChoice& choice : choices) all.add(choice_schema(choice, object["properties"]));
  return JsonObject().set("anyOf", all.json()).json();
}

}  // namespace

std::vector<ConfigChoice> config_choices(const std::string& definition) {
  if (definition == "module") return declared("modules", [](const FoundOp&) { return true; });
  for (const Offer& offer : kOffers) {
    if (definition == offer.definition) return offered(offer);
  }
  return {};
}

Json config_schema(bool installed) {
  Json schema = config::schema(Json::parse(kSections));
  if (!installed) return schema;
  const Json definitions = schema["definitions"];
  JsonObject closed;
  for (int64_t i = 0; i < definitions.size(); ++i) {
    const std::string name = definitions.key(i);
    // The arguments of data readers stay open: the reader may follow from the file's ending.
    const std::vector<ConfigChoice> choices =
        name == "data" ? std::vector<ConfigChoice>() : config_choices(name);
    closed.set(name, choices.empty() ? definitions[i] : closed_definition(definitions[i], choices));
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

}  // namespace training

TENON_NAMESPACE_END
