#include "plugin_list.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "format.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

namespace {

struct Entry {
  std::string name, path;
  ConfigNode written, path_node;
  bool required = true;
};

std::string text_in(ConfigNode object, std::string_view key) {
  const ConfigNode member = object[key];
  return std::string(member ? member.text() : std::string_view());
}

Entry entry_of(ConfigNode node) {
  Entry entry;
  entry.written = entry.path_node = node;
  if (node.is_text()) {
    (is_plugin_path(node.text()) ? entry.path : entry.name) = node.text();
  } else if (node.is_object()) {
    entry.name = text_in(node, "name");
    entry.path = text_in(node, "path");
    entry.path_node = node["path"];
    const ConfigNode required = node["require"];
    entry.required = (!required || !required.is_bool() || required.as_bool()) &&
                     text_in(node, "load") != "never";
  }
  return entry;
}

}  // namespace

std::string absolute_path(const std::string& folder, std::string_view path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

void check_plugin_list(ConfigNode config, const std::string& folder, Faults& faults) {
  const ConfigNode plugins = config["plugins"];
  if (!plugins || !plugins.is_array()) return;
  const Path root, list{&root, "plugins"};
  std::vector<std::pair<std::string, ConfigNode>> seen;
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const Path path{&list, "", i};
    Entry entry = entry_of(plugins[i]);
    if (entry.written.is_object() && !entry.written["name"] && !entry.path_node) {
      faults.add(entry.written, path, "found neither 'name' nor 'path', expected one of them");
      continue;
    }
    if (entry.name.empty() && entry.path.empty()) continue;
    if (!entry.path.empty()) entry.path = absolute_path(folder, entry.path);
    const std::string& identity = entry.name.empty() ? entry.path : entry.name;
    const auto twin = std::find_if(seen.begin(), seen.end(),
                                   [&](const auto& other) { return other.first == identity; });
    if (twin != seen.end()) {
      faults.add(entry.written, path,
                 lib::format_text("plugin {} a second time, expected once (first at {})",
                                  lib::quote(identity), place_text("", twin->second.place())));
      continue;
    }
    seen.emplace_back(identity, entry.written);
    std::error_code code;
    if (entry.path.empty() || !entry.required || std::filesystem::exists(entry.path, code))
      continue;
    const Path member{&path, "path"};
    faults.add(entry.path_node, entry.written.is_text() ? path : member,
               lib::format_text("cannot find the file {}, expected a plugin; correct the path",
                                lib::quote(entry.path)));
  }
}

}  // namespace config

TENON_NAMESPACE_END
