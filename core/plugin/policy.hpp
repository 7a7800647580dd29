// What a config or the environment decides about plugins and what they provide.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/tree.hpp"
#include "core/dispatch/type_settings.hpp"

namespace tenon::core {

enum class LoadMode {
  Lazy,   // at the first use of something that it provides
  Eager,  // as soon as the policy is applied
  Never   // its ops and modules are unavailable
};

// Which plugin of the policy's list wins when several provide the same name and no rule ranks them.
enum class DuplicateRule { Error, First, Last };

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
    std::string sha256;    // of the file; empty: any
    Tree options;          // handed to its init; may be empty
    std::string id{};      // that a plugin named by its path must have; empty: any
    bool required = true;  // false: it may be missing
    bool glue = false;     // may override other plugins' ops for other plugins' types
    Tree written{};
  };
  struct Rule {
    std::string pattern;
    std::string plugin;  // id; in `disable` empty means any provider
    Tree written{};

    bool about_overrides() const { return pattern.find('[') != std::string::npos; }
  };
  struct Type {
    std::string name;
    TypeSettings settings;
    Tree written{};
  };
  std::string source;                     // who asks, for messages: "config 'a.json'"
  std::vector<std::string> search_paths;  // folders, searched before all others
  std::vector<Plugin> plugins;
  std::vector<Rule> prefer;  // the first rule that matches decides
  std::vector<Rule> disable;
  DuplicateRule duplicates = DuplicateRule::Error;
  std::vector<Type> types;
  bool autoload = true;  // false: of folders only plugins that are named or loaded by name are used
  bool strict = false;   // what would be a warning of what plugins register is an error
};

// What a rule is held against: an op, module or type; or an override of an op, whose key is
// "add[A, B]".
struct RuleTarget {
  RuleTarget(std::string_view item) : name(item) {}
  RuleTarget(std::string_view op, std::string_view override_key) : name(op), key(override_key) {}
  std::string_view name;
  std::string_view key;  // empty: no override
};
// Rules without brackets are about the overrides of an op as well.
bool matches(const PluginPolicy::Rule& rule, const RuleTarget& target);

// With types of overrides sorted and spaced as in their keys: "add[B,A]" as "add[A, B]".
std::string canonical_pattern(const std::string& pattern);

// "pattern=plugin,pattern=plugin" as rules; commas inside brackets separate types. Malformed
// entries are appended to `faults`.
std::vector<PluginPolicy::Rule> parse_preferences(std::string_view text,
                                                  std::vector<std::string>& faults);

// Where a config says it: the member at a JSON pointer below `written`, as far as there is one;
// empty when code says it.
std::string place_in(const Tree& written, std::string_view pointer = {});

// Whether a plugin is named by its file: ids hold no '/' and do not end in ".so".
inline bool is_plugin_path(std::string_view name) {
  return name.find('/') != name.npos || name.ends_with(".so");
}

}  // namespace tenon::core
