// Opening a plugin's file and getting its table, checked against what the file declares.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/plugin/facts_reader.hpp"
#include "core/plugin/failure.hpp"
#include "core/plugin/sealed_file.hpp"
#include "tenon/abi/plugin.h"

namespace tenon::core {

// Whether this host serves a plugin that was built for ABI `major` and needs `minor`. The same
// words at every place where it is judged: from the file, and again from the table that the plugin
// returns.
std::optional<PluginFailure> judge_abi(const tenon_host& host, const std::string& id,
                                       const std::string& path, uint32_t major, uint32_t minor);

struct LoadedPlugin {
  const tenon_plugin* table = nullptr;
  // Runs the plugin's shutdown; does not unmap it.
  void shutdown() const noexcept;
};

// Stages version to init, and the comparison that precedes register: when it returns, the plugin is
// initialized and registers what it declared, but nothing is visible yet. Throws PluginError. Once
// opened a library stays mapped until the process ends, because it is not known what of it is in
// use. With `sealed` that copy is mapped in place of the file at `path`. `opened` is set as soon as
// code of the plugin may have run.
LoadedPlugin load_plugin(const PluginFacts& facts, const std::string& path,
                         std::unique_ptr<const SealedFile> sealed, const tenon_host& host,
                         const tenon_json* options, bool& opened);

}  // namespace tenon::core
