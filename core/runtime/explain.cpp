// Who would answer: the same plans that calls follow, told step by step.
#include "core/runtime/explain.hpp"

#include <algorithm>
#include <map>

#include "core/base/error.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/modes.hpp"
#include "core/dispatch/overrides.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/specificity.hpp"
#include "core/runtime/runtime.hpp"

namespace tenon::core {

namespace {

const char* fallback_text(int64_t fallback) {
  switch (fallback) {
    case TENON_FALLBACK_TO_TENSOR:
      return "to_tensor";
    case TENON_FALLBACK_UNWRAP_REWRAP:
      return "unwrap_rewrap";
    case TENON_FALLBACK_DECLINE:
      return "decline";
    default:
      return "inherit";
  }
}

struct DeclaredType {
  TypeFacts facts;
  std::string provider;
  int64_t overrides = 0;
};

std::vector<DeclaredType> declared_types() {
  std::vector<DeclaredType> types;
  const std::vector<PluginListing> plugins = plugin_manager().list();
  const auto stands = [](const PluginListing& plugin) {
    return plugin.facts != nullptr && plugin.state != PluginState::Shadowed &&
           plugin.state != PluginState::Failed;
  };
  for (const PluginListing& plugin : plugins) {
    if (!stands(plugin)) continue;
    for (const TypeFacts& type : plugin.facts->types) types.push_back({type, plugin.id, 0});
  }
  for (const PluginListing& plugin : plugins) {
    if (!stands(plugin)) continue;
    for (const OverrideFacts& entry : plugin.facts->overrides) {
      const std::vector<std::string> names = type_names(entry.types);
      for (DeclaredType& type : types) {
        if (std::find(names.begin(), names.end(), type.facts.type) != names.end()) ++type.overrides;
      }
    }
  }
  std::sort(types.begin(), types.end(), [](const DeclaredType& a, const DeclaredType& b) {
    return a.facts.type != b.facts.type ? a.facts.type < b.facts.type : a.provider < b.provider;
  });
  return types;
}

void put_type(TreeBuilder& tree, const DeclaredType& type) {
  tree.member("name", type.facts.type);
  if (!type.facts.parent.empty()) tree.member("parent", type.facts.parent);
  tree.member("provider", type.provider)
      .member("doc", type.facts.doc)
      .member("handler", type.facts.handler)
      .member("fallback", type.facts.fallback == TENON_FALLBACK_INHERIT && type.facts.parent.empty()
                              ? fallback_text(TENON_FALLBACK_DECLINE)
                              : fallback_text(type.facts.fallback))
      .member("overrides", type.overrides);
}

std::string provider_of(const Answerer& answerer) {
  return answerer.kind == Answerer::Kind::Override ? answerer.entry->provider
                                                   : answerer.level->provider;
}

std::string what_text(const Answerer& answerer) {
  switch (answerer.kind) {
    case Answerer::Kind::Override:
      return "override " + answerer.entry->key();
    case Answerer::Kind::Handler:
      return "handler of " + answerer.level->name;
    default:
      return "default handler";
  }
}

bool is_operand(const Parameter& parameter) {
  return parameter.type.kind == TypeKind::tensor ||
         parameter.type.kind == TypeKind::tensor_or_scalar || parameter.type.kind == TypeKind::any;
}

// Who has an override for one of the types, or a relative of it: the nearest there is.
std::vector<std::string> nearest_overrides(const std::string& op, const OperandTypes& types) {
  std::vector<std::string> texts;
  for (const Override* entry : TypeTable::process().overrides(op)) {
    const bool related =
        std::any_of(types.types, types.types + types.count, [&](const TensorType* type) {
          return std::any_of(
              entry->types.begin(), entry->types.end(),
              [&](const TensorType* wanted) { return type->is(*wanted) || wanted->is(*type); });
        });
    if (related && texts.size() < 3)
      texts.push_back(entry->key() + " from '" + entry->provider + "'");
  }
  return texts;
}

}  // namespace

Tree describe_types() {
  TreeBuilder tree;
  tree.begin_array();
  for (const DeclaredType& type : declared_types()) {
    tree.begin_object();
    put_type(tree, type);
    tree.end_object();
  }
  tree.end_array();
  return tree.finish();
}

Tree describe_type(std::string_view name) {
  const std::vector<DeclaredType> types = declared_types();
  Words names;
  for (const DeclaredType& type : types) names.push_back(type.facts.type);
  const auto found = std::find_if(types.begin(), types.end(), [&](const DeclaredType& type) {
    return type.facts.type == name;
  });
  if (found == types.end()) {
    throw Error(TENON_ERROR_VALUE,
                "no tensor type is named " + quote(name) + suggestion(name, names));
  }
  const TensorType& loaded = TypeTable::process().require(name);
  TreeBuilder tree;
  tree.begin_object();
  put_type(tree, *found);
  tree.key("overrides_in_force").begin_array();
  for (const Override* entry : TypeTable::process().overrides()) {
    if (!entry->for_type(loaded)) continue;
    tree.begin_object()
        .member("op", entry->schema.name)
        .member("signature", signature_text(entry->schema))
        .member("provider", entry->provider);
    if (!entry->differences.empty())
      tree.member("signature_differs", join(entry->differences, "; "));
    tree.end_object();
  }
  tree.end_array().end_object();
  return tree.finish();
}

Tree describe_coverage(std::string_view name, const std::vector<std::string>& ops) {
  const TensorType& type = TypeTable::process().require(name);
  // By op, the nearest level of the line that has an override for operands of this type alone.
  std::map<std::string_view, int> levels;
  for (const Override* entry : TypeTable::process().overrides()) {
    if (entry->types.size() != 1) continue;
    const int steps = type.distance(*entry->types.front());
    if (steps < 0) continue;
    const auto known = levels.emplace(entry->schema.name, steps).first;
    known->second = std::min(known->second, steps);
  }
  const bool own_handler = type.descriptor.handler != nullptr;
  const bool inherited = type.is_tensor || type.has_handler();
  const bool falls_back = type.fallback() != TENON_FALLBACK_DECLINE;
  std::map<std::string, int64_t> counts{
      {"handled", 0}, {"inherited", 0}, {"fallback", 0}, {"missing", 0}};
  TreeBuilder tree;
  tree.begin_object().member("type", type.name).member("provider", type.provider);
  const TypeSettings* settings = TypeTable::process().settings(type.name);
  const bool narrowed = settings != nullptr && !settings->covers.empty();
  if (narrowed) {
    tree.key("covers").begin_array();
    for (const std::string& pattern : settings->covers) tree.value(pattern);
    tree.end_array();
  }
  tree.key("ops").begin_array();
  for (const std::string& op : ops) {
    if (narrowed &&
        std::none_of(settings->covers.begin(), settings->covers.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, op); }))
      continue;
    const auto level = levels.find(op);
    const char* how = (level != levels.end() && level->second == 0) || own_handler ? "handled"
                      : level != levels.end() || inherited                         ? "inherited"
                      : falls_back && type.falls_back_for(op)                      ? "fallback"
                                                                                   : "missing";
    ++counts[how];
    tree.begin_object().member("name", op).member("how", how).end_object();
  }
  tree.end_array().key("counts").begin_object();
  for (const char* how : {"handled", "inherited", "fallback", "missing"})
    tree.member(how, counts[how]);
  tree.end_object().end_object();
  return tree.finish();
}

Tree describe_ambiguities() {
  // Overrides are known with the types that they are for. One plugin that is refused does not hide
  // what is wrong with others; where it may be refused for its ambiguities, it is told instead.
  for (const DeclaredType& type : declared_types()) {
    try {
      static_cast<void>(TypeTable::process().require(type.facts.type));
    } catch (const Error& error) {
      if (plugin_manager().strict()) throw;
      log(LogLevel::warning, type.provider, error.message);
    }
  }
  TreeBuilder tree;
  tree.begin_array();
  for (const Ambiguity& ambiguity : TypeTable::process().ambiguities()) {
    tree.begin_object().member("op", ambiguity.first->schema.name).key("types").begin_array();
    for (const TensorType* type : ambiguity.types) tree.value(type->name);
    tree.end_array().key("overrides").begin_array();
    for (const Override* entry : {ambiguity.first, ambiguity.second}) {
      tree.begin_object()
          .member("key", entry->key())
          .member("provider", entry->provider)
          .end_object();
    }
    tree.end_array().member("fix", ambiguity.fix()).end_object();
  }
  tree.end_array();
  return tree.finish();
}

Tree explain_call(std::string_view call) {
  std::vector<std::string> words;
  for (size_t i = 0; i < call.size();) {
    const size_t end = std::min(call.find(' ', i), call.size());
    if (end > i) words.emplace_back(call.substr(i, end - i));
    i = end + 1;
  }
  if (words.size() < 2)
    throw Error(TENON_ERROR_ARGUMENT,
                "to explain a call takes an op and the types of its operands");
  plugin_manager();
  const tenon_op* op = Registry::process().require(words[0]);
  const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
  if (implementation == nullptr)
    throw Error(TENON_ERROR_NOT_IMPLEMENTED, "op '" + op->name + "' has no active implementation");
  const Schema& schema = implementation->schema;

  OperandTypes types;
  TreeBuilder tree;
  tree.begin_object()
      .member("op", schema.name)
      .member("signature", signature_text(schema))
      .member("provider", implementation->provider);
  tree.key("arguments").begin_array();
  size_t next = 1;
  const TensorType* foreign = nullptr;
  size_t foreign_position = 0;
  std::string foreign_name;
  for (size_t i = 0; i < schema.parameters.size() && next < words.size(); ++i) {
    const Parameter& parameter = schema.parameters[i];
    if (!is_operand(parameter)) continue;
    const bool number = words[next] == "Scalar" || words[next] == "Number";
    if (!number) {
      const TensorType& type = TypeTable::process().require(words[next]);
      if (type.id == 0) {
        types.plain = true;
      } else {
        types.add(type);
        if (foreign == nullptr && !type.is_tensor) {
          foreign = &type;
          foreign_position = i;
          foreign_name = parameter.name;
        }
      }
    }
    tree.begin_object()
        .member("name", parameter.name)
        .member("position", i + 1)
        .member("type", words[next])
        .end_object();
    ++next;
  }
  tree.end_array();
  if (next < words.size()) {
    throw Error(TENON_ERROR_TYPE, schema.name + "() has " + std::to_string(next - 1) +
                                      " operands, but " + std::to_string(words.size() - 1) +
                                      " types were given");
  }
  tree.key("modes").begin_array();
  for (const ModeEntry* mode = thread_state.mode; mode != nullptr; mode = mode->outer)
    tree.value(mode->name);
  tree.end_array();

  std::vector<Note> notes;
  const Plan plan = make_plan(*implementation, types, &notes);
  tree.key("order").begin_array();
  for (const uint32_t type : plan.asked) tree.value(TypeTable::process().at(type).name);
  tree.end_array();

  // The first that is asked answers, unless it declines when it is asked.
  std::string answer, provider;
  tree.key("steps").begin_array();
  for (const TensorType* type : plan.types) {
    const auto step = [&](const std::string& what, const std::string& by,
                          const std::string& reason) {
      tree.begin_object().member("type", type->name).member("what", what);
      if (!by.empty()) tree.member("provider", by);
      tree.member("asked", reason.empty());
      if (!reason.empty()) tree.member("reason", reason);
      tree.end_object();
    };
    for (const Note& note : notes) {
      if (note.type == type || (note.type != nullptr && type->is(*note.type)))
        step("passed over", "", note.text);
    }
    if (!type->dispatches()) {
      step("nothing", "", "it has neither handler, override nor fallback");
      continue;
    }
    for (const Turn& turn : plan.turns) {
      if (turn.type != type) continue;
      if (turn.line.empty())
        step("nothing", "", "no override for " + schema.name + " and no handler");
      for (const int8_t place : {turn.first_override, turn.first_handler}) {
        if (place < 0) continue;
        const Answerer& answerer = turn.line[static_cast<size_t>(place)];
        step(what_text(answerer), provider_of(answerer), "");
        if (!answer.empty()) continue;
        answer = what_text(answerer);
        provider = provider_of(answerer);
      }
    }
  }
  for (const TensorType* type : plan.fallbacks) {
    tree.begin_object()
        .member("type", type->name)
        .member("what", std::string("fallback ") + fallback_text(type->fallback()))
        .member("provider", type->provider)
        .member("asked", true)
        .end_object();
    if (!answer.empty()) continue;
    answer = std::string("fallback ") + fallback_text(type->fallback()) + " of " + type->name;
    provider = type->provider;
  }
  tree.end_array();

  std::string error;
  if (plan.types.empty()) {
    answer = "kernel";
    provider = implementation->provider;
  } else if (plan.refused != nullptr) {
    error = plan.refused->name + " is declared never to be an operand";
  } else if (plan.turns.empty()) {
    error = std::string(schema.short_name()) + "(): argument " + quote(foreign_name) +
            " (position " + std::to_string(foreign_position + 1) + ") must be " +
            wanted_text(schema.parameters[foreign_position].type) + ", not " + foreign->name;
  } else if (answer.empty()) {
    error = "no implementation found for 'tenon." + schema.name +
            "' on types that implement tenon_function: " + type_list(plan.asked);
  }
  if (error.empty()) {
    tree.key("answer")
        .begin_object()
        .member("what", answer)
        .member("provider", provider)
        .end_object();
    const bool recorded = implementation->descriptor.differentiable != TENON_DIFFERENTIABLE_NONE;
    const bool through = implementation->composite || !plan.types.empty();
    tree.member("gradient", through    ? std::string("through the ops that it calls")
                            : recorded ? "records " + implementation->node_name
                                       : std::string("records nothing"));
  } else {
    tree.member("error", error).key("nearest").begin_array();
    for (const std::string& text : nearest_overrides(schema.name, types)) tree.value(text);
    tree.end_array();
  }
  tree.end_object();
  return tree.finish();
}

}  // namespace tenon::core
