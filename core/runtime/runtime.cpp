// Connecting tables and plugins.
#include "core/runtime/runtime.hpp"

#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.hpp"
#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/types.hpp"
#include "core/nn/module.hpp"
#include "core/plugin/config.hpp"
#include "core/plugin/config_policy.hpp"
#include "core/runtime/partial_types.hpp"

namespace tenon::core {

namespace {

// Registers everything of a plugin in all tables, or nothing.
class TableRegistrar final : public Registrar {
 public:
  void commit(const RegistrationRequest& items) override {
    require_types(items);
    const std::lock_guard lock(mutex_);
    auto modules = ModuleTable::process().prepare(items.provider, items.modules);
    OwnSchemas own;
    if (!items.overrides.empty()) {
      for (const auto* op : items.ops) own.emplace(schema_name(op->schema), op->schema);
    }
    auto types = TypeTable::process().prepare(
        items.provider, items.types, items.overrides,
        [&](std::string_view op) { return source_of(own, items.provider, op); },
        {plugin_manager().strict(), plugin_manager().is_glue(items.provider),
         [](const std::string& key) { return plugin_manager().declares_override(key); }});
    Registry::process().commit(items.provider, items.ops);
    ModuleTable::process().commit(std::move(modules));
    const std::vector<std::string> notes = std::move(types.notes);
    const std::vector<std::string> warnings = std::move(types.warnings);
    TypeTable::process().commit(std::move(types));
    // Rules meet the op that they are for, whichever of the two comes later.
    for (const std::string& op : TypeTable::process().ops_with_gradient_overrides())
      refresh_active_rules(op);
    for (const std::string& note : notes) log(LogLevel::info, items.provider, note);
    for (const std::string& warning : warnings) log(LogLevel::warning, items.provider, warning);
    if (!log_enabled(LogLevel::warning)) return;
    for (const std::string& warning : partial_type_warnings(items))
      log(LogLevel::warning, items.provider, warning);
  }
  void configure(const std::string& type, const TypeSettings& settings) override {
    TypeTable::process().configure(type, settings);
  }

 private:
  // Types of other plugins that it builds on come first; what is not known is refused later.
  static void require_types(const RegistrationRequest& items) {
    std::unordered_set<std::string_view> own;
    for (const auto* type : items.types) own.emplace(type->name);
    const auto require = [&](std::string_view name) {
      if (name == "*" || own.contains(name) || TypeTable::process().find(name) != nullptr) return;
      plugin_manager().ensure_type(name);
    };
    for (const auto* type : items.types) {
      if (type->parent != nullptr) require(type->parent);
    }
    for (const auto* entry : items.overrides) {
      for (const char* names : {entry->types, entry->accepts}) {
        for (const std::string& name : type_names(names == nullptr ? "" : names)) require(name);
      }
    }
  }
  using OwnSchemas = std::unordered_map<std::string_view, const char*>;  // by op
  static TypeTable::OpSource source_of(const OwnSchemas& own, const std::string& provider,
                                       std::string_view op) {
    if (const auto found = own.find(op); found != own.end()) return {found->second, provider};
    if (const tenon_op* registered = Registry::process().find(op)) {
      if (const Implementation* active = registered->implementation.load())
        return {active->schema.text, active->provider, "",
                (active->flags & TENON_OP_NOT_OVERRIDABLE) == 0};
    }
    const PluginManager::DeclaredOp declared = plugin_manager().declared_op(op);
    if (!declared.schema.empty())
      return {declared.schema, declared.provider, "", declared.overridable};
    const std::vector<std::string> names = plugin_manager().declared_names(ItemKind::Op);
    return {"", "", suggestion(op, Words(names.begin(), names.end()))};
  }

  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
};

// The name among `names` that it is, or ends: "nn.Linear" for Linear. Empty when there is none.
std::string full_name(const std::vector<std::string>& names, std::string_view name) {
  std::string found;
  for (const std::string& known : names) {
    if (known == name) return known;
    if (found.empty() && known.size() > name.size() && known.ends_with(name) &&
        known[known.size() - name.size() - 1] == '.')
      found = known;
  }
  return found;
}

// What else carries the name, and how it is used.
std::string other_use(PluginManager& manager, ItemKind kind, std::string_view name) {
  struct Use {
    ItemKind kind;
    const char *what, *before, *after;
  };
  static constexpr Use uses[] = {
      {ItemKind::Op, "an op", "call it by tenon::Op(\"", "\")"},
      {ItemKind::Module, "a module type", "create it by tenon::Module::create(\"", "\")"},
      {ItemKind::Type, "a tensor type", "pass operands of it to ops, as in `tenon why add ", "`"}};
  for (const Use& use : uses) {
    if (use.kind == kind) continue;
    const std::string found = full_name(manager.declared_names(use.kind), name);
    if (found.empty()) continue;
    return format_text("; {} is {}: {}{}{}, see `tenon show {}`", quote(found), use.what,
                       use.before, found, use.after, found);
  }
  return {};
}

[[noreturn]] void throw_unknown(PluginManager& manager, ItemKind kind, std::string_view name) {
  const char* what = kind == ItemKind::Op       ? "op"
                     : kind == ItemKind::Module ? "module type"
                                                : "tensor type";
  const std::vector<std::string> names = manager.declared_names(kind);
  const std::string full = full_name(names, name);
  const std::string use = full.empty() ? other_use(manager, kind, name) : std::string();
  if (!use.empty()) throw Error(TENON_ERROR_VALUE, "no {} is named {}{}", what, quote(name), use);
  std::vector<std::string_view> candidates(names.begin(), names.end());
  // The last part alone is what people type.
  std::string message =
      format_text("no {} is named {}{}", what, quote(name),
                  full.empty() ? suggestion(name, candidates)
                               : format_text("; its full name is {}", quote(full)));
  std::string folders;
  for (const SearchFolder& folder : manager.folders())
    folders += (folders.empty() ? "" : ", ") + folder.path;
  message +=
      format_text(". Plugins were looked for in: {}", folders.empty() ? "(no folder)" : folders);
  // It may be in one that has a fault.
  std::vector<std::string> refused;
  for (const PluginListing& plugin : manager.list()) {
    if (plugin.state == PluginState::Failed) refused.push_back(plugin.path);
  }
  if (!refused.empty()) {
    message +=
        format_text("; refused, see `tenon plugins`: {}",
                    refused.size() < 3 ? join(refused, ", ")
                                       : counted(static_cast<int64_t>(refused.size()), "plugin"));
  }
  throw Error(TENON_ERROR_VALUE, message);
}

PluginManager& start() {
  static TableRegistrar registrar;
  auto* manager = new PluginManager(
      host_table(), registrar);  // never torn down: plugins outlive static destructors
  Registry::process().set_finder([manager](std::string_view name) {
    if (!manager->ensure_op(name)) throw_unknown(*manager, ItemKind::Op, name);
  });
  ModuleTable::process().set_finder([manager](std::string_view name) {
    if (!manager->ensure_module(name)) throw_unknown(*manager, ItemKind::Module, name);
  });
  TypeTable::process().set_finder([manager](std::string_view name) {
    if (!manager->ensure_type(name)) throw_unknown(*manager, ItemKind::Type, name);
  });
  TypeTable::process().set_completer(
      [manager](std::string_view name) { return manager->complete_type(name); });
  TypeTable::process().set_preference(
      [manager](const Override& entry, const std::string& a, const std::string& b) {
        return manager->preferred(entry.schema.name, entry.key(), a, b);
      });
  return *manager;
}

}  // namespace

PluginManager& plugin_manager() {
  static PluginManager& manager = start();
  return manager;
}

const Override& find_override(std::string_view key, std::string_view provider) {
  const std::string pattern = canonical_pattern(std::string(key));
  const size_t bracket = pattern.find('[');
  plugin_manager();
  if (bracket != pattern.npos) {
    for (const std::string& type :
         type_names(std::string_view(pattern).substr(bracket + 1, pattern.size() - bracket - 2)))
      static_cast<void>(TypeTable::process().require(type));
  }
  if (const Override* entry = TypeTable::process().find_override(pattern, provider)) return *entry;
  if (const Override* other = TypeTable::process().find_override(pattern, "")) {
    throw Error(TENON_ERROR_VALUE, "no override {} is registered by plugin {}; there is one by {}",
                quote(pattern), quote(provider), quote(other->provider));
  }
  std::vector<std::string> keys;
  for (const Override* entry : TypeTable::process().overrides()) keys.push_back(entry->key());
  const Words candidates(keys.begin(), keys.end());
  throw Error(TENON_ERROR_VALUE,
              "no override {} is registered{}{}; `tenon types` and `tenon show TYPE` list them",
              quote(pattern), provider.empty() ? "" : format_text(" by plugin {}", quote(provider)),
              bracket == pattern.npos ? ": types belong to its name, as in "
                                        "'add[A, B]'"
                                      : suggestion(pattern, candidates));
}

void refresh_active_rules(std::string_view op) {
  static std::mutex settling;  // the last caller has read last
  static const HeldAcrossFork held(settling);
  const std::lock_guard lock(settling);
  const Override* rules = TypeTable::process().gradient_override(op);
  Registry::process().replace_rules(op, rules == nullptr ? nullptr : rules->descriptor.rules,
                                    rules == nullptr ? "" : rules->provider);
}

void apply_config(const tenon_json& config) { plugin_manager().apply(policy_of(config)); }

void apply_config_lazily(const tenon_json& config) {
  PluginPolicy policy = policy_of(config);
  for (PluginPolicy::Plugin& plugin : policy.plugins) {
    if (plugin.mode == LoadMode::Eager) plugin.mode = LoadMode::Lazy;
  }
  plugin_manager().apply(policy);
}

}  // namespace tenon::core
