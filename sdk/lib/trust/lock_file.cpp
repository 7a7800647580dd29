// The text of lock files.
#include <algorithm>

#include <tenon/trust/lock.hpp>

#include "bounded_json.hpp"
#include "file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

using lib::format_text;
using lib::quote;

constexpr int64_t kLockVersion = 1;
constexpr uint64_t kMostBytes = uint64_t{16} << 20;

[[noreturn]] void refuse(const Json& node, const std::string& file, std::string_view expected) {
  const std::string place = node.place();
  throw ConfigError(format_text("{}: {}{}expected {}; write the lock file again with `tenon lock`",
                                file, place, place.empty() ? "" : ": ", expected));
}

enum class Kind { integer, text, array, object };

bool is_of(const Json& node, Kind kind) {
  switch (kind) {
    case Kind::integer:
      return node.is_number();
    case Kind::text:
      return node.is_text();
    case Kind::array:
      return node.is_container() && !node.is_object();
    case Kind::object:
      return node.is_object();
  }
  return false;
}

const char* kind_text(Kind kind) {
  switch (kind) {
    case Kind::integer:
      return "an integer";
    case Kind::text:
      return "a string";
    case Kind::array:
      return "an array";
    case Kind::object:
      return "an object";
  }
  return "a value";
}

// One document that may or may not be a lock.
class LockReader {
 public:
  explicit LockReader(const std::string& file) : file_(file) {}

  PluginLock read(const Json& document) const {
    const Json version = member(document, "lock_version", Kind::integer);
    if (version.number() != static_cast<double>(kLockVersion))
      refuse(version, file_, format_text("version {}", kLockVersion));
    PluginLock lock;
    lock.file = file_;
    const Json plugins = member(document, "plugins", Kind::array);
    for (int64_t i = 0; i < plugins.size(); ++i) {
      LockedPlugin plugin = plugin_of(plugins[i]);
      if (lock.find(plugin.id) != nullptr) refuse(plugins[i], file_, "every plugin once");
      lock.plugins.push_back(std::move(plugin));
    }
    lock.ops = providers_of(document, "ops");
    lock.modules = providers_of(document, "modules");
    lock.types = providers_of(document, "types");
    return lock;
  }

 private:
  Json member(const Json& node, std::string_view key, Kind kind) const {
    if (!node.is_object()) refuse(node, file_, "an object");
    Json found = node[key];
    if (!found.defined()) refuse(node, file_, format_text("a member {}", quote(key)));
    if (!is_of(found, kind)) refuse(found, file_, kind_text(kind));
    return found;
  }
  std::string text_in(const Json& node, std::string_view key) const {
    return member(node, key, Kind::text).text();
  }

  LockedPlugin plugin_of(const Json& entry) const {
    LockedPlugin plugin{text_in(entry, "id"),           text_in(entry, "version"),
                        text_in(entry, "path"),         text_in(entry, "sha256"),
                        text_in(entry, "declarations"), {}};
    const Json libraries = member(entry, "libraries", Kind::array);
    for (int64_t i = 0; i < libraries.size(); ++i) {
      const Json library = libraries[i];
      plugin.libraries.push_back(
          {text_in(library, "name"), text_in(library, "path"), text_in(library, "sha256")});
    }
    return plugin;
  }

  LockedProviders providers_of(const Json& document, std::string_view key) const {
    LockedProviders providers;
    const Json entries = member(document, key, Kind::object);
    for (int64_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].is_text()) refuse(entries[i], file_, "the id of a plugin");
      providers.emplace(entries.key(i), entries[i].text());
    }
    return providers;
  }

  const std::string& file_;
};

Json providers_document(const LockedProviders& providers) {
  JsonObject document;
  for (const auto& [name, plugin] : providers) document.set(name, plugin);
  return document.json();
}

}  // namespace

const LockedPlugin* PluginLock::find(std::string_view id) const {
  const auto found = std::find_if(plugins.begin(), plugins.end(),
                                  [&](const LockedPlugin& plugin) { return plugin.id == id; });
  return found == plugins.end() ? nullptr : &*found;
}

Json lock_document(const PluginLock& lock) {
  JsonArray plugins;
  for (const LockedPlugin& plugin : lock.plugins) {
    JsonArray libraries;
    for (const LockedLibrary& library : plugin.libraries) {
      libraries.add(JsonObject()
                        .set("name", library.name)
                        .set("path", library.path)
                        .set("sha256", library.sha256)
                        .json());
    }
    plugins.add(JsonObject()
                    .set("id", plugin.id)
                    .set("version", plugin.version)
                    .set("path", plugin.path)
                    .set("sha256", plugin.sha256)
                    .set("declarations", plugin.declarations)
                    .set("libraries", libraries.json())
                    .json());
  }
  return JsonObject()
      .set("lock_version", kLockVersion)
      .set("plugins", plugins.json())
      .set("ops", providers_document(lock.ops))
      .set("modules", providers_document(lock.modules))
      .set("types", providers_document(lock.types))
      .json();
}

PluginLock read_lock(const std::string& path) {
  const RegularFile file(path, "the lock file ");
  if (file.size() > kMostBytes) {
    throw ConfigError(format_text("the lock file '{}' has {} bytes; there are at most {}", path,
                                  file.size(), kMostBytes));
  }
  return parse_lock(file.read(), path);
}

PluginLock parse_lock(std::string_view text, const std::string& file) {
  Json document;
  try {
    document = parse_bounded(text);
  } catch (const ValueError& error) {
    throw ConfigError(format_text("{}: {}", file, error.what()));
  }
  return lock_of(document, file);
}

PluginLock lock_of(const Json& document, const std::string& file) {
  return LockReader(file).read(document);
}

}  // namespace trust

TENON_NAMESPACE_END
