// A lock file: the plugins that were approved, each by its bytes and those of the libraries that it
// links, and the plugin that provides each op, module and type.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.hpp"
#include "core/plugin/facts_reader.hpp"
#include "core/plugin/failure.hpp"
#include "core/plugin/sealed_file.hpp"

namespace tenon::core {

struct LockedLibrary {
  std::string name;  // as it is linked: "libblas.so.3"
  std::string path;  // path at which the system's loader finds it
  std::string sha256;

  bool operator==(const LockedLibrary&) const = default;
};

struct LockedPlugin {
  std::string id, version, path, sha256;
  std::string declarations;              // hash of what it declares
  std::vector<LockedLibrary> libraries;  // also those that its libraries link, sorted by name
};

// Name -> id of the plugin that provides it.
using LockedProviders = std::map<std::string, std::string, std::less<>>;

struct PluginLock {
  // File that it was read from; empty: made from the installed plugins.
  std::string file;
  std::vector<LockedPlugin> plugins;  // sorted by id
  LockedProviders ops, modules, types;

  const LockedPlugin* find(std::string_view id) const;
};

// Hashes by path, of libraries that many plugins link.
using KnownHashes = std::map<std::string, std::string>;
// Locks a copy of the file at `path`; without its libraries.
LockedPlugin lock_plugin(const PluginFacts& facts, const std::string& path, const SealedFile& copy);
// Asks the system's loader for the libraries of that copy, which runs none of their code. Throws
// PluginError, stage open, when one is missing.
void lock_libraries(LockedPlugin& plugin, const SealedFile& copy, KnownHashes& known);

// The document of a lock file, and the lock that a file holds. Reading throws IOError, or
// ConfigError for what is not a lock file.
Json lock_document(const PluginLock& lock);
PluginLock read_lock(const std::string& file);
// Parses the text of a lock file; `file` is for messages.
PluginLock parse_lock(std::string_view text, const std::string& file);

// All that differs from the lock, plugins first. Plugins and names that the lock does not have do not
// count: they are refused when they are used.
std::vector<PluginFailure> compare_locks(const PluginLock& locked, const PluginLock& present);

}  // namespace tenon::core
