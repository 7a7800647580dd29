// The path of a lock file, and configs applied with and without it.
#include "lock_file.hpp"

#include <filesystem>

#include <tenon/config/config.hpp>
#include <tenon/runtime.hpp>

namespace cli {

std::string lock_file_of(const std::string& config_path) {
  const auto folder = config_path == "-" ? std::filesystem::current_path()
                                         : std::filesystem::absolute(config_path).parent_path();
  return (folder / "tenon.lock").lexically_normal().string();
}

void apply_unlocked(const tenon::Json& config) {
  if (!config["frozen"].defined()) return tenon::config::apply(config, tenon::EagerPlugins::wait);
  tenon::JsonObject rest;
  for (int64_t i = 0; i < config.size(); ++i) {
    if (config.key(i) != "frozen") rest.set(config.key(i), config[i]);
  }
  tenon::config::apply(rest.json(), tenon::EagerPlugins::wait);
}

void freeze(const tenon::Json& config, const std::string& lock_file) {
  apply_unlocked(config);
  tenon::config::apply(tenon::JsonObject().set("frozen", lock_file).json());
}

}  // namespace cli
