// Tensor types by id and by name, and their overrides by op.
#include "core/dispatch/types/type_table.hpp"

#include <algorithm>
#include <ranges>
#include <set>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types/override.hpp"

namespace tenon::core {

TypeTable::TypeTable() {
  auto tensor = std::make_unique<TensorType>();
  tensor->name = "Tensor";
  tensor->provider = "tenon";
  tensor->is_tensor = true;
  publish(std::move(tensor));
}

void TypeTable::publish(std::unique_ptr<TensorType> type) {
  const size_t id = types_.size();
  type->id = static_cast<uint32_t>(id);
  if (id % kChunk == 0) {
    chunk_memory_.push_back(std::make_unique<const TensorType*[]>(kChunk));
    chunks_[id / kChunk].store(chunk_memory_.back().get(), std::memory_order_release);
  }
  // Ids reach other threads after their registration only.
  chunk_memory_.back()[id % kChunk] = type.get();
  names_[type->name] = type.get();
  types_.push_back(std::move(type));
  count_.store(types_.size(), std::memory_order_release);
  if (types_.back()->code != nullptr) types_.back()->code->acquire(Holder::Type);
}

const TensorType* TypeTable::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

const TensorType& TypeTable::checked(uint32_t id) const {
  if (!known(id)) throw Error(TENON_ERROR_VALUE, "no tensor type has the id {}", id);
  return at(id);
}

const TensorType& TypeTable::require(std::string_view name) const {
  if (const TensorType* type = find(name)) return *type;
  if (finder_) finder_(name);
  if (const TensorType* type = find(name)) return *type;
  throw Error(TENON_ERROR_VALUE, "no tensor type is named {}", quote(name));
}

void TypeTable::complete(const TensorType& type) const {
  for (const TensorType* level = &type; level != nullptr; level = level->parent) {
    if (level->complete.load(std::memory_order_acquire)) continue;
    if (level->id == 0 || !completer_ || completer_(level->name))
      level->complete.store(true, std::memory_order_release);
  }
}

// Without those that another provider is preferred to.
TypeTable::Entries TypeTable::ranked(Entries entries) const {
  std::map<std::vector<const TensorType*>, Entries> by_types;
  for (const Override* entry : entries) by_types[entry->types].push_back(entry);
  std::erase_if(entries, [&](const Override* entry) {
    const Entries& same = by_types[entry->types];
    return same.size() > 1 && std::any_of(same.begin(), same.end(), [&](const Override* other) {
             return other != entry && preference_ &&
                    preference_(*entry, entry->provider, other->provider) == other->provider;
           });
  });
  return entries;
}

void TypeTable::commit(Prepared prepared, const PluginCode* replaced) {
  const std::lock_guard lock(mutex_);
  if (replaced != nullptr) withdraw_locked(*replaced);
  for (auto& type : prepared.types) publish(std::move(type));
  for (auto& entry : prepared.overrides) {
    for (const TensorType* type : entry->types)
      const_cast<TensorType*>(type)->has_overrides.store(true, std::memory_order_relaxed);
    // The key is the schema's name, which lives as long as the override.
    const std::string_view op = entry->schema.name;
    if (entry->is_gradient_override() &&
        std::find(gradient_override_ops_.begin(), gradient_override_ops_.end(), op) ==
            gradient_override_ops_.end())
      gradient_override_ops_.emplace_back(op);
    auto& list = overrides_[op];
    list.push_back(std::move(entry));
  }
  note_change();
}

void TypeTable::withdraw(const PluginCode& code) {
  const std::lock_guard lock(mutex_);
  withdraw_locked(code);
  note_change();
}

void TypeTable::withdraw_locked(const PluginCode& code) {
  std::erase_if(names_, [&](const auto& entry) { return entry.second->code == &code; });
  for (const auto& type : types_) {
    if (type->code == &code) type->withdrawn.store(true, std::memory_order_release);
  }
  for (auto& [op, entries] : overrides_) {
    for (std::unique_ptr<Override>& entry : entries) {
      if (entry->code != &code) continue;
      entry->withdrawn = true;
      const bool for_own = std::ranges::any_of(
          entry->types, [&](const TensorType* type) { return type->code == &code; });
      if (for_own) continue;
      const std::vector<const TensorType*> types = entry->types;
      withdrawn_overrides_.push_back(std::move(entry));
      refresh_has_overrides(types);
    }
    std::erase(entries, nullptr);
  }
}

std::vector<std::string> TypeTable::users_of(const PluginCode& code) const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> users;
  const auto is_of = [&](const TensorType* type) { return type != nullptr && type->code == &code; };
  for (const auto& type : types_) {
    if (!is_of(type.get()) && is_of(type->parent)) users.insert(type->provider);
  }
  for (const auto& [op, entries] : overrides_) {
    for (const auto& entry : entries) {
      if (entry->code != &code && std::ranges::any_of(entry->types, is_of))
        users.insert(entry->provider);
    }
  }
  return {users.begin(), users.end()};
}

std::vector<const TensorType*> TypeTable::types() const {
  const std::lock_guard lock(mutex_);
  std::vector<const TensorType*> list;
  for (size_t i = 1; i < types_.size(); ++i) {
    if (!types_[i]->withdrawn.load(std::memory_order_acquire)) list.push_back(types_[i].get());
  }
  return list;
}

std::vector<const Override*> TypeTable::overrides(std::string_view op) const {
  using KeyAndProvider = std::pair<std::string, std::string_view>;
  std::multimap<KeyAndProvider, const Override*> sorted;
  {
    const std::lock_guard lock(mutex_);
    const auto collect = [&](const std::vector<std::unique_ptr<Override>>& entries) {
      Entries all;
      for (const auto& entry : entries) {
        if (entry->enabled() && !(op.empty() && entry->withdrawn)) all.push_back(entry.get());
      }
      for (const Override* entry : ranked(std::move(all)))
        sorted.emplace(KeyAndProvider(entry->key(), entry->provider), entry);
    };
    if (op.empty()) {
      for (const auto& [name, entries] : overrides_) collect(entries);
    } else if (const auto found = overrides_.find(op); found != overrides_.end()) {
      collect(found->second);
    }
  }
  std::vector<const Override*> entries;
  for (const auto& [key, entry] : sorted) entries.push_back(entry);
  return entries;
}

std::vector<std::string> TypeTable::ops_with_gradient_overrides() const {
  const std::lock_guard lock(mutex_);
  return gradient_override_ops_;
}

const Override* TypeTable::gradient_override(std::string_view op) const {
  for (const Override* entry : overrides(op)) {
    if (entry->is_gradient_override()) return entry;
  }
  return nullptr;
}

const Override* TypeTable::find_override(std::string_view key, std::string_view provider) const {
  const std::lock_guard lock(mutex_);
  const auto found = overrides_.find(key.substr(0, key.find('[')));
  if (found == overrides_.end()) return nullptr;
  Entries entries;
  for (const auto& entry : found->second) {
    if (entry->key() == key && !entry->withdrawn &&
        (provider.empty() || entry->provider == provider))
      entries.push_back(entry.get());
  }
  entries = ranked(std::move(entries));
  return entries.empty() ? nullptr : entries.front();
}

void TypeTable::switch_off(const Override& entry) {
  entry.switched_off.fetch_add(1, std::memory_order_relaxed);
  note_switch(entry);
}

void TypeTable::switch_on(const Override& entry) {
  int32_t count = entry.switched_off.load(std::memory_order_relaxed);
  while (count > 0 &&
         !entry.switched_off.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) {
  }
  note_switch(entry);
}

// A type whose overrides are all off is passed over like one that has none.
void TypeTable::note_switch(const Override& changed) {
  const std::lock_guard lock(mutex_);
  refresh_has_overrides(changed.types);
  note_change();
}

void TypeTable::refresh_has_overrides(std::span<const TensorType* const> types) {
  for (const TensorType* type : types) {
    const bool any = std::any_of(overrides_.begin(), overrides_.end(), [&](const auto& of_op) {
      return std::any_of(of_op.second.begin(), of_op.second.end(), [&](const auto& entry) {
        return entry != nullptr && entry->enabled() && entry->for_type(*type);
      });
    });
    const_cast<TensorType*>(type)->has_overrides.store(any, std::memory_order_relaxed);
  }
}

std::vector<Ambiguity> TypeTable::ambiguities() const {
  const Entries all = overrides();
  std::map<std::string_view, Entries> by_op;
  for (const Override* entry : all) by_op[entry->schema.name].push_back(entry);
  std::vector<Ambiguity> list;
  for (const auto& [op, entries] : by_op) {
    std::vector<Ambiguity> found = find_ambiguities(entries, entries);
    std::move(found.begin(), found.end(), std::back_inserter(list));
  }
  return list;
}

void TypeTable::configure(const std::string& type, TypeSettings settings) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const TypeSettings>& slot = settings_[type];
  if (slot != nullptr) replaced_.push_back(std::move(slot));
  slot = std::make_unique<const TypeSettings>(std::move(settings));
  if (const auto found = names_.find(type); found != names_.end())
    const_cast<TensorType*>(found->second)->settings.store(slot.get(), std::memory_order_release);
  note_change();
}

const TypeSettings* TypeTable::settings(std::string_view type) const {
  const std::lock_guard lock(mutex_);
  const auto found = settings_.find(type);
  return found == settings_.end() ? nullptr : found->second.get();
}

const std::string& tensor_type_name(uint32_t type) { return TypeTable::process().at(type).name; }

}  // namespace tenon::core
