#include "lock_file.hpp"

#include <filesystem>

#include <tenon/runtime.hpp>

namespace cli {

std::string lock_file_of(const std::string& config_path) {
  const auto folder = config_path == "-" ? std::filesystem::current_path()
                                         : std::filesystem::absolute(config_path).parent_path();
  return (folder / "tenon.lock").lexically_normal().string();
}

void freeze(const tenon::Json& config, const std::string& config_path) {
  tenon::apply_config_lazily(config);
  tenon::apply_config(tenon::JsonObject().set("frozen", lock_file_of(config_path)).json());
}

}  // namespace cli
