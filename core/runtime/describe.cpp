// Listings as JSON documents. All but an app's own state comes from plugin facts: nothing is loaded to be
// listed.
#include <algorithm>
#include <map>
#include <string>

#include "core/autograd/leak_tracking.hpp"
#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/memory_use.hpp"
#include "core/base/parallel.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/elementwise.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/schema.hpp"
#include "core/plugin/compatibility.hpp"
#include "core/runtime/describe_types.hpp"
#include "core/runtime/explain.hpp"
#include "core/runtime/runtime.hpp"
#include "tenon/abi/version.h"

namespace tenon::core {

namespace {

struct DeclaredOp {
  const OpFacts* facts;
  const PluginListing* plugin;
  std::shared_ptr<const Schema> schema;
};

// That of the table where the op is registered, which is never freed; parsed again elsewhere. Null
// when it cannot be parsed.
std::shared_ptr<const Schema> schema_of(const Registry& registry, const OpFacts& op) {
  if (const tenon_op* registered = registry.find(op.name())) {
    const Implementation* active = registered->implementation.load(std::memory_order_acquire);
    if (active != nullptr && op.schema == active->descriptor.schema)
      return {std::shared_ptr<const Schema>(), &active->schema};
  }
  try {
    return std::make_shared<const Schema>(parse_schema(op.schema));
  } catch (const Error&) {  // loading it will say why
    return nullptr;
  }
}

struct DeclaredModule {
  const ModuleFacts* facts;
  const PluginListing* plugin;
};

bool is_visible(const PluginListing& plugin) {
  return plugin.facts != nullptr && plugin.state != PluginState::Shadowed &&
         plugin.state != PluginState::Failed;
}

std::string standing_of(PluginManager& manager, ItemKind kind, std::string_view name,
                        const std::string& plugin) {
  for (const ProviderListing& provider : manager.providers(kind, name)) {
    if (provider.plugin == plugin) return provider_standing_text(provider.standing);
  }
  return provider_standing_text(ProviderStanding::Failed);
}

void put_providers(JsonBuilder& document, const Runtime& runtime, ItemKind kind,
                   std::string_view name) {
  document.key("providers").begin_array();
  for (const ProviderListing& provider : runtime.manager.providers(kind, name)) {
    document.begin_object()
        .member("plugin", provider.plugin)
        .member("standing", provider_standing_text(provider.standing));
    if (!provider.reason.empty()) document.member("reason", provider.reason);
    if (provider.may_decline) document.member("may_decline", true);
    if (kind == ItemKind::Op && provider.may_decline) {
      const std::string declined = runtime.tables.ops.reason_declined(name, provider.plugin);
      if (!declined.empty()) document.member("declined", declined);
    }
    document.end_object();
  }
  document.end_array();
}

// Everything that usable plugins declare, sorted by name, then plugin.
struct Inventory {
  explicit Inventory(const Runtime& of) : runtime(of), plugins(of.manager.list()) {}

  const Runtime& runtime;
  std::vector<PluginListing> plugins;

  std::vector<DeclaredOp> ops() const {
    std::vector<DeclaredOp> list;
    for (const PluginListing& plugin : plugins) {
      if (!is_visible(plugin)) continue;
      for (const OpFacts& op : plugin.facts->ops) {
        if (std::shared_ptr<const Schema> schema = schema_of(runtime.tables.ops, op))
          list.push_back({&op, &plugin, std::move(schema)});
      }
    }
    std::sort(list.begin(), list.end(), [](const DeclaredOp& a, const DeclaredOp& b) {
      return a.schema->name != b.schema->name ? a.schema->name < b.schema->name
                                              : a.plugin->id < b.plugin->id;
    });
    return list;
  }
  // Each name once, by the plugin that provides it, or would.
  std::vector<DeclaredOp> standing_ops() const {
    std::vector<DeclaredOp> list;
    for (DeclaredOp& op : ops()) {
      if (list.empty() || list.back().schema->name != op.schema->name) {
        list.push_back(std::move(op));
      } else if (standing_of(runtime.manager, ItemKind::Op, op.schema->name, op.plugin->id) ==
                 provider_standing_text(ProviderStanding::Chosen)) {
        list.back() = std::move(op);
      }
    }
    return list;
  }
  std::vector<DeclaredModule> modules() const {
    std::vector<DeclaredModule> list;
    for (const PluginListing& plugin : plugins) {
      if (!is_visible(plugin)) continue;
      for (const ModuleFacts& module : plugin.facts->modules) list.push_back({&module, &plugin});
    }
    std::sort(list.begin(), list.end(), [](const DeclaredModule& a, const DeclaredModule& b) {
      return a.facts->name() != b.facts->name() ? a.facts->name() < b.facts->name()
                                                : a.plugin->id < b.plugin->id;
    });
    return list;
  }
};

// Why an op cannot be overridden; empty when it can.
std::string ignored_reason(const DeclaredOp& op) {
  if ((op.facts->flags & TENON_OP_NOT_OVERRIDABLE) != 0) {
    return op.facts->not_overridable.empty() ? "its plugin declares it so"
                                             : op.facts->not_overridable;
  }
  const auto holds = [](const Parameter& parameter) {
    const bool operand = parameter.type.kind == TypeKind::tensor ||
                         parameter.type.kind == TypeKind::tensor_or_scalar ||
                         parameter.type.kind == TypeKind::any;
    return operand && !(parameter.keyword_only && parameter.name == "out");
  };
  const bool has_operand =
      std::any_of(op.schema->parameters.begin(), op.schema->parameters.end(), holds);
  return has_operand ? "" : "it has no tensor operands whose type could be dispatched on";
}

// Whether its backward may be differentiated: yes, once, unknown; none without a backward. Rules of
// ops that are not Functions see nothing but what `saves` keeps, so they can.
const char* double_backward(const OpFacts& op) {
  if (op.differentiable == "none") return "none";
  if ((op.flags & TENON_OP_ONCE_DIFFERENTIABLE) != 0) return "once";
  const bool declared = (op.flags & TENON_OP_TWICE_DIFFERENTIABLE) != 0;
  return declared || (op.flags & TENON_OP_FUNCTION) == 0 ? "yes" : "unknown";
}

// How it is written: "op" where forward sees no context, else "context", "setup" or "residual";
// "instance" in front where attributes configure one.
std::string form_text(int64_t flags) {
  const bool instance = (flags & TENON_OP_INSTANCE) != 0;
  const char* form = (flags & TENON_OP_SETUP) != 0      ? "setup"
                     : (flags & TENON_OP_RESIDUAL) != 0 ? "residual"
                     : instance                         ? ""
                     : (flags & TENON_OP_FUNCTION) != 0 ? "context"
                                                        : "op";
  return std::string(instance ? "instance" : "") + (instance && *form != 0 ? " " : "") + form;
}

std::vector<const char*> rules_of(const OpFacts& op) {
  std::vector<const char*> rules{"forward"};
  if ((op.flags & TENON_OP_SETUP) != 0) rules.push_back("setup_context");
  if (op.differentiable == "formula") rules.push_back("backward");
  if (op.jvp != "none") rules.push_back("jvp");
  return rules;
}

// Whether it is a method of Tensor too.
bool is_method(const Schema& schema) {
  if (!schema.namespace_name().empty() || schema.parameters.empty()) return false;
  const Parameter& first = schema.parameters.front();
  return first.name == "input" &&
         (first.type.kind == TypeKind::tensor || first.type.kind == TypeKind::tensor_or_scalar);
}

void put_op(JsonBuilder& document, const DeclaredOp& op) {
  document.member("name", op.schema->name)
      .member("namespace", op.schema->namespace_name())
      .member("signature", signature_text(*op.schema))
      .member("schema", op.schema->text)
      .member("provider", op.plugin->id)
      .member("differentiable", op.facts->differentiable)
      .member("jvp", op.facts->jvp)
      .member("double_backward", double_backward(*op.facts))
      .member("form", form_text(op.facts->flags))
      .member("method", is_method(*op.schema))
      .member("doc", op.facts->doc);
  document.key("rules").begin_array();
  for (const char* rule : rules_of(*op.facts)) document.value(rule);
  document.end_array();
}

void put_type(JsonBuilder& document, const SchemaType& type) {
  document.member("type", type_text(type));
  if (type.alias != 0)
    document.member("alias", std::string(1, type.alias)).member("mutates", type.mutates);
}

// The parsed schema, for callers that build calls at run time.
void put_parts(JsonBuilder& document, const Schema& schema) {
  document.key("parameters").begin_array();
  for (const Parameter& parameter : schema.parameters) {
    document.begin_object().member("name", parameter.name);
    put_type(document, parameter.type);
    document.member("keyword_only", parameter.keyword_only);
    if (parameter.has_default) document.member("default", parameter.default_value.text);
    document.end_object();
  }
  document.end_array().member("returns_tuple", schema.returns_tuple).key("returns").begin_array();
  for (const SchemaType& type : schema.returns) {
    document.begin_object();
    put_type(document, type);
    document.end_object();
  }
  document.end_array();
}

// Parts of a schema that cannot be parsed are missing; `fault` says why.
void put_parsed(JsonBuilder& document, const std::string& schema) {
  try {
    const Schema parsed = parse_schema(schema);
    put_parts(document, parsed);
    document.member("method", is_method(parsed));
  } catch (const Error& error) {
    document.member("fault", error.message);
  }
}

template <class Facts>
void put_parts_of(JsonBuilder& document, const Facts& facts) {
  document.member("name", facts.name()).member("schema", facts.schema);
  if (!facts.samples.empty()) document.member("samples", facts.samples);
  put_parsed(document, facts.schema);
}

// Null where instances have their own, and where there is none.
void put_forward(JsonBuilder& document, const ModuleFacts& module) {
  document.key("forward");
  if (module.forward.empty()) {
    document.value(nullptr);
    return;
  }
  document.begin_object().member("schema", module.forward);
  put_parsed(document, module.forward);
  document.end_object();
}

void put_type_names(JsonBuilder& document, const PluginFacts& facts) {
  document.key("types").begin_array();
  for (const TypeFacts& type : facts.types) document.value(type.type);
  document.end_array().key("overrides").begin_array();
  for (const OverrideFacts& entry : facts.overrides) document.value(entry.key);
  document.end_array();
}

void put_declarations(JsonBuilder& document, const PluginFacts& facts, const std::string& path) {
  document.member("id", facts.id).member("version", facts.version).member("path", path);
  document.key("ops").begin_array();
  for (const OpFacts& op : facts.ops) {
    document.begin_object();
    put_parts_of(document, op);
    document.member("differentiable", op.differentiable)
        .member("jvp", op.jvp)
        .member("function", (op.flags & TENON_OP_FUNCTION) != 0)
        .member("double_backward", double_backward(op))
        .member("zero_gradient", (op.flags & TENON_OP_ZERO_GRADIENT) != 0)
        .end_object();
  }
  document.end_array().key("modules").begin_array();
  for (const ModuleFacts& module : facts.modules) {
    document.begin_object();
    put_parts_of(document, module);
    put_forward(document, module);
    document.member("mode", module.mode).end_object();
  }
  document.end_array();
  put_type_names(document, facts);
}

void put_module(JsonBuilder& document, const DeclaredModule& module) {
  std::string signature;
  try {
    signature = signature_text(parse_schema(module.facts->schema));
  } catch (const Error& error) {
    signature = format_text("({})", error.message);
  }
  document.member("name", module.facts->name())
      .member("signature", signature)
      .member("schema", module.facts->schema)
      .member("provider", module.plugin->id)
      .member("mode", module.facts->mode)
      .member("doc", module.facts->doc);
}

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
  document.key("recorded").begin_array();
  for (const std::string& place : retired.recorded) document.value(place);
  document.end_array().key("kept_by").begin_array();
  for (const std::string& reason : retired.kept_by) document.value(reason);
  document.end_array();
  if (!retired.fault.empty()) document.member("fault", retired.fault);
  document.end_object();
}

// Of its code, which lives; and whether it could be unmapped, read from the file as it is.
void put_life(JsonBuilder& document, const Runtime& runtime, const PluginListing& plugin) {
  if (plugin.generation != 0) document.member("generation", plugin.generation);
  if (plugin.state == PluginState::Active) put_holders(document, plugin.holders);
  if (plugin.facts == nullptr) return;
  try {
    UnmapVerdict verdict = judge_unmapping(FileSource(plugin.path), plugin.path);
    if (!plugin.facts->types.empty()) verdict.reasons.emplace_back(kKeptByTypes);
    document.key("unmap").begin_object().member("possible", verdict.can_unmap());
    document.key("reasons").begin_array();
    for (const std::string& reason : verdict.reasons) document.value(reason);
    document.end_array().end_object();
  } catch (const Error&) {  // it is gone: the listing is of what was read
  }
  document.key("retired").begin_array();
  for (const RetiredPlugin& retired : runtime.manager.retired()) {
    if (retired.id == plugin.id) put_retired(document, retired);
  }
  document.end_array();
}

void put_plugin(JsonBuilder& document, const PluginListing& plugin, bool in_full) {
  document.member("id", plugin.id)
      .member("version", plugin.version)
      .member("state", plugin.failure && plugin.failure->quarantined
                           ? "quarantined"
                           : plugin_state_text(plugin.state))
      .member("path", plugin.path)
      .member("origin", plugin_origin_text(plugin.origin));
  if (plugin.facts != nullptr) {
    const PluginFacts& facts = *plugin.facts;
    document.key("abi").begin_array().value(facts.abi_major).value(facts.abi_minor).end_array();
    if (in_full) {
      document.key("ops").begin_array();
      for (const OpFacts& op : facts.ops) document.value(op.schema);
      document.end_array().key("modules").begin_array();
      for (const ModuleFacts& module : facts.modules) document.value(module.schema);
      document.end_array();
      put_type_names(document, facts);
      document.member("sdk", facts.sdk).member("license", facts.license);
    } else {
      document.member("ops", facts.ops.size()).member("modules", facts.modules.size());
    }
    document.member("compiler", facts.compiler);
  }
  if (!plugin.reason.empty()) document.member("reason", plugin.reason);
}

// The names that `name` can mean: itself, or those that end in it after a dot.
bool matches_name(std::string_view full, std::string_view name) {
  return full == name || (full.size() > name.size() && full.ends_with(name) &&
                          full[full.size() - name.size() - 1] == '.');
}

template <class List, class NameOf>
size_t find_one(const List& list, std::string_view name, const char* what, NameOf&& name_of) {
  std::vector<std::string_view> all, matches;
  size_t found = list.size();
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string_view full = name_of(list[i]);
    all.push_back(full);
    if (full == name) return i;
    if (!matches_name(full, name)) continue;
    if (matches.empty() || matches.back() != full) matches.push_back(full);
    if (found == list.size()) found = i;
  }
  if (matches.size() > 1)
    throw Error(TENON_ERROR_VALUE, "{} {} is ambiguous: it may be {}", what, quote(name),
                quoted_list(matches, "or"));
  if (matches.empty())
    throw Error(TENON_ERROR_VALUE, "no {} is named {}{}", what, quote(name), suggestion(name, all));
  return found;
}

size_t find_plugin(const Inventory& inventory, std::string_view id) {
  return find_one(inventory.plugins, id, "plugin",
                  [](const PluginListing& plugin) { return std::string_view(plugin.id); });
}

Json describe_runtime(const Runtime& runtime, std::string_view) {
  JsonBuilder document;
  document.begin_object();
  document.member("version", format_text("{}.{}.{}", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
                                         TENON_VERSION_PATCH));
  document.key("abi").begin_array().value(TENON_ABI_MAJOR).value(TENON_ABI_MINOR).end_array();
  document.member("isa", isa_text(machine_isa())).member("threads", thread_count());
  document.key("folders").begin_array();
  for (const SearchFolder& folder : runtime.manager.folders()) {
    document.begin_object()
        .member("path", folder.path)
        .member("origin", plugin_origin_text(folder.origin))
        .end_object();
  }
  document.end_array().end_object();
  return document.finish();
}

Json describe_overridable(const Runtime& runtime, std::string_view name_space) {
  const Inventory inventory(runtime);
  std::map<std::string, std::vector<std::string>> namespaces;
  for (const DeclaredOp& op : inventory.standing_ops()) {
    if (!ignored_reason(op).empty()) continue;
    namespaces[std::string(op.schema->namespace_name())].emplace_back(op.schema->short_name());
  }
  if (!name_space.empty() && !namespaces.contains(std::string(name_space))) {
    std::vector<std::string_view> known;
    for (const auto& [name, ops] : namespaces) {
      if (!name.empty()) known.push_back(name);
    }
    throw Error(TENON_ERROR_VALUE, "no namespace is named {}{}; there are {} and the root",
                quote(name_space), suggestion(name_space, known), join(known, ", "));
  }
  JsonBuilder document;
  document.begin_array();
  for (const auto& [name, ops] : namespaces) {
    if (!name_space.empty() && name != name_space) continue;
    document.begin_object().member("namespace", name).key("ops").begin_array();
    for (const std::string& op : ops) document.value(op);
    document.end_array().end_object();
  }
  document.end_array();
  return document.finish();
}

// An object for each item, but for those that `take` leaves out.
template <class List, class Put, class Take>
Json objects_of(const List& list, Put&& put, Take&& take) {
  JsonBuilder document;
  document.begin_array();
  for (const auto& item : list) {
    if (!take(item)) continue;
    document.begin_object();
    put(document, item);
    document.end_object();
  }
  return document.end_array().finish();
}
template <class List, class Put>
Json objects_of(const List& list, Put&& put) {
  return objects_of(list, put, [](const auto&) { return true; });
}

Json describe_plugins(const Runtime& runtime, std::string_view) {
  return objects_of(Inventory(runtime).plugins,
                    [](JsonBuilder& document, const PluginListing& plugin) {
                      put_plugin(document, plugin, false);
                    });
}

Json describe_plugin(const Runtime& runtime, std::string_view name) {
  const Inventory inventory(runtime);
  JsonBuilder document;
  document.begin_object();
  const PluginListing& plugin = inventory.plugins[find_plugin(inventory, name)];
  put_plugin(document, plugin, true);
  put_life(document, runtime, plugin);
  return document.end_object().finish();
}

struct DeclaredFacts {
  std::shared_ptr<const PluginFacts> facts;
  std::string path;
};

// Of a plugin by its id, or by its file, which need not be in a folder that is searched.
DeclaredFacts declared_facts(const Runtime& runtime, std::string_view name) {
  if (is_plugin_path(name)) {
    const std::string path(name);
    return {read_facts_file(path).facts, path};
  }
  const Inventory inventory(runtime);
  const PluginListing& plugin = inventory.plugins[find_plugin(inventory, name)];
  if (plugin.facts == nullptr) throw Error(TENON_ERROR_PLUGIN, plugin.reason);
  return {plugin.facts, plugin.path};
}

Json describe_declarations(const Runtime& runtime, std::string_view name) {
  const DeclaredFacts declared = declared_facts(runtime, name);
  JsonBuilder document;
  document.begin_object();
  put_declarations(document, *declared.facts, declared.path);
  return document.end_object().finish();
}

// Of two plugins, each by id or file: a JSON array of the old one and the new.
Json describe_compatibility(const Runtime& runtime, std::string_view pair) {
  const Json names = parse_json(pair);
  if (!names->is_array() || names->size() != 2) {
    throw Error(TENON_ERROR_ARGUMENT, "expected a JSON array of the old plugin and the new, not {}",
                pair);
  }
  const DeclaredFacts before = declared_facts(runtime, names->at(0)->as_string());
  const DeclaredFacts now = declared_facts(runtime, names->at(1)->as_string());
  const std::vector<CompatibilityChange> changes = compare_plugins(*before.facts, *now.facts);
  JsonBuilder document;
  document.begin_object();
  const auto put_side = [&](const char* side, const DeclaredFacts& declared) {
    document.key(side)
        .begin_object()
        .member("id", declared.facts->id)
        .member("version", declared.facts->version)
        .member("path", declared.path)
        .end_object();
  };
  put_side("old", before);
  put_side("new", now);
  document.member("breaks", !changes.empty() && changes.front().breaks)
      .member("version_allows", version_may_break(before.facts->version, now.facts->version))
      .key("changes")
      .begin_array();
  for (const CompatibilityChange& change : changes) {
    document.begin_object()
        .member("breaks", change.breaks)
        .member("kind", change.kind)
        .member("name", change.name)
        .member("what", change.what)
        .end_object();
  }
  return document.end_array().end_object().finish();
}

Json describe_ops(const Runtime& runtime, std::string_view name) {
  return objects_of(Inventory(runtime).ops(), put_op, [&](const DeclaredOp& op) {
    return name.empty() || op.schema->namespace_name() == name;
  });
}

Json describe_op(const Runtime& runtime, std::string_view name) {
  const Inventory inventory(runtime);
  const std::vector<DeclaredOp> ops = inventory.standing_ops();
  const DeclaredOp& op = ops[find_one(ops, name, "op", [](const DeclaredOp& declared) {
    return std::string_view(declared.schema->name);
  })];
  JsonBuilder document;
  document.begin_object();
  put_op(document, op);
  document.member("standing",
                  standing_of(runtime.manager, ItemKind::Op, op.schema->name, op.plugin->id));
  const std::string reason = ignored_reason(op);
  document.member("overridable", reason.empty());
  if (!reason.empty()) document.member("reason", reason);
  put_providers(document, runtime, ItemKind::Op, op.schema->name);
  put_parts(document, *op.schema);
  return document.end_object().finish();
}

Json describe_ignored(const Runtime& runtime, std::string_view) {
  const Inventory inventory(runtime);
  const auto put = [](JsonBuilder& document, const DeclaredOp& op) {
    document.member("name", op.schema->name)
        .member("provider", op.plugin->id)
        .member("reason", ignored_reason(op));
  };
  return objects_of(inventory.standing_ops(), put,
                    [](const DeclaredOp& op) { return !ignored_reason(op).empty(); });
}

Json describe_modules(const Runtime& runtime, std::string_view) {
  const Inventory inventory(runtime);
  return objects_of(inventory.modules(), put_module);
}

Json describe_module(const Runtime& runtime, std::string_view name) {
  const Inventory inventory(runtime);
  const std::vector<DeclaredModule> modules = inventory.modules();
  const DeclaredModule& module =
      modules[find_one(modules, name, "module",
                       [](const DeclaredModule& declared) { return declared.facts->name(); })];
  JsonBuilder document;
  document.begin_object();
  put_module(document, module);
  put_providers(document, runtime, ItemKind::Module, module.facts->name());
  put_parsed(document, module.facts->schema);
  put_forward(document, *module.facts);
  return document.end_object().finish();
}

// `name` is "op NAME" or "module NAME". Nothing else that plugins declare is read for a full name, so that
// constructors can ask.
Json describe_providers(const Runtime& runtime, std::string_view name) {
  const size_t space = name.find(' ');
  const std::string_view word = name.substr(0, space);
  const ItemKind kind = word == "module" ? ItemKind::Module : ItemKind::Op;
  if (space == std::string_view::npos || word != kind_text(kind)) {
    throw Error(TENON_ERROR_ARGUMENT, "providers are listed of 'op NAME' or 'module NAME', got {}",
                quote(name));
  }
  std::string full(name.substr(space + 1));
  if (runtime.manager.providers(kind, full).empty()) {
    const std::vector<std::string> all = runtime.manager.declared_names(kind);
    const auto text_of = [](const std::string& declared) { return std::string_view(declared); };
    full = all[find_one(all, full, kind_text(kind), text_of)];
  }
  JsonBuilder document;
  document.begin_object();
  put_providers(document, runtime, kind, full);
  return document.end_object().finish();
}

Json describe_coverage_of(const Runtime& runtime, std::string_view type) {
  const Inventory inventory(runtime);
  std::vector<std::string> ops;
  for (const DeclaredOp& op : inventory.standing_ops()) {
    if (ignored_reason(op).empty()) ops.push_back(op.schema->name);
  }
  return describe_coverage(runtime.tables.types, type, ops);
}

Json describe_memory() {
  JsonBuilder document;
  document.begin_object()
      .member("small_in_use", small_bytes_in_use())
      .member("large_kept", cached_bytes());
  return document.end_object().finish();
}

// sdk/share/tenon/documents.md has the shape of each.
struct Listing {
  std::string_view kind;
  Json (*make)(const Runtime& runtime, std::string_view name);
};
constexpr Listing kListings[] = {
    {"runtime", describe_runtime},
    {"plugins", describe_plugins},
    {"plugin", describe_plugin},
    {"ops", describe_ops},
    {"op", describe_op},
    {"declarations", describe_declarations},
    {"compatibility", describe_compatibility},
    {"loadable",
     [](const Runtime& runtime, std::string_view) { return runtime.manager.loadable(); }},
    {"overridable", describe_overridable},
    {"ignored", describe_ignored},
    {"types", [](const Runtime& runtime, std::string_view) { return describe_types(runtime); }},
    {"type", describe_type},
    {"coverage", describe_coverage_of},
    {"why", explain_call},
    {"ambiguities",
     [](const Runtime& runtime, std::string_view) { return describe_ambiguities(runtime); }},
    {"modules", describe_modules},
    {"module", describe_module},
    {"providers", describe_providers},
    {"live", [](const Runtime&, std::string_view) { return describe_live(); }},
    {"memory", [](const Runtime&, std::string_view) { return describe_memory(); }},
};

}  // namespace

Json describe(const Runtime& runtime, std::string_view what, std::string_view name) {
  Words kinds;
  for (const Listing& listing : kListings) {
    if (listing.kind == what) return listing.make(runtime, name);
    kinds.push_back(listing.kind);
  }
  throw Error(TENON_ERROR_ARGUMENT, "unknown listing {}; expected {}", quote(what),
              word_list(kinds, "or"));
}

Json retired_document(const RetiredPlugin& retired) {
  JsonBuilder document;
  put_retired(document, retired);
  return document.finish();
}

std::vector<std::string> overridable_ops(const Runtime& runtime) {
  const Inventory inventory(runtime);
  std::vector<std::string> names;
  for (const DeclaredOp& op : inventory.standing_ops()) {
    if (ignored_reason(op).empty()) names.push_back(op.schema->name);
  }
  return names;
}

std::string describe_signature(const Runtime& runtime, std::string_view name) {
  const Inventory inventory(runtime);
  const std::vector<DeclaredOp> ops = inventory.standing_ops();
  return signature_text(*ops[find_one(ops, name, "op", [](const DeclaredOp& declared) {
                           return std::string_view(declared.schema->name);
                         })].schema);
}

}  // namespace tenon::core
