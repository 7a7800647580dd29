#include "plugin_files.hpp"

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <tenon/runtime.hpp>
#include <tenon/trust/sha256.hpp>

TENON_NAMESPACE_BEGIN

namespace record {

namespace {

// Hashes by path, with the time of change that they are of.
std::string hash_of_file(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::pair<std::filesystem::file_time_type, std::string>> known;
  std::error_code fault;
  const auto time = std::filesystem::last_write_time(path, fault);
  if (fault) return "";
  const std::lock_guard lock(mutex);
  auto& [of, hash] = known[path];
  if (!hash.empty() && of == time) return hash;
  of = time;
  try {
    hash = trust::sha256_file(path);
  } catch (const Error&) {
    hash.clear();
  }
  return hash;
}

}  // namespace

Json loaded_plugins() {
  JsonArray list;
  const Json plugins = document(Document::plugins);
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (plugins[i]["state"].text() != "active") continue;
    list.add(JsonObject()
                 .set("id", plugins[i]["id"].text())
                 .set("version", plugins[i]["version"].text())
                 .set("sha256", hash_of_file(plugins[i]["path"].text()))
                 .json());
  }
  return list.json();
}

}  // namespace record

TENON_NAMESPACE_END
