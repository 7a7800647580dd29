// Configs: a walk along a schema checks and normalizes them; the host gets its part.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <tenon/config/config.hpp>
#include <tenon/prepare/rewrite.hpp>
#include <tenon/text.hpp>

#include "document.hpp"
#include "faults.hpp"
#include "host_sections.hpp"
#include "lib/base/format.hpp"
#include "lib/base/input_file.hpp"
#include "lib/base/text.hpp"
#include "plugin_list.hpp"
#include "schema.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

namespace {

using Type = ValueSchema::Type;

constexpr int64_t kMostBytes = int64_t{4} << 20;  // longest config
// Each value becomes steps of another document, or a fault.
constexpr int64_t kBytesPerValue = 500;

// A value in messages; short strings and numbers are shown.
std::string found_text(ConfigNode node) {
  if (node.is_text())
    return lib::format_text("the string {}", lib::quote(std::string(node.text())));
  if (node.is_array()) return lib::format_text("an array of {}", node.size());
  return node.is_object() ? "an object" : node.dump();
}

bool fits_type(const ValueSchema& schema, ConfigNode node) {
  switch (schema.type) {
    case Type::boolean:
      return node.is_bool();
    case Type::integer:
      return node.is_integer();
    case Type::number:
      return node.is_number();
    case Type::text:
      return node.is_text();
    case Type::object:
      return node.is_object() || (!schema.object->shorthand.empty() && node.is_text());
    case Type::map:
    case Type::members:
      return node.is_object();
    case Type::array:
      return node.is_array();
    case Type::any:
      break;
  }
  return true;
}

class Reader {
 public:
  Reader(const std::string& file, const std::string& folder, const Json& sections)
      : file_(file), folder_(folder), schema_(whole_schema(sections)), faults_(file) {}

  Json read(std::string_view text) {
    const Json source = parsed(text);
    if (source.is_object()) {
      object(source, Path(), schema_.root());
      check_plugin_list(source, folder_, faults_);
    } else {
      faults_.add(source, Path(),
                  lib::format_text("found {}, expected an object", found_text(source)));
    }
    if (!faults_.empty()) faults_.refuse();
    return out_.finish(source);
  }

 private:
  Json parsed(std::string_view text) {
    tenon_json_reading reading{};
    reading.size = sizeof(reading);
    reading.flags = TENON_JSON_RELAXED;
    reading.source = file_.c_str();
    reading.failure = TENON_ERROR_CONFIG;
    reading.max_bytes = kMostBytes;
    reading.value_bytes = kBytesPerValue;
    Json document, duplicates;
    detail::check(service::documents().parse, text.data(), static_cast<int64_t>(text.size()),
                  static_cast<const tenon_json_reading*>(&reading), document.slot(),
                  duplicates.slot());
    const auto number = [](const Json& node) { return static_cast<uint32_t>(node.integer()); };
    for (int64_t i = 0; i < duplicates.size(); ++i) {
      const Json one = duplicates[i];
      const tenon_json_place first = {number(one["first_line"]), number(one["first_column"]), 0};
      faults_.add({number(one["line"]), number(one["column"]), number(one["offset"])},
                  one["pointer"].text(),
                  lib::format_text("duplicate key {}, expected once (first at {})",
                                   lib::quote(one["key"].text()), place_text("", first)));
    }
    return document;
  }

  void refuse(ConfigNode node, const Path& path, const std::string& expected) {
    faults_.add(node, path, lib::format_text("found {}, expected {}", found_text(node), expected));
  }
  // Defaults have no place in the file.
  ConfigNode origin(ConfigNode node) const { return in_default_ ? ConfigNode() : node; }

  void value(ConfigNode node, const Path& path, const std::vector<ValueSchema>& schemas) {
    for (const ValueSchema& schema : schemas) {
      if (fits_type(schema, node)) return value(node, path, schema);
    }
    refuse(node, path, expected_text(schemas));
  }

  void value(ConfigNode node, const Path& path, const ValueSchema& schema) {
    switch (schema.type) {
      case Type::boolean:
        return out_.value(node.value(), origin(node));
      case Type::integer:
      case Type::number:
        return number(node, path, schema);
      case Type::text:
        return text(node, path, schema);
      case Type::object:
        return object(node, path, *schema.object);
      case Type::map:
        return map(node, path, schema);
      case Type::array:
        return array(node, path, schema);
      case Type::members:
      case Type::any:
        return out_.copy(node, origin(node));
    }
  }

  void number(ConfigNode node, const Path& path, const ValueSchema& schema) {
    const double number = node.number();
    const bool low = schema.above_low ? number > schema.low : number >= schema.low;
    const bool high = schema.below_high ? number < schema.high : number <= schema.high;
    if (!low || !high) refuse(node, path, expected_text(schema));
    tenon_value value = node.value();
    if (schema.type == Type::number) {
      value.tag = TENON_VALUE_FLOAT;
      value.as.number = number;
    }
    out_.value(value, origin(node));
  }

  void text(ConfigNode node, const Path& path, const ValueSchema& schema) {
    check_text(node.text(), node.place(), path, schema);
    const Normal normal = schema.format == nullptr ? Normal::same : schema.format->normal;
    if (normal == Normal::same) return out_.value(node.value(), origin(node));
    std::string text(node.text());
    if (normal == Normal::absolute) text = absolute_path(folder_, text);
    for (char& letter : text) {
      if (normal == Normal::lower_case && letter >= 'A' && letter <= 'Z')
        letter = static_cast<char>(letter - 'A' + 'a');
    }
    out_.text(std::move(text), origin(node));
  }

  void check_text(std::string_view text, tenon_json_place place, const Path& path,
                  const ValueSchema& schema) {
    const std::vector<std::string>& choices = schema.choices;
    const bool fits = choices.empty()
                          ? schema.format == nullptr || schema.format->fits(text)
                          : std::find(choices.begin(), choices.end(), text) != choices.end();
    if (fits) return;
    faults_.add(
        place, path.text(),
        lib::format_text("found the string {}, expected {}{}", lib::quote(std::string(text)),
                         expected_text(schema), choices.empty() ? "" : suggestion(text, choices)));
  }

  void map(ConfigNode node, const Path& path, const ValueSchema& schema) {
    ValueSchema keys;
    keys.type = Type::text;
    keys.format = schema.format;
    out_.begin_object(origin(node));
    for (int64_t i = 0; i < node.size(); ++i) {
      const ConfigNode member = node[i];
      const Path member_path{&path, node.key(i)};
      check_text(node.key(i), member.key_place(), member_path, keys);
      out_.key(node.key(i));
      value(member, member_path, schema.elements);
    }
    out_.end();
  }

  void array(ConfigNode node, const Path& path, const ValueSchema& schema) {
    if (node.size() < schema.fewest || node.size() > schema.most)
      refuse(node, path, expected_text(schema));
    out_.begin_array(origin(node));
    for (int64_t i = 0; i < node.size(); ++i) value(node[i], {&path, "", i}, schema.elements);
    out_.end();
  }

  // `node` is an object, or a text that stands for one of its members.
  void object(ConfigNode node, const Path& path, const ObjectSchema& schema) {
    out_.begin_object(origin(node));
    for (const KeySchema& key : schema.keys) {
      const Path member_path{&path, key.name};
      if (node.is_text() && key.name == short_key(node.text(), schema))
        known_member(node, node, path, key);
      else if (const ConfigNode found = node[key.name])
        known_member(node, found, member_path, key);
      else
        missing_member(node, member_path, key);
    }
    if (node.is_object()) {
      for (int64_t i = 0; i < node.size(); ++i) {
        if (schema.find(node.key(i)) == nullptr)
          unknown_member(node[i], {&path, node.key(i)}, schema);
      }
    }
    out_.end();
  }

  static std::string_view short_key(std::string_view text, const ObjectSchema& schema) {
    return !schema.path_shorthand.empty() && is_plugin_path(text) ? schema.path_shorthand
                                                                  : schema.shorthand;
  }

  void known_member(ConfigNode object, ConfigNode found, const Path& path, const KeySchema& key) {
    check_needs(object, found, path, key);
    if (key.name == "$schema") {
      if (!found.is_text()) refuse(found, path, "a string");
      return;
    }
    out_.key(key.name);
    value(found, path, key.schemas);
  }

  static std::vector<std::string> missing_needs(ConfigNode object, const KeySchema& key) {
    std::vector<std::string> missing;
    for (const std::string& need : key.needs) {
      if (!object[need]) missing.push_back(need);
    }
    return missing;
  }
  void check_needs(ConfigNode object, ConfigNode found, const Path& path, const KeySchema& key) {
    const std::vector<std::string> missing = missing_needs(object, key);
    if (missing.empty()) return;
    faults_.add(found.key_place(), path.text(),
                lib::format_text("found without {}, expected {} beside it",
                                 lib::quoted_list(missing), missing.size() > 1 ? "these" : "this"));
  }

  // A default is filled in.
  void missing_member(ConfigNode object, const Path& path, const KeySchema& key) {
    if (!missing_needs(object, key).empty()) return;
    if (key.required) {
      faults_.add(
          object, path,
          lib::format_text("missing, expected {}: {}", expected_text(key.schemas), key.meaning));
    } else if (key.fallback.defined()) {
      const bool outer = std::exchange(in_default_, true);
      out_.key(key.name);
      value(key.fallback, path, key.schemas);
      in_default_ = outer;
    }
  }

  void unknown_member(ConfigNode member, const Path& path, const ObjectSchema& schema) {
    const std::vector<std::string> names = schema.names();
    std::string hint = suggestion(path.key, names);
    // At the top a key that is nearly one of Tenon's own is a slip, not the application's.
    if (schema.open && (&schema != &schema_.root() || hint.empty())) {
      out_.key(path.key);
      return out_.copy(member, origin(member));
    }
    if (hint.empty()) hint = home_of(path.key);
    faults_.add(member.key_place(), path.text(),
                lib::format_text("unknown key {}, expected {}{}", lib::quote(std::string(path.key)),
                                 lib::quoted_list(names, "or"), hint));
  }

  // Hint for a key that is in the wrong object.
  std::string home_of(std::string_view name) const {
    for (const KeySchema& group : schema_.root().keys) {
      const std::string quoted = lib::quote(std::string(name));
      if (group.name == name)
        return lib::format_text(" ({} belongs at the top of the config)", quoted);
      const ObjectSchema* object = group.schemas.front().object;
      if (object != nullptr && !object->open && object->find(name) != nullptr)
        return lib::format_text(" ({} belongs in {})", quoted, lib::quote(group.name));
    }
    return "";
  }

  const std::string& file_;
  const std::string& folder_;
  const Schema schema_;
  DocumentBuilder out_;
  Faults faults_;
  bool in_default_ = false;
};

// Keys of the host.
constexpr const char* kPolicyKeys[] = {"plugins", "search_paths", "ops",    "types",
                                       "strict",  "autoload",     "frozen", "trust",
                                       "keys",    "quarantine",   "retry"};

}  // namespace

Json parse(std::string_view text, const std::string& file, const std::string& folder,
           const Json& sections) {
  return Reader(file, folder, sections).read(text);
}

Json read(const std::string& path, const Json& sections) {
  const bool standard_input = path == "-";
  // One byte more than the limit shows that there is too much.
  const std::string text = standard_input ? lib::read_standard_input("the config", kMostBytes + 1)
                                          : lib::read_file(path, kMostBytes + 1, "the config ");
  std::error_code code;
  const std::filesystem::path whole = std::filesystem::absolute(path, code);
  if (code)
    throw IOError(lib::format_text("cannot find the folder of the config {}: {}", lib::quote(path),
                                   code.message()));
  return parse(text, standard_input ? "standard input" : path, whole.parent_path().string(),
               sections);
}

Json policy(const Json& config) {
  const ConfigNode root = config;
  DocumentBuilder out;
  out.begin_object(root);
  for (const char* key : kPolicyKeys) {
    const ConfigNode member = root[key];
    if (!member) continue;
    out.key(key);
    out.copy(member, member);
  }
  out.end();
  return out.finish(root);
}

void apply(const Json& config, EagerPlugins eager) {
  apply_policy(policy(config), eager);
  if (config["rewrites"].defined()) rewrites::apply_policy(config["rewrites"]);
}

}  // namespace config

TENON_NAMESPACE_END
