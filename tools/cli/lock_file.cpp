// The path of a lock file, and configs applied with and without it.
#include "lock_file.hpp"

#include <filesystem>

#include <tenon/runtime.hpp>

namespace cli {

std::string lock_file_of(const std::string& config_path) {
  const auto folder = config_path == "-" ? std::filesystem::current_path()
                                         : std::filesystem::absolute(config_path).parent_path();
  return (folder / "tenon.lock").lexically_normal().string();
}

void apply_unlocked(const tenon::Json& config) {
  if (!config["frozen"].defined()) return tenon::apply_config_lazily(config);
  tenon::JsonObject rest;
  for (int64_t i = 0; i < config.size(); ++i) {
    if (config.key(i) != "frozen") rest.set(config.key(i), config[i]);
  }
  tenon::apply_config_lazily(rest.json());
}

void freeze(const tenon::Json& config, const std::string& lock_file) {
  apply_unlocked(config);
  tenon::apply_config(tenon::JsonObject().set("frozen", lock_file).json());
}

}  // namespace cli
