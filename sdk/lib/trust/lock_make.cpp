// The lock of what is there: bytes and libraries from the files, providers from the host.
#include <algorithm>
#include <utility>

#include <tenon/text.hpp>
#include <tenon/trust/linked_files.hpp>
#include <tenon/trust/lock.hpp>
#include <tenon/trust/sha256.hpp>

#include "file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

using lib::format_text;

// Hashes by path, of libraries that many plugins link.
using KnownHashes = std::map<std::string, std::string>;

std::string declarations_of(const Json& facts) {
  std::string text;
  const auto each = [&](const char* list, auto&& line) {
    const Json entries = facts[list];
    for (int64_t i = 0; i < entries.size(); ++i) text += line(entries[i]) + "\n";
  };
  each("ops", [](const Json& op) {
    return format_text("{} {} {} {}", op["schema"].text(), op["differentiable"].text(),
                       op["jvp"].text(), op["flags"].integer());
  });
  each("modules", [](const Json& module) {
    return format_text("{} {}", module["schema"].text(), module["forward"].text());
  });
  each("types", [](const Json& type) {
    return format_text("{} {}", type["name"].text(), type["parent"].text());
  });
  each("overrides", [](const Json& entry) {
    return format_text("{} {}", entry["name"].text(), entry["schema"].text());
  });
  return sha256_text(text);
}

tenon_file_stamp stamp_of(const Json& stamp) {
  return {static_cast<uint64_t>(stamp["device"].integer()),
          static_cast<uint64_t>(stamp["inode"].integer()),
          static_cast<uint64_t>(stamp["size"].integer()), stamp["modified"].integer(),
          stamp["changed"].integer()};
}

Refusal left_out(const Json& plugin, std::string problem, std::string remedy) {
  Refusal refusal;
  refusal.plugin = plugin["id"].text();
  refusal.path = plugin["path"].text();
  refusal.problem = std::move(problem);
  refusal.remedy = std::move(remedy);
  return refusal;
}

// `approved`: as it is locked already; null: it is not.
LockedPlugin lock_plugin(const Json& plugin, const LockedPlugin* approved, KnownHashes& known) {
  const RegularFile file(plugin["path"].text());
  const std::string bytes = file.read();
  LockedPlugin locked{plugin["id"].text(), plugin["facts"]["version"].text(), file.path(),
                      sha256_text(bytes),  declarations_of(plugin["facts"]),  {}};
  // The loader is not asked about bytes that are not approved.
  if (approved != nullptr && approved->sha256 != locked.sha256) {
    locked.libraries = approved->libraries;
    return locked;
  }
  if (!plugin["stamp"].defined() || !is_same(stamp_of(plugin["stamp"]), file.stamp()))
    throw RefusalError(left_out(plugin, "its file changed while it was read", "lock again"));
  for (const LinkedFile& linked :
       linked_files({file.path(), bytes, lib::texts_of(plugin["run_path"])})) {
    std::string& hash = known[linked.path];
    if (hash.empty()) hash = sha256_file(linked.path);
    locked.libraries.push_back({linked.name, linked.path, hash});
  }
  return locked;
}

// `all`: also with plugins that are not in the lock.
LockedProviders providers_of(const Json& names, const PluginLock& lock, bool all) {
  LockedProviders providers;
  for (int64_t i = 0; i < names.size(); ++i) {
    std::vector<std::string> ids;
    for (const std::string& id : lib::texts_of(names[i])) {
      if (!all && lock.find(id) == nullptr) break;
      ids.push_back(id);
    }
    if (!ids.empty()) providers.emplace(names.key(i), join(ids, ", "));
  }
  return providers;
}

}  // namespace

MadeLock make_lock(const Json& loadable, const PluginLock* locked) {
  MadeLock made;
  KnownHashes known;
  const Json plugins = loadable["plugins"];
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const Json plugin = plugins[i];
    const std::string id = plugin["id"].text();
    const LockedPlugin* const approved = locked == nullptr ? nullptr : locked->find(id);
    if (locked != nullptr && approved == nullptr) continue;
    try {
      made.lock.plugins.push_back(lock_plugin(plugin, approved, known));
    } catch (const RefusalError& error) {
      made.left_out.push_back(error.refusal);
      made.left_out.back().plugin = id;
    } catch (const IOError& error) {
      made.left_out.push_back(left_out(plugin, error.what(), "check the file and its rights"));
    }
  }
  std::sort(made.lock.plugins.begin(), made.lock.plugins.end(),
            [](const LockedPlugin& a, const LockedPlugin& b) { return a.id < b.id; });
  const bool all = locked != nullptr;
  made.lock.ops = providers_of(loadable["ops"], made.lock, all);
  made.lock.modules = providers_of(loadable["modules"], made.lock, all);
  made.lock.types = providers_of(loadable["types"], made.lock, all);
  return made;
}

}  // namespace trust

TENON_NAMESPACE_END
