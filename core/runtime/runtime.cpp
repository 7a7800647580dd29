// Connecting tables and plugins.
#include "core/runtime/runtime.hpp"

#include <string>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/registry.hpp"
#include "core/nn/module.hpp"
#include "core/plugin/config.hpp"

namespace tenon::core {

namespace {

// Puts what a plugin brings into both tables, or into neither.
class TableRegistrar final : public Registrar {
 public:
  void commit(const std::string& provider, std::span<const tenon_op_descriptor* const> ops,
              std::span<const tenon_module_descriptor* const> modules) override {
    auto types = ModuleTable::process().prepare(provider, modules);
    Registry::process().commit(provider, ops);
    ModuleTable::process().commit(std::move(types));
  }
};

[[noreturn]] void throw_unknown(PluginManager& manager, ItemKind kind, std::string_view name) {
  const char* what = kind == ItemKind::Op ? "op" : "module type";
  const std::vector<std::string> names = manager.declared_names(kind);
  std::vector<std::string_view> candidates(names.begin(), names.end());
  std::string message =
      std::string("no ") + what + " is named " + quote(name) + suggestion(name, candidates);
  // The last part alone is what people type.
  for (const std::string& known : names) {
    if (known.size() > name.size() && known.ends_with(name) &&
        known[known.size() - name.size() - 1] == '.') {
      message += "; its full name is " + quote(known);
      break;
    }
  }
  std::string folders;
  for (const SearchFolder& folder : manager.folders())
    folders += (folders.empty() ? "" : ", ") + folder.path;
  message += ". Plugins were looked for in: " + (folders.empty() ? "(no folder)" : folders);
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
  return *manager;
}

PluginPolicy policy_of(const tenon_tree& config) {
  PluginPolicy policy;
  policy.source =
      config.source().empty() ? "the config" : "config '" + std::string(config.source()) + "'";
  const auto text = [](const tenon_tree& node, std::string_view key) {
    const tenon_tree* found = node.find(key);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
  };
  if (const tenon_tree* paths = config.find("search_paths")) {
    for (const tenon_tree& path : paths->children())
      policy.search_paths.emplace_back(path.as_string());
  }
  if (const tenon_tree* plugins = config.find("plugins")) {
    for (const tenon_tree& entry : plugins->children()) {
      PluginPolicy::Plugin plugin;
      plugin.name = text(entry, "path").empty() ? text(entry, "name") : text(entry, "path");
      const std::string mode = text(entry, "load");
      plugin.mode = mode == "eager"   ? LoadMode::Eager
                    : mode == "never" ? LoadMode::Never
                                      : LoadMode::Lazy;
      plugin.version = text(entry, "version");
      plugin.sha256 = text(entry, "sha256");
      if (const tenon_tree* options = entry.find("options")) plugin.options = Tree(options);
      policy.plugins.push_back(std::move(plugin));
    }
  }
  if (const tenon_tree* ops = config.find("ops")) {
    if (const tenon_tree* prefer = ops->find("prefer")) {
      for (const tenon_tree& rule : prefer->children())
        policy.prefer.push_back({std::string(rule.key()), std::string(rule.as_string())});
    }
    if (const tenon_tree* disable = ops->find("disable")) {
      for (const tenon_tree& rule : disable->children())
        policy.disable.push_back({text(rule, "op"), text(rule, "plugin")});
    }
  }
  return policy;
}

}  // namespace

PluginManager& plugin_manager() {
  static PluginManager& manager = start();
  return manager;
}

void apply_config(const tenon_tree& config) { plugin_manager().apply(policy_of(config)); }

Tree read_checked_config(const std::string& path) { return read_config(path); }

}  // namespace tenon::core
