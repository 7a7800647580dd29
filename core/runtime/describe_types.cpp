// Types in listings: which there are, and what each covers.
#include "core/runtime/describe_types.hpp"

#include <algorithm>
#include <map>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types/specificity.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/runtime/runtime.hpp"

namespace tenon::core {

namespace {

struct DeclaredType {
  TypeFacts facts;
  std::string provider;
  int64_t overrides = 0;
};

std::vector<DeclaredType> declared_types(const Runtime& runtime) {
  std::vector<DeclaredType> types;
  const std::vector<PluginListing> plugins = runtime.manager.list();
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

void put_type(JsonBuilder& document, const DeclaredType& type) {
  document.member("name", type.facts.type);
  if (!type.facts.parent.empty()) document.member("parent", type.facts.parent);
  document.member("provider", type.provider)
      .member("doc", type.facts.doc)
      .member("handler", type.facts.handler)
      .member("fallback", type.facts.fallback == TENON_FALLBACK_INHERIT && type.facts.parent.empty()
                              ? fallback_text(TENON_FALLBACK_DECLINE)
                              : fallback_text(type.facts.fallback))
      .member("overrides", type.overrides);
}

}  // namespace

Json describe_types(const Runtime& runtime) {
  JsonBuilder document;
  document.begin_array();
  for (const DeclaredType& type : declared_types(runtime)) {
    document.begin_object();
    put_type(document, type);
    document.end_object();
  }
  document.end_array();
  return document.finish();
}

Json describe_type(const Runtime& runtime, std::string_view name) {
  const std::vector<DeclaredType> types = declared_types(runtime);
  Words names;
  for (const DeclaredType& type : types) names.push_back(type.facts.type);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw Error(TENON_ERROR_VALUE, "no tensor type is named {}{}", quote(name),
                suggestion(name, names));
  }
  const TensorType& loaded = runtime.tables.types.require(name);
  // Of several plugins that declare it, the one that provides it.
  const auto found = std::find_if(types.begin(), types.end(), [&](const DeclaredType& type) {
    return type.facts.type == name && type.provider == loaded.provider;
  });
  JsonBuilder document;
  document.begin_object();
  if (found != types.end()) put_type(document, *found);
  document.key("overrides_in_force").begin_array();
  for (const Override* entry : runtime.tables.types.overrides()) {
    if (!entry->for_type(loaded)) continue;
    document.begin_object()
        .member("op", entry->schema.name)
        .member("signature", signature_text(entry->schema))
        .member("provider", entry->provider);
    if (!entry->differences.empty())
      document.member("signature_differs", join(entry->differences, "; "));
    document.end_object();
  }
  document.end_array().end_object();
  return document.finish();
}

namespace {

// Who is asked first for an op on operands that are all of the type: from it up, as calls go.
struct Covered {
  const char* how;  // one of kWays
  std::string by;
};
constexpr const char* kWays[] = {"handled", "handler", "inherited", "fallback", "missing"};

Covered cover(const TensorType& type, std::string_view op,
              const std::map<const TensorType*, std::string>& overrides) {
  if ((type.descriptor.flags & TENON_TYPE_NEVER_OPERAND) != 0) return {"missing", ""};
  for (const TensorType* level = &type; level != nullptr; level = level->parent) {
    const bool own = level == &type;
    if (const auto found = overrides.find(level); found != overrides.end())
      return {own ? "handled" : "inherited", format_text("override {}", found->second)};
    if (level->descriptor.handler != nullptr)
      return {own ? "handler" : "inherited", format_text("handler of {}", level->name)};
    if (level->id == 0) return {"inherited", "default handler"};
  }
  const uint32_t fallback = type.fallback();
  if (fallback == TENON_FALLBACK_DECLINE || !type.falls_back_for(op)) return {"missing", ""};
  return {"fallback", format_text("fallback {} of {}", fallback_text(fallback), type.name)};
}

}  // namespace

Json describe_coverage(TypeTable& table, std::string_view name,
                       const std::vector<std::string>& ops) {
  const TensorType& type = table.require(name);
  // By op, the overrides for one type alone: all operands are of the type.
  std::map<std::string_view, std::map<const TensorType*, std::string>> overrides;
  for (const Override* entry : table.overrides()) {
    if (entry->types.size() == 1 && !entry->is_gradient_override())
      overrides[entry->schema.name].emplace(entry->types.front(), entry->key());
  }
  std::map<std::string_view, int64_t> counts;
  JsonBuilder document;
  document.begin_object().member("type", type.name).member("provider", type.provider);
  const TypeSettings* settings = table.settings(type.name);
  const bool narrowed = settings != nullptr && !settings->covers.empty();
  if (narrowed) {
    document.key("covers").begin_array();
    for (const std::string& pattern : settings->covers) document.value(pattern);
    document.end_array();
  }
  document.key("ops").begin_array();
  for (const std::string& op : ops) {
    if (narrowed && !settings->covers_op(op)) continue;
    const Covered covered = cover(type, op, overrides[op]);
    ++counts[covered.how];
    document.begin_object().member("name", op).member("how", covered.how);
    if (!covered.by.empty()) document.member("by", covered.by);
    document.end_object();
  }
  document.end_array().key("counts").begin_object();
  for (const char* how : kWays) document.member(how, counts[how]);
  document.end_object().end_object();
  return document.finish();
}

Json describe_ambiguities(const Runtime& runtime) {
  // Overrides are known with the types that they are for. One plugin that is refused does not hide
  // what is wrong with others; where it may be refused for its ambiguities, it is listed instead.
  for (const DeclaredType& type : declared_types(runtime)) {
    try {
      static_cast<void>(runtime.tables.types.require(type.facts.type));
    } catch (const Error& error) {
      if (runtime.manager.strict()) throw;
      log(LogLevel::warning, type.provider, error.message);
    }
  }
  JsonBuilder document;
  document.begin_array();
  for (const Ambiguity& ambiguity : runtime.tables.types.ambiguities()) {
    document.begin_object().member("op", ambiguity.first->schema.name).key("types").begin_array();
    for (const TensorType* type : ambiguity.types) document.value(type->name);
    document.end_array().key("overrides").begin_array();
    for (const Override* entry : {ambiguity.first, ambiguity.second}) {
      document.begin_object()
          .member("key", entry->key())
          .member("provider", entry->provider)
          .end_object();
    }
    document.end_array().member("fix", ambiguity.fix()).end_object();
  }
  document.end_array();
  return document.finish();
}

}  // namespace tenon::core
