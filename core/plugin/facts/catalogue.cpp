// Search order, listing of folders, and the file that stands for each id.
#include "core/plugin/facts/catalogue.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/paths.hpp"

namespace tenon::core {

namespace {

std::optional<std::string> environment_variable(const char* name) {
  const char* value = environment(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

// Beside libtenon.
std::string install_folder_of_library() {
  if (own_file().empty()) return {};
  return (std::filesystem::path(own_file()).parent_path() / "tenon" / "plugins").string();
}

// Sorted by name: the order of a listing must not depend on the file system.
std::vector<std::string> plugin_files(SearchFolder& folder) {
  std::vector<std::string> files;
  std::error_code fault;
  auto entry = std::filesystem::directory_iterator(folder.path, fault);
  if (fault) {
    folder.skipped =
        fault == std::errc::no_such_file_or_directory ? "no such folder" : fault.message();
    return files;
  }
  for (const auto end = std::filesystem::directory_iterator(); entry != end;
       entry.increment(fault)) {
    const auto& path = entry->path();
    if (path.extension() == ".so" && !path.filename().native().starts_with('.')) {
      files.push_back(path.string());
    }
    if (fault) break;
  }
  std::sort(files.begin(), files.end());
  folder.files = static_cast<int64_t>(files.size());
  return files;
}

using KnownFiles = std::unordered_map<std::string_view, const FoundPlugin*>;

// A file in a folder that others can write to is not read: its facts could keep out a plugin that
// may be used.
FoundPlugin read_plugin(std::string path, PluginOrigin origin, const KnownFiles& known,
                        const PathTrust& trust, const std::optional<Distrust>& folder = {}) {
  FoundPlugin plugin;
  plugin.path = std::move(path);
  plugin.origin = origin;
  if (folder) {
    plugin.failure = folder->failure(plugin.path);
    return plugin;
  }
  try {
    const FileSource file(plugin.path);
    plugin.stamp = file.stamp();
    trust.require_file(plugin.path, file.stamp());
    const auto old = known.find(plugin.path);
    if (old != known.end() && old->second->facts && old->second->stamp == plugin.stamp) {
      plugin.facts = old->second->facts;
    } else {
      plugin.facts = std::make_shared<const PluginFacts>(read_facts(file, plugin.path));
    }
  } catch (const PluginError& error) {
    plugin.failure = error.failure;
  }
  return plugin;
}

// Which file stands for which name.
class Winners {
 public:
  Winners(std::vector<FoundPlugin>& plugins, std::span<const std::string> named)
      : plugins_(plugins), named_(named) {}

  void choose() {
    for (FoundPlugin& plugin : plugins_) {
      if (plugin.facts) by_id_[plugin.facts->id].push_back(&plugin);
    }
    for (const auto& [id, files] : by_id_) choose(id, files);
  }

 private:
  using Files = std::vector<FoundPlugin*>;

  static FoundPlugin* of_version(const Files& files, std::string_view version) {
    const auto found = std::ranges::find_if(
        files, [&](const FoundPlugin* file) { return file->facts->version == version; });
    return found == files.end() ? nullptr : *found;
  }

  void choose(std::string_view id, const Files& files) const {
    // Versions that are named, in this order; null: the id alone is.
    std::vector<FoundPlugin*> versions;
    for (const std::string& name : named_) {
      const auto [named_id, version] = split_plugin_name(name);
      if (named_id != id) continue;
      FoundPlugin* const file = version.empty() ? nullptr : of_version(files, version);
      if ((file != nullptr || version.empty()) &&
          std::ranges::find(versions, file) == versions.end())
        versions.push_back(file);
    }
    FoundPlugin* first = versions.empty() ? nullptr : versions.front();
    // The id alone is named first: it is that of the first file whose version is not named.
    for (FoundPlugin* file : files) {
      if (first == nullptr && std::ranges::find(versions, file) == versions.end()) first = file;
    }
    if (first == nullptr) first = files.front();
    for (FoundPlugin* file : files) {
      if (file == first) continue;
      if (std::ranges::find(versions, file) != versions.end())
        file->side_name = format_text("{}@{}", id, file->facts->version);
      else
        file->shadowed = shadowed_by(*file, *first, first == files.front());
    }
  }

  static std::string shadowed_by(const FoundPlugin& file, const FoundPlugin& winner,
                                 bool by_order) {
    if (file.stamp.same_file(winner.stamp))
      return format_text("the same file as {}", quote(winner.path));
    return format_text(
        "{} {}", quote(winner.path),
        by_order ? "comes first in the search order" : "is of the version that is named");
  }

  std::vector<FoundPlugin>& plugins_;
  std::span<const std::string> named_;
  std::unordered_map<std::string_view, Files> by_id_;
};

}  // namespace

std::pair<std::string_view, std::string_view> split_plugin_name(std::string_view name) {
  const size_t at = name.find('@');
  if (at == name.npos) return {name, {}};
  return {name.substr(0, at), name.substr(at + 1)};
}

const char* plugin_origin_text(PluginOrigin origin) noexcept {
  static constexpr std::array texts{"path",        "plugin path", "config",
                                    "environment", "user",        "install"};
  return texts[static_cast<size_t>(origin)];
}

SearchEnvironment SearchEnvironment::of_process() {
  SearchEnvironment environment;
  environment.plugin_path = environment_variable("TENON_PLUGIN_PATH");
  environment.data_home = environment_variable("XDG_DATA_HOME");
  environment.home = environment_variable("HOME");
  environment.prefer = environment_variable("TENON_PREFER");
  environment.autoload = !says_no(environment_variable("TENON_PLUGIN_AUTOLOAD").value_or(""));
  environment.install_folder = install_folder_of_library();
  return environment;
}

std::string searched_text(std::span<const SearchFolder> folders) {
  std::vector<std::string> words;
  for (const SearchFolder& folder : folders) {
    words.push_back(format_text(
        "{} ({})", quote(folder.path),
        folder.skipped.empty() ? counted(folder.files, "plugin file") : folder.skipped));
  }
  if (words.empty()) return "no folder was searched";
  return format_text("looked in: {}", join(words, ", "));
}

std::vector<SearchFolder> search_folders(std::span<const std::string> configured,
                                         const SearchEnvironment& environment,
                                         std::span<const std::string> added) {
  std::vector<SearchFolder> folders;
  const auto add = [&](const std::string& path, PluginOrigin origin) {
    std::string folder = absolute_path(path);
    if (std::ranges::find(folders, folder, &SearchFolder::path) == folders.end())
      folders.push_back({std::move(folder), origin, "", 0});
  };

  for (const std::string& path : added) add(path, PluginOrigin::Added);
  for (const std::string& path : configured) add(path, PluginOrigin::Config);
  if (environment.plugin_path) {
    for (std::string_view rest = *environment.plugin_path; !rest.empty();) {
      const size_t colon = std::min(rest.find(':'), rest.size());
      // Elsewhere an empty entry means the current folder; here only its name does.
      if (colon != 0) add(std::string(rest.substr(0, colon)), PluginOrigin::Environment);
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  const auto is_absolute = [](const std::optional<std::string>& path) {
    return path && path->starts_with('/');
  };
  if (is_absolute(environment.data_home)) {
    add(format_text("{}/tenon/plugins", *environment.data_home), PluginOrigin::User);
  } else if (is_absolute(environment.home)) {
    add(format_text("{}/.local/share/tenon/plugins", *environment.home), PluginOrigin::User);
  }
  if (!environment.install_folder.empty()) {
    add(environment.install_folder, PluginOrigin::Install);
  }
  return folders;
}

void Catalogue::rescan(const Search& search) {
  KnownFiles known;
  for (const FoundPlugin& plugin : plugins_) known.emplace(plugin.path, &plugin);
  std::vector<FoundPlugin> plugins;
  for (const std::string& file : search.files)
    plugins.push_back(read_plugin(absolute_path(file), PluginOrigin::Path, known, search.trust));
  auto folders = search_folders(search.configured, environment_, search.added);
  for (SearchFolder& folder : folders) {
    std::vector<std::string> found = plugin_files(folder);
    if (found.empty()) continue;
    const std::optional<Distrust> fault = search.trust.judge_folder(folder.path);
    for (std::string& file : found)
      plugins.push_back(read_plugin(std::move(file), folder.origin, known, search.trust, fault));
  }
  Winners(plugins, search.named).choose();
  plugins_ = std::move(plugins);
  folders_ = std::move(folders);
  is_current_ = true;
}

}  // namespace tenon::core
