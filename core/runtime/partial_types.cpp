// Counting what overrides leave out.
#include <set>

#include "core/base/format.hpp"
#include "core/runtime/documents.hpp"
#include "core/runtime/runtime.hpp"

namespace tenon::core {

namespace {

// Whether what it does not override fails: it has neither handler nor fallback, nor data.
bool answers_for_some(const TensorType& type) {
  constexpr uint32_t kMeant = TENON_TYPE_PARTIAL | TENON_TYPE_NEVER_OPERAND;
  return (type.descriptor.flags & kMeant) == 0 && type.dispatches() && !type.is_tensor &&
         !type.has_handler() && type.fallback() == TENON_FALLBACK_DECLINE;
}

// The ops with an override for operands of this type alone, by whatever plugin.
std::set<std::string, std::less<>> handled_ops(const TensorType& type, const TypeTable& table,
                                               const std::vector<PluginListing>& plugins) {
  std::set<std::string, std::less<>> ops;
  for (const PluginListing& plugin : plugins) {
    if (plugin.facts == nullptr || plugin.state == PluginState::Shadowed ||
        plugin.state == PluginState::Failed || plugin.state == PluginState::Excluded)
      continue;
    for (const OverrideFacts& entry : plugin.facts->overrides) {
      const std::vector<std::string> names = type_names(entry.types);
      const TensorType* owner = names.size() == 1 ? table.find(names.front()) : nullptr;
      if (owner != nullptr && type.is(*owner)) ops.emplace(schema_name(entry.schema));
    }
  }
  return ops;
}

}  // namespace

std::vector<std::string> partial_type_warnings(const ResolvedLoad& load, const Runtime& runtime) {
  const TypeTable& table = runtime.tables.types;
  std::vector<const TensorType*> types;
  for (const tenon_type_descriptor* descriptor : load.types) {
    const TensorType* type = table.find(descriptor->name);
    if (type != nullptr && answers_for_some(*type)) types.push_back(type);
  }
  std::vector<std::string> warnings;
  if (types.empty()) return warnings;
  const std::vector<std::string> ops = overridable_ops(runtime.manager);
  const std::vector<PluginListing> plugins = runtime.manager.list();
  for (const TensorType* type : types) {
    const auto handled = handled_ops(*type, table, plugins);
    const TypeSettings* settings = table.settings(type->name);
    int64_t expected = 0, found = 0;
    for (const std::string& op : ops) {
      if (settings != nullptr && !settings->covers_op(op)) continue;
      ++expected;
      found += handled.contains(op) ? 1 : 0;
    }
    if (found == expected) continue;
    warnings.push_back(format_text(
        "type {} handles {} of {} overridable ops; calls of the others fail: give it a handler or "
        "a fallback, mark it partial, or name the ops that it covers in the config",
        type->name, found, expected));
  }
  return warnings;
}

}  // namespace tenon::core
