// The libraries that a private copy of a plugin links by $ORIGIN. Of the copy that is another folder,
// so they are opened before it: the system's loader then has them under their names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plugin/plugin_lock.hpp"
#include "core/plugin/sealed_file.hpp"

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

// Libraries that a copy of the plugin at `path` links, from where they are. One thread at a time.
// Throws PluginError without the plugin's id.
OpenedLibraries open_libraries(const SealedFile& plugin, const std::string& path);

// Libraries of a locked plugin: private copies of those that $ORIGIN leads to, from the plugin or
// from a library that it links, with the bytes that are locked. A library that the process has
// mapped already must be the one that is locked. Under the same terms.
OpenedLibraries open_locked_libraries(const SealedFile& plugin, const std::string& path,
                                      const LockedPlugin& locked);

}  // namespace tenon::core
