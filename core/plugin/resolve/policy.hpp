// Decisions of a config or the environment about plugins and their items.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.hpp"
#include "core/dispatch/table/provider_preference.hpp"
#include "core/dispatch/types/tensor_type.hpp"
#include "core/plugin/load/guard.hpp"

namespace tenon::core {

enum class LoadMode {
  Lazy,   // at the first use of something that it provides
  Eager,  // as soon as the policy is applied
  Never   // its ops and modules are unavailable
};

// Which plugin of the policy's list wins when several provide the same name and no preference ranks them.
enum class DuplicateChoice { Error, First, Last };

// `written` is the node of a config that says it, for places in messages; empty: code says it.
//
// Patterns are names in which '*' stands for any text ("nn.functional.*"); they are held against
// the names of ops, of modules and of types. With brackets ("add[A, B]", "*[A]") they are held
// against overrides alone.
struct PluginPolicy {
  struct Plugin {
    std::string name;  // id or path
    LoadMode mode = LoadMode::Lazy;
    std::string version;   // a VersionRange; empty: any
    Json guard;            // what this entry says to the load guard; may be empty
    Json options;          // passed to its init; may be empty
    std::string id{};      // id that a plugin named by its path must have; empty: any
    bool required = true;  // false: it may be missing
    bool glue = false;     // may override other plugins' ops for other plugins' types
    Json written{};
  };
  struct Preference {
    std::string pattern;
    std::string plugin;  // id; in `disable` empty means any provider
    Json written{};
    // For calls with such operands alone, decided at each call; none: for all, decided at load.
    std::optional<std::vector<ShapeCondition>> when{};

    bool about_overrides() const { return pattern.find('[') != std::string::npos; }
  };
  struct Type {
    std::string name;
    TypeSettings settings;
    Json written{};
  };
  std::string source;                     // who asks, for messages: "config 'a.json'"
  std::vector<std::string> search_paths;  // folders, searched before all others
  std::vector<Plugin> plugins;
  std::vector<Preference> prefer;  // the first preference that matches decides
  std::vector<Preference> disable;
  DuplicateChoice duplicates = DuplicateChoice::Error;
  std::vector<Type> types;
  bool autoload = true;  // false: of folders only plugins that are named or loaded by name are used
  std::vector<std::string> trust;  // files and folders that others may be able to change
  bool strict = false;             // warnings about registrations are errors
  Json guard;                      // what it says to the load guard; may be empty
  bool needs_guard = false;        // without one it would allow more than it says
  Guard::Adopted adopted{};        // what the guard that is set has kept of `guard`
};

// The target of a preference: an op, module or type; or an override of an op, whose key is "add[A,
// B]".
struct PreferenceTarget {
  PreferenceTarget(std::string_view item) : name(item) {}
  PreferenceTarget(std::string_view op, std::string_view override_key)
      : name(op), key(override_key) {}
  std::string_view name;
  std::string_view key;  // empty: no override
};
// Preferences without brackets are about the overrides of an op as well.
bool matches(const PluginPolicy::Preference& preference, const PreferenceTarget& target);

// With types of overrides sorted and spaced as in their keys: "add[B,A]" as "add[A, B]".
std::string canonical_pattern(const std::string& pattern);

// "pattern=plugin,pattern=plugin" as preferences; commas inside brackets separate types. Malformed
// entries are appended to `faults`.
std::vector<PluginPolicy::Preference> parse_preferences(std::string_view text,
                                                        std::vector<std::string>& faults);

// Place in a config: the member at a JSON pointer below `written`, as far as there is one; empty
// when code says it.
std::string place_in(const Json& written, std::string_view pointer = {});

// Reads the document that the slot policy_apply takes; share/tenon/documents.md has its members, all of
// which may be absent. ConfigError with the place of an unknown member, of a value of another kind, and
// of a text that is not what it should be. `lazy`: eager plugins wait for their first use.
PluginPolicy policy_of(const tenon_json& document, bool lazy = false);

}  // namespace tenon::core
