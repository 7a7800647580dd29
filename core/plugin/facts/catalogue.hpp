// Which plugin files there are and what they declare: files in, facts out. It reads when it is asked to
// and runs nothing; what policies make of a plugin, and which ones were loaded, it does not know.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plugin/facts/facts_reader.hpp"
#include "core/plugin/facts/path_trust.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

// In the order of precedence.
// Added: a folder of add_search_path (add_plugin_path, --plugin-path).
enum class PluginOrigin { Path, Added, Config, Environment, User, Install };

const char* plugin_origin_text(PluginOrigin origin) noexcept;

// Settings of the process that decide which plugins are used; tests make their own.
struct SearchEnvironment {
  std::optional<std::string> plugin_path;  // TENON_PLUGIN_PATH
  std::optional<std::string> data_home;    // XDG_DATA_HOME
  std::optional<std::string> home;         // HOME
  std::string install_folder;
  std::optional<std::string> prefer;  // TENON_PREFER: preferences that go before those of configs
  bool autoload = true;               // TENON_PLUGIN_AUTOLOAD: "0" says no

  // A program with elevated rights has the install folder only: its user is not trusted.
  static SearchEnvironment of_process();
};

struct SearchFolder {
  std::string path;
  PluginOrigin origin;
  std::string skipped;  // why it was not searched; empty when it was
  int64_t files = 0;    // plugin files in it
};

struct FoundPlugin {
  std::string path;
  PluginOrigin origin = PluginOrigin::Path;
  FileStamp stamp;
  std::shared_ptr<const PluginFacts> facts;  // null when they could not be read
  std::optional<PluginFailure> failure;      // why
  std::string shadowed;  // why another file stands for this id; empty for winners
  // "cube@1.2.0" of a side version: one that is used beside another, which has the id; else empty.
  std::string side_name;
  bool is_side() const { return !side_name.empty(); }
};

// "cube@1.2.0" as id and version; the version is empty without one.
std::pair<std::string_view, std::string_view> split_plugin_name(std::string_view name);

// "looked in: '/a' (no such folder), '/b' (3 plugin files)"
std::string searched_text(std::span<const SearchFolder> folders);

// `added` come first, then `configured`, each in their order; then TENON_PLUGIN_PATH, the user's
// folder, the install folder. The current folder is among them only where one of these names it.
std::vector<SearchFolder> search_folders(std::span<const std::string> configured,
                                         const SearchEnvironment& environment,
                                         std::span<const std::string> added = {});

// Files and folders to search, beside those of the environment.
struct Search {
  std::vector<std::string> files;       // one by one, before all folders
  std::vector<std::string> added;       // folders, in front of the configured ones
  std::vector<std::string> configured;  // folders
  // Named by configs, in their order. Versions among it, as "cube@1.2.0", are found side by side: the
  // first that is named for an id has the id, the others are side versions.
  std::vector<std::string> named;
  PathTrust trust;
};

// Result of the last scan. One thread at a time.
class Catalogue {
 public:
  explicit Catalogue(SearchEnvironment environment) : environment_(std::move(environment)) {}

  // Reads the facts of the files and of every *.so in the folders, not in folders below; not again those
  // of files that have not changed. Runs no plugin code. The first file with an id wins; a file that
  // cannot be read is kept with its failure. Files that others can change are refused: of a folder
  // that others can change, all in it.
  void rescan(const Search& search);
  // From now on what is here may be out of date.
  void expire() { is_current_ = false; }
  bool is_current() const { return is_current_; }

  // In search order: of each id the file that has it, side versions, and files that are shadowed.
  const std::vector<FoundPlugin>& plugins() const { return plugins_; }
  const std::vector<SearchFolder>& folders() const { return folders_; }

 private:
  const SearchEnvironment environment_;
  std::vector<SearchFolder> folders_;
  std::vector<FoundPlugin> plugins_;
  bool is_current_ = false;
};

}  // namespace tenon::core
