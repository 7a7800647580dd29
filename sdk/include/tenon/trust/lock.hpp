// A lock file: the plugins that were approved, each by its bytes and those of the libraries that it
// links, and the plugin that provides each op, module and type.
//
//   const MadeLock made = make_lock(document(Document::loadable));
//   write_file("tenon.lock", lock_document(made.lock).dump(2));
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/trust/refusal.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

struct LockedLibrary {  // a library of a locked plugin
  std::string name;     // as it is linked: "libblas.so.3"
  std::string path;     // path at which the system's loader finds it
  std::string sha256;   // hash of the file

  bool operator==(const LockedLibrary& other) const {  // all members
    return name == other.name && path == other.path && sha256 == other.sha256;
  }
};

struct LockedPlugin {                     // a plugin of a lock file
  std::string id, version, path, sha256;  // as the plugin's facts and file have it
  std::string declarations;               // hash of what it declares
  std::vector<LockedLibrary> libraries;   // also those that its libraries link, sorted by name
};

// Name -> id of the plugin that provides it; "a, b" of several, of which each but the last may decline.
using LockedProviders = std::map<std::string, std::string, std::less<>>;

struct PluginLock {  // a lock file
  // File that it was read from; empty: made from the installed plugins.
  std::string file;
  std::vector<LockedPlugin> plugins;    // sorted by id
  LockedProviders ops, modules, types;  // plugin of each name

  const LockedPlugin* find(std::string_view id) const;  // null: it is not locked
};

// The document of a lock file, and the lock that a file has. Reading throws IOError, or ConfigError for
// what is not a lock file.
Json lock_document(const PluginLock& lock);
PluginLock read_lock(const std::string& file);  // ConfigError with the place
// Parses the text of a lock file; `file` is for messages.
PluginLock parse_lock(std::string_view text, const std::string& file);
// The lock in such a document.
PluginLock lock_of(const Json& document, const std::string& file);

struct MadeLock {                 // result of make_lock
  PluginLock lock;                // lock of all others
  std::vector<Refusal> left_out;  // plugins that cannot be locked: a library is missing
};
// Makes a lock from the document "loadable". Reads the files and those of their libraries. With `locked` of its plugins alone;
// libraries are looked for only where a plugin has the locked bytes.
MadeLock make_lock(const Json& loadable, const PluginLock* locked = nullptr);

// All that differs from the lock, plugins first. Plugins and names that the lock does not have do not
// count: they are refused when they are used.
std::vector<Refusal> compare_locks(const PluginLock& locked, const PluginLock& present);

}  // namespace trust

TENON_NAMESPACE_END
