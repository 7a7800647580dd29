// Ids, versions and paths of plugins, and the reasons why a name means none of them.
#include "core/plugin/resolve/known_plugin.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

const char* plugin_state_text(PluginState state) noexcept {
  static constexpr std::array texts{"indexed", "loading",  "active",
                                    "failed",  "excluded", "shadowed"};
  return texts[static_cast<size_t>(state)];
}

const char* kind_text(ItemKind kind) noexcept {
  static constexpr std::array<const char*, kItemKinds> texts{"op", "module", "type", "service"};
  return texts[static_cast<size_t>(kind)];
}

const std::string& KnownPlugin::id() const {
  // The name is empty of a file that cannot be read, too.
  return found.is_side() || !found.facts ? found.side_name : found.facts->id;
}

bool KnownPlugin::is_named(std::string_view given) const {
  if (given == id()) return true;
  const auto [plugin, version] = split_plugin_name(given);
  return found.facts && plugin == found.facts->id && version == found.facts->version;
}

std::string KnownPlugin::text() const { return format_text("{} ({})", quote(id()), found.path); }

void KnownPlugin::fail(PluginFailure why) {
  state = PluginState::Failed;
  reason = why.text();
  failure = std::move(why);
}

const KnownPlugin* find_path(const KnownPlugins& plugins, std::string_view path) {
  const auto found = std::ranges::find_if(
      plugins, [&](const KnownPlugin* plugin) { return plugin->found.path == path; });
  return found == plugins.end() ? nullptr : *found;
}

const KnownPlugin* find_id(const KnownPlugins& plugins, std::string_view id) {
  const auto found = std::ranges::find_if(plugins, [&](const KnownPlugin* plugin) {
    return plugin->state != PluginState::Shadowed && plugin->is_named(id);
  });
  return found == plugins.end() ? nullptr : *found;
}

namespace {

// The failure for "cube@1.4.0" when other versions of the plugin are known; else without a problem.
PluginFailure missing_version(const std::string& name, const KnownPlugins& plugins) {
  const auto [id, version] = split_plugin_name(name);
  std::vector<std::string> known;
  const KnownPlugin* loaded = nullptr;
  const KnownPlugin* same = nullptr;
  for (const KnownPlugin* plugin : plugins) {
    if (version.empty() || !plugin->found.facts || plugin->found.facts->id != id) continue;
    const std::string& found = plugin->found.facts->version;
    known.push_back(format_text("{} ({})", found, plugin->found.path));
    if (plugin->is_final()) loaded = plugin;
    if (found == version) same = plugin;
  }
  if (known.empty()) return {};
  if (same != nullptr && loaded != nullptr)
    return make_failure(
        PluginStage::Find, name, same->found.path,
        format_text("version {} of the plugin is loaded already", loaded->found.facts->version),
        "name all versions in one config, before anything of the plugin is used");
  return make_failure(PluginStage::Find, name, "",
                      format_text("no file of this version of plugin {}", quote(id)),
                      "install it, or name a version that is there",
                      format_text("version {}", version), join(known, ", "));
}

}  // namespace

PluginFailure missing_plugin(const std::string& id, const KnownPlugins& plugins,
                             std::span<const SearchFolder> folders) {
  PluginFailure failure;
  std::vector<std::string_view> ids;
  for (const KnownPlugin* plugin : plugins) {
    if (!plugin->id().empty()) ids.push_back(plugin->id());
    // Not found because it cannot be read: say that.
    if (plugin->failure && !plugin->found.facts &&
        std::filesystem::path(plugin->found.path).stem() == id) {
      failure = *plugin->failure;
      failure.plugin = id;
    }
  }
  if (!failure.problem.empty()) return failure;
  failure = missing_version(id, plugins);
  if (!failure.problem.empty()) return failure;
  return make_failure(
      PluginStage::Find, id, "",
      format_text("no plugin has this id{}; {}", suggestion(id, ids), searched_text(folders)),
      format_text("install it in one of them, {}, or load it by its path", plugin_folder_advice()));
}

const KnownPlugin& same_plugin(const KnownPlugin& shadowed, const KnownPlugins& plugins) {
  const KnownPlugin* const other = find_id(plugins, shadowed.id());
  if (other == nullptr) return shadowed;
  const FoundPlugin& found = shadowed.found;
  if (other->found.stamp.same_file(found.stamp) ||
      (other->found.stamp.size == found.stamp.size &&
       has_same_bytes(FileSource(other->found.path), FileSource(found.path))))
    return *other;
  refuse_plugin(PluginStage::Register, shadowed.id(), found.path,
                format_text("another file stands for this id: {}", quote(other->found.path)),
                "use that one, rename one of the plugins, or name both versions in a config",
                format_text("version {}", found.facts->version), other->found.facts->version);
}

}  // namespace tenon::core
