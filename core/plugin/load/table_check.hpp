// The table that a plugin's entry returned, compared with the declarations in its file.
#pragma once

#include <optional>
#include <string>

#include "core/plugin/facts/facts_reader.hpp"
#include "core/plugin/failure.hpp"
#include "tenon/abi/plugin.h"

namespace tenon::core {

// Whether this host serves a plugin that was built for ABI `major` and needs `minor`. The same words
// at every place where it is judged: from the file, and again from the table.
std::optional<PluginFailure> judge_abi(const tenon_host& host, const std::string& id,
                                       const std::string& path, uint32_t major, uint32_t minor);

// Whether this host serves what the facts declare: their ABI, its own services that they need, and flags.
// From the file, without asking a plugin.
std::optional<PluginFailure> judge_facts(const tenon_host& host, const PluginFacts& facts,
                                         const std::string& path);

// The table with members that an older SDK lacks as zeros. Throws PluginError, stage version to
// register, for a table of another plugin or ABI than its facts, for descriptors that cannot be used,
// and for all that is declared and not registered, registered and not declared, or registered otherwise.
const tenon_plugin& checked_table(const tenon_plugin& given, const PluginFacts& facts,
                                  const std::string& path, const tenon_host& host);

}  // namespace tenon::core
