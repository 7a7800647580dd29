// Connecting tables and plugins.
#include "core/runtime/table_registrar.hpp"

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/runtime/partial_types.hpp"
#include "core/runtime/unknown_name.hpp"

namespace tenon::core {

void TableRegistrar::connect(PluginManager& manager) {
  manager_ = &manager;
  tables_.ops.set_finder([&manager](std::string_view name) {
    if (!manager.ensure_op(name)) throw_unknown(manager, ItemKind::Op, name);
  });
  tables_.ops.set_next_finder([&manager](std::string_view name, const std::string& declined) {
    return manager.ensure_next_op(name, declined);
  });
  tables_.modules.set_finder([&manager](std::string_view name) {
    if (!manager.ensure_module(name)) throw_unknown(manager, ItemKind::Module, name);
  });
  tables_.types.set_finder([&manager](std::string_view name) {
    if (!manager.ensure_type(name)) throw_unknown(manager, ItemKind::Type, name);
  });
  tables_.types.set_completer(
      [&manager](std::string_view name) { return manager.complete_type(name); });
  tables_.types.set_preference(
      [&manager](const Override& entry, const std::string& a, const std::string& b) {
        return manager.preferred(entry.schema.name, entry.key(), a, b);
      });
}

void TableRegistrar::commit(const RegistrationRequest& items) {
  require_types(items);
  const std::lock_guard lock(mutex_);
  auto modules = tables_.modules.prepare(items.provider, items.modules, items.code);
  auto types = prepare_types(items);
  tables_.ops.commit(items.provider, items.ops, items.code, items.ranked);
  tables_.modules.commit(std::move(modules));
  const std::vector<std::string> notes = std::move(types.notes);
  const std::vector<std::string> warnings = std::move(types.warnings);
  tables_.types.commit(std::move(types), items.replaced);
  // Rules meet the op that they are for, whichever of the two comes later.
  refresh_rules(items.replaced != nullptr);
  for (const std::string& note : notes) log(LogLevel::info, items.provider, note);
  for (const std::string& warning : warnings) log(LogLevel::warning, items.provider, warning);
  if (!log_enabled(LogLevel::warning)) return;
  for (const std::string& warning : partial_type_warnings(items, {tables_, *manager_}))
    log(LogLevel::warning, items.provider, warning);
}

// When code replaces other code, the tables have the new code by now: `keep_going` leaves rules
// that do not fit it out instead of throwing.
void TableRegistrar::refresh_rules(bool keep_going) {
  for (const std::string& op : tables_.types.ops_with_gradient_overrides()) {
    try {
      refresh_active_rules(tables_, op);
    } catch (const Error& error) {
      if (!keep_going) throw;
      log(LogLevel::warning, "",
          format_text("op '{}' keeps its own gradient: {}", op, error.message));
    }
  }
}

void TableRegistrar::configure(const std::string& type, const TypeSettings& settings) {
  tables_.types.configure(type, settings);
}

std::shared_ptr<const void> TableRegistrar::withdraw(const PluginCode& code) {
  const std::lock_guard lock(mutex_);
  tables_.ops.withdraw(code);
  tables_.modules.withdraw(code);
  tables_.types.withdraw(code);
  refresh_rules(true);
  return tables_.plans == nullptr ? nullptr : tables_.plans->withdraw();
}

void TableRegistrar::forget(const PluginCode& code) {
  const std::lock_guard lock(mutex_);
  // A plan that a call has made since is of an implementation whose address may be used again.
  tables_.types.note_change();
  tables_.ops.forget(code);
  tables_.modules.forget(code);
}

std::vector<std::string> TableRegistrar::users_of(const PluginCode& code) {
  return tables_.types.users_of(code);
}

// Types of other plugins that it builds on come first; what is not known is refused later.
void TableRegistrar::require_types(const RegistrationRequest& items) const {
  std::unordered_set<std::string_view> own;
  for (const auto* type : items.types) own.emplace(type->name);
  const auto require = [&](std::string_view name) {
    if (name == "*" || own.contains(name) || tables_.types.find(name) != nullptr) return;
    manager_->ensure_type(name);
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

TypeTable::Prepared TableRegistrar::prepare_types(const RegistrationRequest& items) const {
  std::unordered_map<std::string_view, const char*> own;  // schemas by op
  if (!items.overrides.empty()) {
    for (const auto* op : items.ops) own.emplace(schema_name(op->schema), op->schema);
  }
  const auto source_of = [&](std::string_view op) -> TypeTable::OpSource {
    if (const auto found = own.find(op); found != own.end()) return {found->second, items.provider};
    if (const tenon_op* registered = tables_.ops.find(op)) {
      if (const Implementation* active = registered->implementation.load())
        return {active->schema.text, active->provider, "",
                (active->flags & TENON_OP_NOT_OVERRIDABLE) == 0};
    }
    const PluginManager::DeclaredOp declared = manager_->declared_op(op);
    if (!declared.schema.empty())
      return {declared.schema, declared.provider, "", declared.overridable};
    const std::vector<std::string> names = manager_->declared_names(ItemKind::Op);
    return {"", "", suggestion(op, Words(names.begin(), names.end()))};
  };
  const auto declared = [this](const std::string& key) { return manager_->declares_override(key); };
  return tables_.types.prepare(items.provider, items.types, items.overrides, source_of,
                               {manager_->strict(), manager_->is_glue(items.provider), declared},
                               {items.code, items.replaced});
}

void refresh_active_rules(const Tables& tables, std::string_view op) {
  static std::mutex settling;  // the last caller has read last
  static const HeldAcrossFork held(settling);
  const std::lock_guard lock(settling);
  const Override* rules = tables.types.gradient_override(op);
  tables.ops.replace_rules(op, rules == nullptr ? nullptr : rules->descriptor.rules,
                           rules == nullptr ? "" : rules->provider,
                           rules == nullptr ? nullptr : rules->code);
}

}  // namespace tenon::core
