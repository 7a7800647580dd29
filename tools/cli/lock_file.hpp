// The lock file of a config: "tenon.lock" beside it.
#pragma once

#include <string>

#include <tenon/json.hpp>

namespace cli {

std::string lock_file_of(const std::string& config_path);
// The config with nothing loaded, and without the lock file that it names itself.
void apply_unlocked(const tenon::Json& config);
// Applies --frozen: refuses differences between the config's plugins and a lock file. Throws
// PluginError with all differences, or IOError when there is no such file.
void freeze(const tenon::Json& config, const std::string& lock_file);

}  // namespace cli
