// A plugin file as the rooms pass it on: what the catalogue found, and what has become of it. Plain
// data, and the names by which it is meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/facts/catalogue.hpp"

namespace tenon::core {

enum class PluginState {
  Indexed,  // its facts are known, nothing of it has run
  Loading,  // a thread opens, registers, replaces or unloads its code
  Active,
  Failed,
  Excluded,  // "load": "never", unloaded, or a folder's while loading from folders is switched off
  Shadowed   // another file stands for its id
};

const char* plugin_state_text(PluginState state) noexcept;

enum class ItemKind { Op, Module, Type, Service };
inline constexpr size_t kItemKinds = 4;
// "op", "module", "type" or "service".
const char* kind_text(ItemKind kind) noexcept;

struct KnownPlugin {
  FoundPlugin found;
  PluginState state = PluginState::Indexed;
  std::string reason;                    // why failed, excluded or shadowed
  std::optional<PluginFailure> failure;  // the parts of that, when failed
  bool opened = false;                   // code of it may have run: not tried again at all
  bool named = false;                    // asked for by load()
  bool configured = false;               // asked for by a policy
  bool unloaded = false;                 // by unload(): not used unless it is asked for again

  // "cube", or of a side version "cube@1.2.0"; empty when the file does not say it.
  const std::string& id() const;
  // Whether a config means it by "cube", or by "cube@1.2.0".
  bool is_named(std::string_view given) const;
  std::string text() const;  // "'math' (/path/math.so)"
  bool is_asked_for() const { return named || configured; }
  // Neither a scan nor a policy may change it any more.
  bool is_final() const { return opened || state == PluginState::Loading; }

  void fail(PluginFailure why);
};
using KnownPlugins = std::vector<const KnownPlugin*>;

// The file at a path, and the file that has an id; null: none.
const KnownPlugin* find_path(const KnownPlugins& plugins, std::string_view path);
const KnownPlugin* find_id(const KnownPlugins& plugins, std::string_view id);

// Why no plugin has this id: stage find; or why the file that is named so cannot be read.
PluginFailure missing_plugin(const std::string& id, const KnownPlugins& plugins,
                             std::span<const SearchFolder> folders);
// The plugin that a shadowed file stands for: the one with its id, when that has the same bytes. Reads
// both files. Throws PluginError, stage register, when it has not.
const KnownPlugin& same_plugin(const KnownPlugin& shadowed, const KnownPlugins& plugins);

}  // namespace tenon::core
