// Config reading: the walk along the table that checks and normalizes.
#include "core/plugin/config.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/base/characters.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/input_file.hpp"
#include "core/base/json_bound.hpp"
#include "core/base/text.hpp"
#include "core/plugin/config_sections.hpp"
#include "core/plugin/config_table.hpp"
#include "core/plugin/config_text.hpp"
#include "core/plugin/policy.hpp"

namespace tenon::core {

namespace {

namespace files = std::filesystem;

constexpr size_t kFaultsShown = 50;

struct Fault {
  JsonPlace place;
  std::string pointer;
  std::string what;
};

// What a value is, for messages; short strings and numbers are shown.
std::string found_text(const tenon_json& node) {
  switch (node.kind()) {
    case JsonKind::String:
      return format_text("the string {}", quote(node.as_string()));
    case JsonKind::Array:
      return format_text("an array of {}", node.size());
    case JsonKind::Object:
      return "an object";
    default:
      return dump(node);
  }
}

bool fits_kind(const ConfigSchema& schema, const tenon_json& node) {
  switch (schema.type) {
    case ConfigType::Bool:
      return node.is_bool();
    case ConfigType::Int:
      return node.is_int();
    case ConfigType::Number:
      return node.is_number();
    case ConfigType::Text:
      return node.is_string();
    case ConfigType::Object:
      return node.is_object() || (!schema.object->shorthand.empty() && node.is_string());
    case ConfigType::Map:
    case ConfigType::Free:
      return node.is_object();
    case ConfigType::Array:
      return node.is_array();
    case ConfigType::Any:
      return true;
  }
  return false;
}

class Reader {
 public:
  Reader(const std::string& file, const std::string& folder, const ConfigOptions& options)
      : file_(file), folder_(folder), options_(options), sections_(options.sections), out_(file) {}

  Json read(std::string_view text) {
    JsonOptions options;
    options.source = file_;
    options.kind = TENON_ERROR_CONFIG;
    options.max_bytes = options_.max_bytes;
    options.relaxed = true;
    std::vector<DuplicateKey> duplicates;
    options.duplicates = &duplicates;
    // Of each value another document is made, or a fault.
    require_bounded(text, options, 500);
    const Json source = parse_json(text, options);
    for (const DuplicateKey& duplicate : duplicates) {
      add(duplicate.place, duplicate.pointer,
          format_text("duplicate key {}, expected once (first at {})", quote(duplicate.key),
                      place_text("", duplicate.first)));
    }
    if (!source->is_object()) {
      add(source->place(), "", format_text("found {}, expected an object", found_text(*source)));
    } else {
      object(*source, sections_.table());
      check_plugins(*source);
    }
    if (!faults_.empty()) refuse();
    return out_.finish();
  }

 private:
  void add(JsonPlace place, std::string pointer, std::string what) {
    faults_.push_back({place, std::move(pointer), std::move(what)});
  }
  void add(const tenon_json& node, std::string what) {
    add(node.place(), pointer_of(node), std::move(what));
  }

  [[noreturn]] void refuse() {
    std::vector<const Fault*> order;
    for (const Fault& fault : faults_) order.push_back(&fault);
    // At one place as they were found.
    std::sort(order.begin(), order.end(), [](const Fault* a, const Fault* b) {
      return std::pair(a->place.offset, a) < std::pair(b->place.offset, b);
    });
    std::string text;
    if (faults_.size() > 1) {
      text = format_text("config {} has {} faults:\n", quote(file_), faults_.size());
    }
    for (size_t i = 0; i < std::min(faults_.size(), kFaultsShown); ++i) {
      const Fault& fault = *order[i];
      if (i > 0) text += "\n";
      text +=
          format_text("{}: {}: {}", place_text(file_, fault.place),
                      fault.pointer.empty() ? "the config" : escaped(fault.pointer), fault.what);
    }
    if (faults_.size() > kFaultsShown) {
      text += format_text("\n... and {} more", faults_.size() - kFaultsShown);
    }
    throw Error(TENON_ERROR_CONFIG, text);
  }

  // Defaults have no place in the file.
  void place(const tenon_json& node) {
    if (!in_default_) out_.at(node.place());
  }
  void key(std::string_view name, const tenon_json& node) {
    out_.key(name, in_default_ ? JsonPlace{} : node.key_place());
  }

  void value(const tenon_json& node, std::span<const ConfigSchema> schemas) {
    for (const ConfigSchema& schema : schemas) {
      if (fits_kind(schema, node)) return value(node, schema);
    }
    add(node, format_text("found {}, expected {}", found_text(node), expected_text(schemas)));
    out_.value(nullptr);
  }

  void value(const tenon_json& node, const ConfigSchema& schema) {
    switch (schema.type) {
      case ConfigType::Bool:
        place(node);
        out_.value(node.as_bool());
        break;
      case ConfigType::Int:
        check_range(node, schema);
        place(node);
        out_.value(node.as_int());
        break;
      case ConfigType::Number:
        check_range(node, schema);
        place(node);
        out_.value(node.as_double());
        break;
      case ConfigType::Text:
        text(node, schema);
        break;
      case ConfigType::Object:
        object(node, *schema.object);
        break;
      case ConfigType::Map: {
        const ConfigSchema keys = {.type = ConfigType::Text, .text = schema.text};
        place(node);
        out_.begin_object();
        for (const tenon_json& member : node.children()) {
          check_text(member.key(), member.key_place(), pointer_of(member), keys);
          key(member.key(), member);
          value(member, schema.elements);
        }
        out_.end_object();
        break;
      }
      case ConfigType::Array:
        if (node.size() < schema.fewest || node.size() > schema.most) {
          add(node, format_text("found {}, expected {}", found_text(node), expected_text(schema)));
        }
        place(node);
        out_.begin_array();
        for (const tenon_json& element : node.children()) value(element, schema.elements);
        out_.end_array();
        break;
      case ConfigType::Free:
      case ConfigType::Any:
        out_.copy(node, !in_default_);
        break;
    }
  }

  void check_range(const tenon_json& node, const ConfigSchema& schema) {
    const double number = node.as_double();
    const bool low = schema.above_low ? number > schema.low : number >= schema.low;
    const bool high = schema.below_high ? number < schema.high : number <= schema.high;
    if (!low || !high)
      add(node, format_text("found {}, expected {}", found_text(node), expected_text(schema)));
  }

  void text(const tenon_json& node, const ConfigSchema& schema) {
    const std::string_view given = node.as_string();
    check_text(given, node.place(), pointer_of(node), schema);
    place(node);
    switch (schema.text) {
      case ConfigText::InputPath:
      case ConfigText::OutputPath:
      case ConfigText::PluginPath:
        out_.value(absolute(given));
        break;
      case ConfigText::Sha256: {
        std::string hash(given);
        for (char& digit : hash) digit = lower_case(digit);
        out_.value(hash);
        break;
      }
      default:
        out_.value(given);
    }
  }

  void check_text(std::string_view text, JsonPlace place, const std::string& pointer,
                  const ConfigSchema& schema) {
    const bool choice = schema.text == ConfigText::Choice;
    const bool fits = choice ? std::find(schema.choices.begin(), schema.choices.end(), text) !=
                                   schema.choices.end()
                             : fits_text(schema.text, text);
    const std::string hint = choice ? suggestion(text, schema.choices) : "";
    if (!fits)
      add(place, pointer,
          format_text("found the string {}, expected {}{}", quote(text), expected_text(schema),
                      hint));
  }

  std::string absolute(std::string_view path) const {
    return (files::path(folder_) / files::path(path)).lexically_normal().string();
  }

  void object(const tenon_json& node, const ConfigObject& table) {
    const std::string_view stands_for = node.is_string() ? short_key(node.as_string(), table) : "";
    const auto given = [&](std::string_view name) -> const tenon_json* {
      if (node.is_object()) return node.find(name);
      return name == stands_for ? &node : nullptr;
    };
    place(node);
    out_.begin_object();
    for (const ConfigKey& key_of : table.keys) {
      if (const tenon_json* found = given(key_of.name); found != nullptr) {
        check_needs(node, *found, key_of);
        if (key_of.name == "$schema") {
          if (!found->is_string())
            add(*found, format_text("found {}, expected a string", found_text(*found)));
          continue;
        }
        key(key_of.name, *found);
        value(*found, key_of.schemas);
      } else {
        fill_in(node, key_of);
      }
    }
    for (const tenon_json& member : node.children()) {
      const bool known =
          std::any_of(table.keys.begin(), table.keys.end(),
                      [&](const ConfigKey& key_of) { return key_of.name == member.key(); });
      if (known) continue;
      // At the top a key that is nearly one of the host's own is a slip, not the application's.
      const bool slip =
          &table == &sections_.table() && !suggestion(member.key(), names_of(table)).empty();
      if (!table.open || slip) {
        unknown_key(member, table);
        continue;
      }
      key(member.key(), member);
      out_.copy(member, !in_default_);
    }
    out_.end_object();
  }

  static std::string_view short_key(std::string_view text, const ConfigObject& table) {
    return !table.path_shorthand.empty() && is_plugin_path(text) ? table.path_shorthand
                                                                 : table.shorthand;
  }

  static Words names_of(const ConfigObject& table) {
    Words names;
    for (const ConfigKey& key_of : table.keys) {
      if (!key_of.name.starts_with('$')) names.push_back(key_of.name);
    }
    return names;
  }

  void check_needs(const tenon_json& node, const tenon_json& found, const ConfigKey& key_of) {
    Words missing;
    for (const std::string_view need : key_of.needs) {
      if (node.find(need) == nullptr) missing.push_back(need);
    }
    if (missing.empty()) return;
    add(found.key_place(), pointer_of(found),
        format_text("found without {}, expected {} beside it", quoted_list(missing),
                    missing.size() > 1 ? "these" : "this"));
  }

  // A key that is not given: its default, or a fault.
  void fill_in(const tenon_json& node, const ConfigKey& key_of) {
    for (const std::string_view need : key_of.needs) {
      if (node.find(need) == nullptr) return;
    }
    if (key_of.required) {
      add(node.place(), pointer_step(pointer_of(node), key_of.name),
          format_text("missing, expected {}: {}", expected_text(key_of.schemas), key_of.meaning));
    } else if (!key_of.fallback.empty()) {
      const bool outer = std::exchange(in_default_, true);
      const Json fallback = parse_json(key_of.fallback);
      out_.key(key_of.name);
      value(*fallback, key_of.schemas);
      in_default_ = outer;
    }
  }

  void unknown_key(const tenon_json& member, const ConfigObject& table) {
    const Words names = names_of(table);
    std::string hint = suggestion(member.key(), names);
    if (hint.empty()) hint = home_of(member.key());
    add(member.key_place(), pointer_of(member),
        format_text("unknown key {}, expected {}{}", quote(member.key()), quoted_list(names, "or"),
                    hint));
  }

  // Where a key that is in the wrong object belongs.
  std::string home_of(std::string_view name) const {
    for (const ConfigKey& group : sections_.table().keys) {
      if (group.name == name)
        return format_text(" ({} belongs at the top of the config)", quote(name));
      const ConfigObject* object = group.schemas.front().object;
      if (object == nullptr || object->open) continue;
      for (const ConfigKey& key_of : object->keys) {
        if (key_of.name == name)
          return format_text(" ({} belongs in {})", quote(name), quote(group.name));
      }
    }
    return "";
  }

  // What the table cannot say of plugins: one of name and path, no plugin twice, files that exist.
  void check_plugins(const tenon_json& root) {
    const tenon_json* plugins = root.find("plugins");
    if (plugins == nullptr || !plugins->is_array()) return;
    std::vector<std::pair<std::string, const tenon_json*>> seen;
    for (const tenon_json& entry : plugins->children()) {
      std::string name, path;
      const tenon_json* path_node = &entry;
      bool required = true;
      if (entry.is_string()) {
        const std::string_view text = entry.as_string();
        (is_plugin_path(text) ? path : name) = text;
      } else if (entry.is_object()) {
        name = text_of(entry, "name");
        path = text_of(entry, "path");
        path_node = entry.find("path");
        const tenon_json* given = entry.find("require");
        required = given == nullptr || !given->is_bool() || given->as_bool();
        required = required && text_of(entry, "load") != "never";
        if (entry.find("name") == nullptr && path_node == nullptr) {
          add(entry, "found neither 'name' nor 'path', expected one of them");
          continue;
        }
      }
      if (name.empty() && path.empty()) continue;
      if (!path.empty()) path = absolute(path);
      const std::string& identity = name.empty() ? path : name;
      const auto twin = std::find_if(seen.begin(), seen.end(),
                                     [&](const auto& other) { return other.first == identity; });
      if (twin != seen.end()) {
        add(entry, format_text("plugin {} a second time, expected once (first at {})",
                               quote(identity), place_text("", twin->second->place())));
        continue;
      }
      seen.emplace_back(identity, &entry);
      std::error_code code;
      if (!path.empty() && required && !files::exists(path, code))
        add(*path_node, format_text("cannot find the file {}, expected a plugin; correct the path",
                                    quote(path)));
    }
  }

  static std::string text_of(const tenon_json& object, std::string_view name) {
    const tenon_json* member = object.find(name);
    return member != nullptr && member->is_string() ? std::string(member->as_string())
                                                    : std::string();
  }

  const std::string& file_;
  const std::string& folder_;
  const ConfigOptions& options_;
  const ConfigSections sections_;
  JsonBuilder out_;
  std::vector<Fault> faults_;
  bool in_default_ = false;
};

// One byte more than the limit says that there is too much.
std::string read_file(const std::string& path, size_t limit) {
  const InputFile file(path, "the config ");
  std::string text(std::min(limit + 1, static_cast<size_t>(file.size())), '\0');
  file.read_at(text.data(), static_cast<int64_t>(text.size()), 0);
  return text;
}

std::string read_standard_input(size_t limit) {
  std::string text;
  char block[16384];
  while (text.size() <= limit) {
    const ssize_t count = ::read(STDIN_FILENO, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw Error(TENON_ERROR_IO, "cannot read the config from standard input: {}",
                  std::strerror(errno));
    if (count == 0) break;
    text.append(block, static_cast<size_t>(count));
  }
  return text;
}

}  // namespace

Json read_config(const std::string& path, const ConfigOptions& options) {
  const bool standard_input = path == "-";
  const std::string text =
      standard_input ? read_standard_input(options.max_bytes) : read_file(path, options.max_bytes);
  std::error_code code;
  const files::path whole = files::absolute(path, code);
  if (code)
    throw Error(TENON_ERROR_IO, "cannot find the folder of the config {}: {}", quote(path),
                code.message());
  return parse_config(text, standard_input ? "standard input" : path, whole.parent_path().string(),
                      options);
}

Json parse_config(std::string_view text, const std::string& file, const std::string& folder,
                  const ConfigOptions& options) {
  return Reader(file, folder, options).read(text);
}

}  // namespace tenon::core
