// Declarations in the order of the file, plugins in the order in which they are known, names as the
// resolver ranks their providers.
#include "core/plugin/resolve/plugin_documents.hpp"

#include "core/plugin/facts/elf_notes.hpp"

namespace tenon::core {

Json facts_document(const PluginFacts& facts) {
  JsonBuilder document;
  document.begin_object().member("id", facts.id).member("version", facts.version);
  document.key("ops").begin_array();
  for (const OpFacts& op : facts.ops) {
    document.begin_object()
        .member("name", op.name())
        .member("schema", op.schema)
        .member("differentiable", op.differentiable)
        .member("jvp", op.jvp)
        .member("flags", op.flags)
        .end_object();
  }
  document.end_array().key("modules").begin_array();
  for (const ModuleFacts& module : facts.modules) {
    document.begin_object()
        .member("name", module.name())
        .member("schema", module.schema)
        .member("forward", module.forward)
        .end_object();
  }
  document.end_array().key("types").begin_array();
  for (const TypeFacts& type : facts.types)
    document.begin_object().member("name", type.type).member("parent", type.parent).end_object();
  document.end_array().key("overrides").begin_array();
  for (const OverrideFacts& entry : facts.overrides)
    document.begin_object().member("name", entry.key).member("schema", entry.schema).end_object();
  return document.end_array().end_object().finish();
}

namespace {

bool is_loadable(const KnownPlugin& plugin) {
  return plugin.found.facts && plugin.state != PluginState::Failed &&
         plugin.state != PluginState::Excluded && plugin.state != PluginState::Shadowed;
}

void put_stamp(JsonBuilder& document, const FileStamp& stamp) {
  document.key("stamp")
      .begin_object()
      .member("device", static_cast<int64_t>(stamp.device))
      .member("inode", static_cast<int64_t>(stamp.inode))
      .member("size", static_cast<int64_t>(stamp.size))
      .member("modified", stamp.modified)
      .member("changed", stamp.changed)
      .end_object();
}

// Stamp and run path of the file as it is now. A file that cannot be read has neither.
void put_file(JsonBuilder& document, const std::string& path) {
  try {
    const FileSource file(path);
    const LinkedLibraries linked = read_linked_libraries(file, path);
    put_stamp(document, file.stamp());
    document.key("run_path").begin_array();
    for (const std::string& folder : linked.run_path) document.value(folder);
    document.end_array();
  } catch (const PluginError&) {
  }
}

void put_plugin(JsonBuilder& document, const KnownPlugin& plugin) {
  document.begin_object().member("id", plugin.id()).member("path", plugin.found.path);
  put_file(document, plugin.found.path);
  document.key("facts").copy(*facts_document(*plugin.found.facts), false).end_object();
}

// The plugins that may run a call, in their order, up to those that contest one place.
void put_providers(JsonBuilder& document, const char* key, ItemKind kind,
                   const Resolver& resolver) {
  document.key(key).begin_object();
  for (const std::string_view name : resolver.names(kind)) {
    document.key(name).begin_array();
    for (const ProviderLevel& level : resolver.levels(kind, name)) {
      if (level.plugins.size() > 1) break;
      document.value(level.plugins.front()->id());
    }
    document.end_array();
  }
  document.end_object();
}

}  // namespace

Json loadable_document(const KnownPlugins& plugins, const Resolver& resolver) {
  JsonBuilder document;
  document.begin_object().key("plugins").begin_array();
  for (const KnownPlugin* plugin : plugins) {
    if (is_loadable(*plugin)) put_plugin(document, *plugin);
  }
  document.end_array().key("loaded").begin_array();
  for (const KnownPlugin* plugin : plugins) {
    if (!plugin->is_final()) continue;
    document.begin_object().member("id", plugin->id()).member("path", plugin->found.path);
    document.end_object();
  }
  document.end_array();
  put_providers(document, "ops", ItemKind::Op, resolver);
  put_providers(document, "modules", ItemKind::Module, resolver);
  put_providers(document, "types", ItemKind::Type, resolver);
  return document.end_object().finish();
}

}  // namespace tenon::core
