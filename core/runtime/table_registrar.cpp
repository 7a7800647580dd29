// Connecting tables and plugins.
#include "core/runtime/table_registrar.hpp"

#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/runtime/runtime.hpp"

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

void TableRegistrar::commit(const ResolvedLoad& load) {
  const std::lock_guard lock(mutex_);
  auto modules = tables_.modules.prepare(load.provider, load.modules, load.code);
  auto types = prepare_types(load);
  tables_.ops.commit(load.provider, load.ops, load.code, load.ranked);
  tables_.modules.commit(std::move(modules));
  const std::vector<std::string> notes = std::move(types.notes);
  const std::vector<std::string> warnings = std::move(types.warnings);
  tables_.types.commit(std::move(types), load.replaced);
  // Rules meet the op that they are for, whichever of the two comes later.
  refresh_rules(load.replaced != nullptr);
  for (const std::string& note : notes) log(LogLevel::info, load.provider, note);
  for (const std::string& warning : warnings) log(LogLevel::warning, load.provider, warning);
  if (!log_enabled(LogLevel::warning)) return;
  for (const std::string& warning : partial_type_warnings(load, {tables_, *manager_}))
    log(LogLevel::warning, load.provider, warning);
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

// An op is the load's, or registered, or declared by a plugin that is not loaded yet.
TypeTable::Prepared TableRegistrar::prepare_types(const ResolvedLoad& load) const {
  if (load.types.empty() && load.overrides.empty() && load.replaced == nullptr) return {};
  std::unordered_map<std::string_view, const char*> own;  // schemas by op
  if (!load.overrides.empty()) {
    for (const auto* op : load.ops) own.emplace(schema_name(op->schema), op->schema);
  }
  const auto source_of = [&](std::string_view op) -> TypeTable::OpSource {
    if (const auto found = own.find(op); found != own.end()) return {found->second, load.provider};
    if (const tenon_op* registered = tables_.ops.find(op)) {
      if (const Implementation* active = registered->implementation.load())
        return {active->schema.text, active->provider, "",
                (active->flags & TENON_OP_NOT_OVERRIDABLE) == 0};
    }
    const auto declared = load.declared_ops.find(op);
    return declared == load.declared_ops.end() ? TypeTable::OpSource() : declared->second;
  };
  const auto declared = [&](const std::string& key) {
    return load.declared_overrides.contains(key);
  };
  return tables_.types.prepare(load.provider, load.types, load.overrides, source_of,
                               {load.strict, load.glue, declared}, {load.code, load.replaced});
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
