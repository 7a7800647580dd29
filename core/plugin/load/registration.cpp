// Choosing what of a plugin's table is registered: what the resolver says belongs in the tables.
#include "core/plugin/load/registration.hpp"

#include <algorithm>

#include "core/plugin/facts/facts_reader.hpp"

namespace tenon::core {

void ResolvedLoad::sort_by_name() {
  const auto by_schema = [](const auto* item) { return schema_name(item->schema); };
  std::ranges::sort(ops, {}, by_schema);
  std::ranges::sort(modules, {}, by_schema);
  std::ranges::sort(types, {}, [](const auto* type) { return std::string_view(type->name); });
  std::ranges::sort(overrides, {},
                    [](const auto* entry) { return override_key(entry->schema, entry->types); });
}

std::set<std::string, std::less<>> ResolvedLoad::foreign_types() const {
  std::set<std::string, std::less<>> names;
  for (const auto* type : types) {
    if (type->parent != nullptr) names.emplace(type->parent);
  }
  for (const auto* entry : overrides) {
    for (const char* list : {entry->types, entry->accepts}) {
      for (std::string& name : type_names(list == nullptr ? "" : list))
        names.insert(std::move(name));
    }
  }
  names.erase("*");
  for (const auto* type : types) names.erase(type->name);
  return names;
}

const KnownPlugins* Registrations::of(ItemKind kind, std::string_view name) const {
  const auto& names = names_[static_cast<size_t>(kind)];
  const auto found = names.find(std::string(name));
  return found == names.end() ? nullptr : &found->second;
}

bool Registrations::has(ItemKind kind, std::string_view name) const {
  return of(kind, name) != nullptr;
}

ResolvedLoad Registrations::due(const KnownPlugin& plugin, const tenon_plugin& table,
                                const Resolver& resolver, Due what) const {
  ResolvedLoad load;
  load.provider = plugin.id();
  const auto is_due = [&](ItemKind kind, std::string_view name) {
    const KnownPlugins* const present = of(kind, name);
    const bool is_there =
        present != nullptr && std::ranges::find(*present, &plugin) != present->end();
    return is_there ? what == Due::Again : resolver.belongs(plugin, kind, name);
  };
  for (int64_t i = 0; i < table.op_count; ++i) {
    const std::string_view name = schema_name(table.ops[i]->schema);
    if (!is_due(ItemKind::Op, name)) continue;
    load.ops.push_back(table.ops[i]);
    const KnownPlugins ranked = resolver.registered_with(plugin, ItemKind::Op, name);
    if (ranked.size() == 1) continue;
    std::vector<std::string>& ids = load.ranked[std::string(name)];
    for (const KnownPlugin* one : ranked) ids.push_back(one->id());
  }
  for (int64_t i = 0; i < table.module_count; ++i) {
    if (is_due(ItemKind::Module, schema_name(table.modules[i]->schema)))
      load.modules.push_back(table.modules[i]);
  }
  for (int64_t i = 0; i < table.type_count; ++i) {
    if (is_due(ItemKind::Type, table.types[i]->name)) load.types.push_back(table.types[i]);
  }
  for (int64_t i = 0; i < table.service_count; ++i) {
    if (is_due(ItemKind::Service, table.services[i]->name))
      load.services.push_back(table.services[i]);
  }
  for (int64_t i = 0; what != Due::More && i < table.override_count; ++i) {
    const tenon_override_descriptor& entry = *table.overrides[i];
    const std::string key = override_key(entry.schema, entry.types);
    if (!resolver.is_disabled(plugin, {schema_name(entry.schema), key}))
      load.overrides.push_back(&entry);
  }
  load.sort_by_name();
  return load;
}

void Registrations::add(const KnownPlugin& plugin, const ResolvedLoad& load,
                        const Resolver& resolver) {
  const auto provide = [&](ItemKind kind, std::string_view name) {
    KnownPlugins ranked = resolver.registered_with(plugin, kind, name);
    names_[static_cast<size_t>(kind)][std::string(name)] = std::move(ranked);
  };
  for (const auto* op : load.ops) provide(ItemKind::Op, schema_name(op->schema));
  for (const auto* module : load.modules) provide(ItemKind::Module, schema_name(module->schema));
  for (const auto* type : load.types) provide(ItemKind::Type, type->name);
  for (const auto* service : load.services) provide(ItemKind::Service, service->name);
}

ItemNames Registrations::withdraw(const KnownPlugin& plugin) {
  ItemNames alone;
  for (size_t kind = 0; kind < kItemKinds; ++kind) {
    auto& names = names_[kind];
    for (auto entry = names.begin(); entry != names.end();) {
      if (std::erase(entry->second, &plugin) == 0 || !entry->second.empty()) {
        ++entry;
        continue;
      }
      alone.emplace_back(static_cast<ItemKind>(kind), entry->first);
      entry = names.erase(entry);
    }
  }
  std::ranges::sort(alone);
  return alone;
}

}  // namespace tenon::core
