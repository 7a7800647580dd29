// The table of module types.
#include "core/nn/module_type.hpp"

#include "core/base/error.hpp"
#include "core/base/growable.hpp"
#include "core/dispatch/table/op.hpp"

namespace tenon::core {

Schema parse_forward_schema(std::string_view text, const ModuleType& type) {
  Schema schema = parse_schema(text);
  if (schema.name != "forward") {
    throw Error(TENON_ERROR_VALUE,
                "module '{}' of plugin '{}': its forward schema is named '{}'; write "
                "\"forward(Tensor input) -> Tensor\"",
                type.schema.name, type.provider, schema.name);
  }
  if (schema.returns.size() > kMaxResults) {
    throw Error(TENON_ERROR_VALUE, "module '{}' of plugin '{}': forward has {} results; at most {}",
                type.schema.name, type.provider, schema.returns.size(), kMaxResults);
  }
  schema.owner = type.schema.short_name();
  return schema;
}

std::optional<DescriptorFault> check_module(const tenon_module_descriptor& module) {
  const bool computes = module.forward != nullptr || module.tenon_function != nullptr;
  if (module.create == nullptr || !computes)
    return DescriptorFault{"has no create or no forward", "set both"};
  const bool own = (module.flags & TENON_MODULE_OWN_FORWARD) != 0;
  if (module.forward != nullptr && module.forward_schema == nullptr && !own) {
    return DescriptorFault{"has a forward without a schema",
                           "set forward_schema, such as \"forward(Tensor input) -> Tensor\""};
  }
  return std::nullopt;
}

std::vector<std::unique_ptr<ModuleType>> ModuleTable::prepare(
    const std::string& provider, std::span<const tenon_module_descriptor* const> descriptors,
    PluginCode* code) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<ModuleType>> types;
  for (const tenon_module_descriptor* descriptor : descriptors) {
    auto type = std::make_unique<ModuleType>();
    type->descriptor = copy_growable(*descriptor);
    type->schema = parse_schema(type->descriptor.schema);
    type->provider = provider;
    type->code = code;
    if (const auto fault = check_module(type->descriptor)) {
      throw Error(TENON_ERROR_VALUE, "module '{}' of plugin '{}' {}; {}", type->schema.name,
                  provider, fault->what, fault->remedy);
    }
    if (type->descriptor.forward_schema != nullptr)
      type->forward = parse_forward_schema(type->descriptor.forward_schema, *type);
    if (const auto present = types_.find(type->schema.name);
        present != types_.end() && present->second->provider != provider) {
      throw Error(TENON_ERROR_PLUGIN, "module '{}' has two providers: '{}' and '{}'",
                  type->schema.name, present->second->provider, provider);
    }
    types.push_back(std::move(type));
  }
  return types;
}

void ModuleTable::commit(std::vector<std::unique_ptr<ModuleType>> types) {
  const std::lock_guard lock(mutex_);
  for (std::unique_ptr<ModuleType>& type : types) {
    const std::string name = type->schema.name;
    std::unique_ptr<ModuleType>& place = types_[name];
    if (place != nullptr) withdrawn_.push_back(std::move(place));
    place = std::move(type);
  }
}

void ModuleTable::withdraw(const PluginCode& code) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, type] : types_) {
    if (type->code == &code) withdrawn_.push_back(std::move(type));
  }
  std::erase_if(types_, [](const auto& entry) { return entry.second == nullptr; });
}

void ModuleTable::forget(const PluginCode& code) {
  const std::lock_guard lock(mutex_);
  std::erase_if(withdrawn_, [&](const auto& type) { return type->code == &code; });
}

const ModuleType* ModuleTable::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = types_.find(std::string(name));
  return found == types_.end() ? nullptr : found->second.get();
}

const ModuleType& ModuleTable::require(std::string_view name) const {
  if (const ModuleType* type = find(name)) return *type;
  if (finder_) finder_(name);
  if (const ModuleType* type = find(name)) return *type;
  throw Error(TENON_ERROR_VALUE, "no module type is named '{}'", name);
}

}  // namespace tenon::core
