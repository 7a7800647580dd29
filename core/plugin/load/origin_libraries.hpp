// The libraries that a private copy of a plugin links by $ORIGIN. Of the copy that is another folder,
// so they are opened before it: the system's loader then has them under their names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plugin/facts/byte_source.hpp"
#include "core/plugin/load/guard.hpp"

namespace tenon::core {

class OpenedLibrary;
using OpenedLibraries = std::vector<std::shared_ptr<const OpenedLibrary>>;

// Stays open as long as a plugin or library that was opened with it.
class OpenedLibrary {
 public:
  explicit OpenedLibrary(const std::string& file);
  // `needed` are those that the copy links.
  OpenedLibrary(std::unique_ptr<const SealedFile> copy, OpenedLibraries needed);
  ~OpenedLibrary();
  OpenedLibrary(const OpenedLibrary&) = delete;
  OpenedLibrary& operator=(const OpenedLibrary&) = delete;

  const SealedFile* copy() const { return copy_.get(); }
  // Whether the system's loader leads a file that links `name` to this library.
  bool has_name(const std::string& name) const;

 private:
  const OpenedLibraries needed_;  // which stay mapped as long as this
  std::unique_ptr<const SealedFile> copy_;
  void* const handle_;
};

// Opens those that a copy of the plugin at `path` links and $ORIGIN leads to, from their place. One thread
// at a time. Throws PluginError without the plugin's id.
OpenedLibraries open_libraries(const SealedFile& plugin, const std::string& path);

// Opens, of a plugin whose libraries are pinned, private copies of those that $ORIGIN leads to, from it
// or from a library that it links. The guard judges the bytes of each, and of a library that the process
// has mapped already. Under the same terms.
OpenedLibraries open_pinned_libraries(const SealedFile& plugin, const std::string& path,
                                      const GuardedPlugin& guarded);

// Whether $ORIGIN is in a folder of a run path; and that folder for the file at `path`.
bool is_by_origin(const std::string& folder);
std::string expand_origin(std::string folder, const std::string& path);

}  // namespace tenon::core
