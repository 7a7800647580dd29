// Opening a plugin's file and getting its table, checked against what the file declares.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/plugin_code.hpp"
#include "core/plugin/facts_reader.hpp"
#include "core/plugin/failure.hpp"
#include "core/plugin/guard.hpp"
#include "core/plugin/held_services.hpp"
#include "core/plugin/sealed_file.hpp"
#include "tenon/abi/plugin.h"

namespace tenon::core {

// Whether this host serves a plugin that was built for ABI `major` and needs `minor`. The same
// words at every place where it is judged: from the file, and again from the table that the plugin
// returns.
std::optional<PluginFailure> judge_abi(const tenon_host& host, const std::string& id,
                                       const std::string& path, uint32_t major, uint32_t minor);

struct OpenLibrary;

// A plugin whose file is open. Closing is explicit: the process may end while its code is in use.
struct LoadedPlugin {
  const tenon_plugin* table = nullptr;
  OpenLibrary* library = nullptr;
  PluginCode* code = nullptr;
  std::shared_ptr<const HeldServices> services;  // held for its calls
  // Runs the plugin's shutdown; does not unmap it. What it threw, which is logged, too; "": nothing.
  std::string shutdown() const;
  // Closes the file and forgets the code, which nothing may use any more. Whether the system's loader
  // has unmapped it: something else may have the same file open.
  bool unmap() noexcept;
};

// Whether the system's loader would lead the path to code that is mapped: that of an earlier load, or
// of another libtenon in the process. Variables of that code are another load's.
bool is_mapped(const std::string& path);

// Stages version to init, and the comparison that precedes register: when it returns, the plugin is
// initialized and registers what it declared, but nothing is visible yet. Throws PluginError.
// `loaded` has a library as soon as code of the plugin may have run: on failure the caller decides
// whether to unmap it. `copy` is mapped in place of the file; null: the file itself. `guarded` has the
// libraries that are pinned, if any, and `phase` is entered between constructors and entry.
void load_plugin(const PluginFacts& facts, uint64_t generation, const std::string& path,
                 std::unique_ptr<const SealedFile> copy, const GuardedPlugin& guarded,
                 GuardedPlugin::Phase& phase, const tenon_host& host, const tenon_json* options,
                 LoadedPlugin& loaded);
// The steps that a reload adds: the state of the plugin as it was, if both have functions for it,
// and the plugin's test of itself. Throws PluginError, stage init.
void take_over(const PluginFacts& facts, const std::string& path, const tenon_host& host,
               const LoadedPlugin& before, const LoadedPlugin& loaded);

}  // namespace tenon::core
