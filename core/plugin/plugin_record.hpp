// What a plugin manager keeps: a record of each plugin file, and what policies say. Private to the
// files of the plugin manager.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "core/plugin/unmap_verdict.hpp"

namespace tenon::core {

struct PluginManager::Record : KnownPlugin, std::enable_shared_from_this<Record> {
  std::optional<PluginFailure> failure;
  bool tried = false;     // a load has failed: not tried again unless it is asked for by name
  bool unloaded = false;  // by unload(): not loaded again unless it is asked for by name
  std::thread::id loader;
  uint64_t generation = 0;  // of the code that was loaded last
  UnmapVerdict verdict;     // of that code
  LoadedPlugin loaded;

  // Neither a scan nor a policy may change it any more.
  bool is_final() const { return opened || state == PluginState::Loading; }

  void fail(PluginFailure why) {
    state = PluginState::Failed;
    reason = why.text();
    failure = std::move(why);
  }
};

// The code of a plugin that is unloaded or replaced, on its way out. Changed by who sweeps.
struct PluginManager::Retired {
  enum class Step {
    Calls,      // calls that were running when it was withdrawn have not ended
    Holders,    // nodes, modules, hooks... use it
    LastCalls,  // calls that were running when the last of those went
    Done
  };
  std::string id;
  std::string path;
  uint64_t generation = 0;
  UnmapVerdict verdict;
  LoadedPlugin loaded;
  std::shared_ptr<const void> withdrawn;  // what its calls may use of the tables
  uint64_t mark = 0;
  bool shut_down = false;
  std::atomic<Step> step{Step::Calls};
  bool unmapped = false;

  RetiredPlugin report() const;
  // Whether waiting longer changes nothing by what the caller chose.
  bool has_settled(UnloadChoice choice) const;
};

struct PluginManager::Policies : PolicyStack {
  std::vector<PluginPolicy::Preference> unchecked;  // of the environment, before the first scan
  std::vector<std::string> folders;                 // of add_search_path, the newest first
  std::vector<std::string> files;                   // of load(), the newest first
  std::vector<std::string> versions;                // of load(): "cube@1.2.0", the oldest first

  // What is named side by side, in this order.
  std::vector<std::string> named_plugins() const {
    std::vector<std::string> names;
    for (const PluginPolicy& policy : list) {
      for (const PluginPolicy::Plugin& plugin : policy.plugins)
        names.push_back(is_plugin_path(plugin.name) ? plugin.id : plugin.name);
    }
    names.insert(names.end(), versions.begin(), versions.end());
    return names;
  }

  // No policy switches it off.
  bool quarantine() const {
    return std::ranges::all_of(list, [](const PluginPolicy& policy) { return policy.quarantine; });
  }
};

PluginFailure make_failure(PluginStage stage, const std::string& plugin, const std::string& path,
                           std::string problem, std::string remedy);
// What a policy pins: the hash of a file, "" for any, and the versions that it takes.
std::optional<PluginFailure> check_hash(const std::string& id, const std::string& path,
                                        const std::string& expected);
std::optional<PluginFailure> check_hash(const std::string& id, const SealedFile& file,
                                        const std::string& path, const std::string& expected);
std::optional<PluginFailure> check_version(const PluginFacts& facts, const std::string& path,
                                           const std::string& range);

}  // namespace tenon::core
