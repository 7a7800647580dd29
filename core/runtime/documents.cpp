// Raw documents, written member by member from facts and tables.
#include "core/runtime/documents.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <unordered_map>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/dispatch/types/override.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/kernel/elementwise.hpp"
#include "tenon/abi/version.h"

namespace tenon::core {

namespace {

// ---- schemas ----

bool holds_operand(const SchemaType& type) {
  return type.kind == TypeKind::tensor || type.kind == TypeKind::tensor_or_scalar ||
         type.kind == TypeKind::any;
}
// Whether there is an operand whose type can be dispatched on.
bool has_operand(const Schema& schema) {
  return std::ranges::any_of(schema.parameters, [](const Parameter& parameter) {
    return holds_operand(parameter.type) && !(parameter.keyword_only && parameter.name == "out");
  });
}
// Whether the op is a method of Tensor, too.
bool is_method(const Schema& schema) {
  if (!schema.namespace_name().empty() || schema.parameters.empty()) return false;
  const Parameter& first = schema.parameters.front();
  return first.name == "input" && holds_operand(first.type) && first.type.kind != TypeKind::any;
}

// Texts that lists show of a schema. Each is parsed once: listings ask for the same ones again and
// again.
struct SchemaSummary {
  std::string normalized, signature;
  std::string fault;  // why it cannot be parsed
  bool operands = false, method = false;
};
const SchemaSummary& summary_of(const std::string& text) {
  static std::mutex mutex;
  static auto& known = *new std::unordered_map<std::string, SchemaSummary>;
  const std::lock_guard lock(mutex);
  const auto [found, added] = known.try_emplace(text);
  SchemaSummary& summary = found->second;
  if (!added) return summary;
  try {
    const Schema schema = parse_schema(text);
    summary = {schema.text, signature_text(schema), "", has_operand(schema), is_method(schema)};
  } catch (const Error& error) {
    summary.fault = error.message;
  }
  return summary;
}

void put_type(JsonBuilder& document, const SchemaType& type) {
  SchemaType kind;
  kind.kind = type.kind;
  document.member("type", type_text(type)).member("kind", type_text(kind));
  if (type.list) document.member("list", true);
  if (type.dictionary) document.member("dictionary", true);
  if (type.length > 0) document.member("length", type.length);
  if (type.optional) document.member("optional", true);
  if (type.alias != 0)
    document.member("alias", std::string(1, type.alias)).member("mutates", type.mutates);
}

// ---- facts ----

void put_schema(JsonBuilder& document, const std::string& text) {
  document.member("schema", text);
  const SchemaSummary& summary = summary_of(text);
  if (!summary.fault.empty()) {
    document.member("fault", summary.fault);
    return;
  }
  if (summary.normalized != text) document.member("normalized", summary.normalized);
  document.member("signature", summary.signature)
      .member("operands", summary.operands)
      .member("method", summary.method);
}

void put_facts(JsonBuilder& document, const OpFacts& op) {
  document.begin_object().member("name", op.name());
  put_schema(document, op.schema);
  document.member("doc", op.doc)
      .member("differentiable", op.differentiable)
      .member("jvp", op.jvp)
      .member("flags", op.flags);
  put_text(document, "not_overridable", op.not_overridable);
  put_text(document, "samples", op.samples);
  put_text(document, "accuracy", op.accuracy);
  document.end_object();
}

void put_facts(JsonBuilder& document, const ModuleFacts& module) {
  document.begin_object().member("name", module.name());
  put_schema(document, module.schema);
  put_text(document, "forward", module.forward);
  document.member("doc", module.doc).member("mode", module.mode);
  put_text(document, "samples", module.samples);
  document.end_object();
}

void put_facts(JsonBuilder& document, const TypeFacts& type) {
  document.begin_object().member("name", type.type);
  put_text(document, "parent", type.parent);
  document.member("doc", type.doc)
      .member("flags", type.flags)
      .member("fallback", fallback_text(static_cast<uint32_t>(type.fallback)))
      .member("metadata", type.metadata)
      .member("handler", type.handler);
  put_texts(document, "payload", type.payload);
  document.end_object();
}

void put_facts(JsonBuilder& document, const OverrideFacts& entry) {
  document.begin_object().member("key", entry.key).member("schema", entry.schema);
  put_texts(document, "types", type_names(entry.types));
  document.member("accepts", entry.accepts).member("doc", entry.doc).end_object();
}

void put_facts(JsonBuilder& document, const ConversionFacts& conversions) {
  document.begin_object().member("format", conversions.format);
  document.member("rules", conversions.rules).end_object();
}

void put_build(JsonBuilder& document, const PluginFacts& facts) {
  document.key("abi").begin_array().value(facts.abi_major).value(facts.abi_minor).end_array();
  document.member("sdk", facts.sdk)
      .member("license", facts.license)
      .member("compiler", facts.compiler);
}

void put_facts(JsonBuilder& document, const PluginFacts& facts, const std::string& path) {
  document.member("id", facts.id).member("version", facts.version).member("path", path);
  put_build(document, facts);
  const auto put = [&](const auto& item) { put_facts(document, item); };
  put_list(document, "ops", facts.ops, put);
  put_list(document, "modules", facts.modules, put);
  put_list(document, "types", facts.types, put);
  put_list(document, "overrides", facts.overrides, put);
  put_list(document, "conversions", facts.conversions, put);
}

// ---- plugins ----

void put_holders(JsonBuilder& document, const std::array<int64_t, kHolders>& holders) {
  document.key("holders").begin_object();
  for (size_t i = 0; i < kHolders; ++i) {
    if (holders[i] != 0) document.member(holder_text(static_cast<Holder>(i)), holders[i]);
  }
  document.end_object();
}

void put_retired(JsonBuilder& document, const RetiredPlugin& retired) {
  document.begin_object()
      .member("id", retired.id)
      .member("path", retired.path)
      .member("generation", retired.generation)
      .member("state", retired_state_text(retired.state));
  put_holders(document, retired.holders);
  put_texts(document, "recorded", retired.recorded);
  put_texts(document, "kept_by", retired.kept_by);
  put_text(document, "fault", retired.fault);
  document.end_object();
}

void put_state(JsonBuilder& document, const PluginListing& plugin) {
  const bool quarantined = plugin.failure && plugin.failure->quarantined;
  document.member("id", plugin.id)
      .member("version", plugin.version)
      .member("state", quarantined ? "quarantined" : plugin_state_text(plugin.state))
      .member("path", plugin.path)
      .member("origin", plugin_origin_text(plugin.origin));
  put_text(document, "reason", plugin.reason);
}

// Whether its declarations count: it is neither refused nor hidden by a plugin of the same id.
bool is_usable(const PluginListing& plugin) {
  return plugin.facts != nullptr && plugin.state != PluginState::Shadowed &&
         plugin.state != PluginState::Failed;
}

}  // namespace

Json runtime_document(PluginManager& manager) {
  JsonBuilder document;
  document.begin_object()
      .member("version", format_text("{}.{}.{}", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
                                     TENON_VERSION_PATCH))
      .member("isa", isa_text(machine_isa()))
      .member("strict", manager.strict());
  put_list(document, "folders", manager.folders(), [&](const SearchFolder& folder) {
    document.begin_object()
        .member("path", folder.path)
        .member("origin", plugin_origin_text(folder.origin))
        .end_object();
  });
  return document.end_object().finish();
}

Json plugins_document(PluginManager& manager) {
  const std::vector<RetiredPlugin> retired = manager.retired();
  JsonBuilder document;
  document.begin_array();
  for (const PluginListing& plugin : manager.list()) {
    document.begin_object();
    put_state(document, plugin);
    if (plugin.generation != 0) document.member("generation", plugin.generation);
    if (plugin.state == PluginState::Active) put_holders(document, plugin.holders);
    if (plugin.facts != nullptr) {
      put_build(document, *plugin.facts);
      document.member("ops", plugin.facts->ops.size())
          .member("modules", plugin.facts->modules.size());
    }
    document.key("retired").begin_array();
    for (const RetiredPlugin& generation : retired) {
      if (generation.id == plugin.id) put_retired(document, generation);
    }
    document.end_array().end_object();
  }
  return document.end_array().finish();
}

Json facts_document(PluginManager& manager) {
  JsonBuilder document;
  document.begin_array();
  for (const PluginListing& plugin : manager.list()) {
    document.begin_object();
    put_state(document, plugin);
    if (plugin.facts != nullptr) {
      document.key("facts").begin_object();
      put_facts(document, *plugin.facts, plugin.path);
      document.end_object();
    }
    document.end_object();
  }
  return document.end_array().finish();
}

Json facts_document(const std::string& path) {
  const FactsFile file = read_facts_file(path);
  UnmapVerdict verdict = judge_unmapping(FileSource(path), path);
  if (!file.facts->types.empty()) verdict.reasons.emplace_back(kKeptByTypes);
  JsonBuilder document;
  document.begin_object();
  put_facts(document, *file.facts, path);
  document.key("unmap").begin_object().member("possible", verdict.can_unmap());
  put_texts(document, "reasons", verdict.reasons);
  return document.end_object().end_object().finish();
}

Json providers_document(const Runtime& runtime, ItemKind kind, std::string_view name) {
  JsonBuilder document;
  document.begin_array();
  for (const ProviderListing& provider : runtime.manager.providers(kind, name)) {
    document.begin_object()
        .member("plugin", provider.plugin)
        .member("standing", provider_standing_text(provider.standing))
        .member("used", provider.standing == ProviderStanding::Chosen);
    put_text(document, "reason", provider.reason);
    if (provider.may_decline) {
      document.member("may_decline", true);
      if (kind == ItemKind::Op)
        put_text(document, "declined", runtime.tables.ops.reason_declined(name, provider.plugin));
    }
    document.end_object();
  }
  return document.end_array().finish();
}

// ---- tables ----

namespace {

const std::string& name_of(const TensorType* type) { return type->name; }

void put_registered(JsonBuilder& document, const TensorType& type) {
  document.begin_object().member("name", type.name).member("id", type.id);
  if (type.parent != nullptr) document.member("parent", type.parent->name);
  document.member("provider", type.provider)
      .member("flags", type.descriptor.flags)
      .member("handler", type.descriptor.handler != nullptr)
      .member("converts", type.descriptor.to_tensor != nullptr)
      .member("fallback", fallback_text(type.fallback()));
  if (const TypeSettings* settings = type.settings.load(std::memory_order_acquire)) {
    put_texts(document, "covers", settings->covers);
    put_texts(document, "fallback_allow", settings->fallback_allow);
    put_texts(document, "fallback_deny", settings->fallback_deny);
  }
  document.end_object();
}

void put_registered(JsonBuilder& document, const Override& entry) {
  document.begin_object()
      .member("op", entry.schema.name)
      .member("key", entry.key())
      .member("provider", entry.provider)
      .member("signature", signature_text(entry.schema))
      .member("gradient", entry.is_gradient_override());
  put_texts(document, "types", entry.types, name_of);
  put_texts(document, "differences", entry.differences);
  document.end_object();
}

void put_ambiguity(JsonBuilder& document, const Ambiguity& ambiguity) {
  document.begin_object().member("op", ambiguity.first->schema.name);
  put_texts(document, "types", ambiguity.types, name_of);
  put_list(document, "overrides", std::array{ambiguity.first, ambiguity.second},
           [&](const Override* entry) {
             document.begin_object()
                 .member("key", entry->key())
                 .member("provider", entry->provider)
                 .end_object();
           });
  document.member("fix", ambiguity.fix()).end_object();
}

}  // namespace

Json registrations_document(const Runtime& runtime) {
  const TypeTable& table = runtime.tables.types;
  std::vector<const TensorType*> types = table.types();
  types.insert(types.begin(), &table.tensor());
  JsonBuilder document;
  document.begin_object();
  const auto put = [&](const auto* item) { put_registered(document, *item); };
  put_list(document, "types", types, put);
  put_list(document, "overrides", table.overrides(), put);
  put_list(document, "ambiguities", table.ambiguities(),
           [&](const Ambiguity& ambiguity) { put_ambiguity(document, ambiguity); });
  return document.end_object().finish();
}

Json schema_document(std::string_view text) {
  const Schema schema = parse_schema(text);
  JsonBuilder document;
  document.begin_object()
      .member("name", schema.name)
      .member("signature", signature_text(schema))
      .member("method", is_method(schema));
  put_list(document, "parameters", schema.parameters, [&](const Parameter& parameter) {
    document.begin_object().member("name", parameter.name);
    put_type(document, parameter.type);
    document.member("keyword_only", parameter.keyword_only);
    if (parameter.has_default) document.member("default", parameter.default_value.text);
    document.end_object();
  });
  document.member("returns_tuple", schema.returns_tuple).key("returns").begin_array();
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    document.begin_object();
    put_text(document, "name", schema.return_names[i]);
    put_type(document, schema.returns[i]);
    document.end_object();
  }
  return document.end_array().end_object().finish();
}

Json retired_document(const RetiredPlugin& retired) {
  JsonBuilder document;
  put_retired(document, retired);
  return document.finish();
}

std::vector<std::string> overridable_ops(PluginManager& manager) {
  std::set<std::string> names;
  for (const PluginListing& plugin : manager.list()) {
    if (!is_usable(plugin)) continue;
    for (const OpFacts& op : plugin.facts->ops) {
      const bool excluded = (op.flags & TENON_OP_NOT_OVERRIDABLE) != 0;
      if (!excluded && summary_of(op.schema).operands) names.emplace(op.name());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace tenon::core
