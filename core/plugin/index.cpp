// The index of plugins, made at the first question and after each change of what is searched: which ones
// are known, what policies make of each, and which one a name means.
#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/paths.hpp"
#include "core/plugin/plugin_manager.hpp"

namespace tenon::core {

// ---- what is known ----

void PluginManager::scan() {
  catalogue_.rescan(policies_.search());
  try {
    lifecycle_.renew(catalogue_.plugins());
    for (const auto& plugin : lifecycle_.plugins()) judge(*plugin);
    renew_resolver();
  } catch (...) {
    // The next use scans again; what was dropped halfway is not to be resolved to.
    catalogue_.expire();
    resolver_.set_plugins({});
    throw;
  }
  note_unknown_preferences();
}

// Said once: the same environment is there for programs with other plugins.
void PluginManager::note_unknown_preferences() {
  for (const PluginPolicy::Preference& preference : std::exchange(unchecked_, {})) {
    if (std::ranges::none_of(lifecycle_.plugins(), [&](const auto& plugin) {
          return plugin->is_named(preference.plugin);
        }))
      notes_.push_back(
          format_text("TENON_PREFER: no plugin has the id {}", quote(preference.plugin)));
  }
}

void PluginManager::judge(LivePlugin& plugin) {
  const PolicyStack::Entry entry = policies_.entry(plugin);
  plugin.configured = entry.plugin != nullptr && entry.plugin->mode != LoadMode::Never;
  if (plugin.is_final() || plugin.attempt) return;
  Admission admission = admit(plugin, policies_, host_);
  plugin.state = admission.state;
  plugin.reason = std::move(admission.reason);
  plugin.failure = std::move(admission.failure);
}

void PluginManager::renew_resolver() {
  KnownPlugins plugins;
  for (const auto& plugin : lifecycle_.plugins()) {
    if (plugin->found.facts && plugin->state != PluginState::Shadowed)
      plugins.push_back(plugin.get());
  }
  resolver_.set_plugins(plugins);
}

void PluginManager::add_search_path(const std::string& folder) {
  const Lock lock = lifecycle_.lock();
  policies_.folders.insert(policies_.folders.begin(), folder);
  catalogue_.expire();
}

// ---- which plugin a name means ----

LivePlugin* PluginManager::find_live(const std::string& id_or_path) const {
  const KnownPlugins known = lifecycle_.known();
  return lifecycle_.live(is_plugin_path(id_or_path) ? find_path(known, absolute_path(id_or_path))
                                                    : find_id(known, id_or_path));
}

void PluginManager::retry(LivePlugin& plugin) {
  if (!plugin.attempt || plugin.is_final()) return;
  plugin.attempt.reset();
  judge(plugin);
}

LivePlugin& PluginManager::plugin_at(const std::string& path) {
  LivePlugin* plugin = find_live(path);
  if (plugin == nullptr || plugin->state == PluginState::Shadowed || !plugin->found.facts) {
    // Named files come first, so it stands for its id unless that is loaded already.
    auto& files = policies_.files;
    std::erase(files, path);
    files.insert(files.begin(), path);
    scan();
    plugin = find_live(path);
    if (plugin->failure && plugin->failure->stage == PluginStage::Find) {
      PluginFailure failure = *plugin->failure;
      files.erase(files.begin());
      scan();
      throw PluginError(std::move(failure));
    }
  }
  retry(*plugin);
  if (plugin->state != PluginState::Shadowed) return *plugin;
  return *lifecycle_.live(&same_plugin(*plugin, lifecycle_.known()));
}

LivePlugin& PluginManager::plugin_with(const std::string& id) {
  LivePlugin* plugin = find_live(id);
  // The folders may have changed since they were read.
  if (plugin == nullptr || (plugin->state == PluginState::Failed && !plugin->opened)) {
    auto& versions = policies_.versions;
    const bool names_version =
        id.find('@') != id.npos && std::ranges::find(versions, id) == versions.end();
    if (names_version) versions.push_back(id);
    scan();
    plugin = find_live(id);
    if (plugin == nullptr && names_version) versions.pop_back();
  }
  if (plugin == nullptr)
    throw PluginError(missing_plugin(id, lifecycle_.known(), catalogue_.folders()));
  retry(*plugin);
  return *plugin;
}

LivePlugin& PluginManager::plugin_to_load(const std::string& id_or_path,
                                          const std::string& asked_by) {
  try {
    return is_plugin_path(id_or_path) ? plugin_at(absolute_path(id_or_path))
                                      : plugin_with(id_or_path);
  } catch (PluginError& error) {
    error.failure.asked_by = asked_by;
    throw PluginError(std::move(error.failure));
  }
}

}  // namespace tenon::core
