// The lock file of a config: "tenon.lock" beside it.
#pragma once

#include <string>

#include <tenon/json.hpp>

namespace cli {

std::string lock_file_of(const std::string& config_path);
// What --frozen asks for: applies the config with nothing loaded, and refuses what differs from its
// lock file. Throws PluginError with all differences, or IOError when there is no such file.
void freeze(const tenon::Json& config, const std::string& config_path);

}  // namespace cli
