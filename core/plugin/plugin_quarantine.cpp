// What the plugin manager asks of quarantine.
#include "core/plugin/plugin_record.hpp"

namespace tenon::core {

// The plugin by its file, with its options, and what it may need in its init: the folders in which
// others are found.
Json PluginManager::trial_config(const Record& record) const {
  if (environment_.state_folder.empty() || !policies_->quarantine()) return {};
  JsonBuilder config;
  config.begin_object().key("search_paths").begin_array();
  for (const SearchFolder& folder : folders_) config.value(folder.path);
  config.end_array().key("trust").begin_array();
  for (const PluginPolicy& policy : policies_->list) {
    for (const std::string& path : policy.trust) config.value(absolute_path(path));
  }
  config.end_array().key("plugins").begin_array().begin_object();
  config.member("path", record.found.path).member("load", "eager");
  const Policies::Entry entry = policies_->entry(record);
  if (entry.plugin != nullptr && entry.plugin->options)
    config.key("options").copy(*entry.plugin->options, false);
  return config.end_object().end_array().end_object().finish();
}

}  // namespace tenon::core
