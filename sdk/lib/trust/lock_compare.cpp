// Differences between a lock and the plugins that are there.
#include <algorithm>
#include <utility>

#include <tenon/trust/lock.hpp>
#include <tenon/trust/sha256.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

using lib::format_text;
using lib::quote;

constexpr const char* kRemedy = "restore what was locked, or look at the change and lock again";

Refusal difference(int32_t stage, const LockedPlugin& plugin, std::string problem,
                   std::string expected = "", std::string found = "") {
  Refusal refusal;
  refusal.stage = stage;
  refusal.plugin = plugin.id;
  refusal.path = plugin.path;
  refusal.problem = std::move(problem);
  refusal.expected = std::move(expected);
  refusal.found = std::move(found);
  refusal.remedy = kRemedy;
  return refusal;
}

void compare_libraries(const LockedPlugin& locked, const LockedPlugin& present,
                       std::vector<Refusal>& refusals) {
  const auto add = [&](std::string problem, std::string expected = "", std::string found = "") {
    refusals.push_back(difference(TENON_STAGE_READ, present, std::move(problem),
                                  std::move(expected), std::move(found)));
  };
  const auto find = [](const LockedPlugin& plugin, const std::string& name) {
    const auto library = std::find_if(plugin.libraries.begin(), plugin.libraries.end(),
                                      [&](const LockedLibrary& one) { return one.name == name; });
    return library == plugin.libraries.end() ? nullptr : &*library;
  };
  for (const LockedLibrary& library : locked.libraries) {
    const LockedLibrary* now = find(present, library.name);
    if (now == nullptr) {
      add(format_text("it does not link {}, which is locked with it", quote(library.name)));
    } else if (now->path != library.path) {
      add(format_text("its library {} is found elsewhere", quote(library.name)), library.path,
          now->path);
    } else if (now->sha256 != library.sha256) {
      add(format_text("its library {} has other bytes", quote(library.path)),
          hash_text(library.sha256), hash_text(now->sha256));
    }
  }
  for (const LockedLibrary& library : present.libraries) {
    if (find(locked, library.name) == nullptr)
      add(format_text("it links {}, which is not locked with it", quote(library.name)));
  }
}

void compare_plugin(const LockedPlugin& locked, const LockedPlugin& present,
                    std::vector<Refusal>& refusals) {
  if (present.sha256 != locked.sha256) {
    std::string problem = "its bytes are not those that are locked";
    if (present.version != locked.version)
      problem = format_text("it is version {} instead of {}", present.version, locked.version);
    else if (present.declarations != locked.declarations)
      problem = "its bytes and its declarations are not those that are locked";
    refusals.push_back(difference(TENON_STAGE_READ, present, std::move(problem),
                                  hash_text(locked.sha256), hash_text(present.sha256)));
  }
  compare_libraries(locked, present, refusals);
}

void compare_providers(const char* kind, const LockedProviders& locked,
                       const LockedProviders& present, std::vector<Refusal>& refusals) {
  for (const auto& [name, plugin] : locked) {
    const auto now = present.find(name);
    if (now != present.end() && now->second == plugin) continue;
    Refusal refusal;
    refusal.stage = TENON_STAGE_REGISTER;
    refusal.plugin = plugin;
    refusal.problem = format_text("{} {} is now provided by another plugin", kind, quote(name));
    refusal.expected = format_text("plugin {}", quote(plugin));
    refusal.found =
        now == present.end() ? "no single plugin" : format_text("plugin {}", quote(now->second));
    refusal.remedy = kRemedy;
    refusals.push_back(std::move(refusal));
  }
}

}  // namespace

std::vector<Refusal> compare_locks(const PluginLock& locked, const PluginLock& present) {
  std::vector<Refusal> refusals;
  for (const LockedPlugin& plugin : locked.plugins) {
    if (const LockedPlugin* now = present.find(plugin.id))
      compare_plugin(plugin, *now, refusals);
    else
      refusals.push_back(difference(TENON_STAGE_FIND, plugin, "it is locked, and not usable here"));
  }
  compare_providers("op", locked.ops, present.ops, refusals);
  compare_providers("module", locked.modules, present.modules, refusals);
  compare_providers("type", locked.types, present.types, refusals);
  return refusals;
}

}  // namespace trust

TENON_NAMESPACE_END
