// Facts from payloads: JSON objects of three kinds, checked for form.
#include "core/plugin/facts/facts_reader.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/characters.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/elf_notes.hpp"
#include "core/plugin/facts/version_range.hpp"
#include "core/plugin/failure.hpp"
#include "tenon/abi/facts.h"

namespace tenon::core {

namespace {

constexpr size_t kMaxName = 256;
// An op's signature is shown in messages and listings: longer ones are mistakes.
constexpr size_t kMaxSchema = 4096;

// Listings go to terminals: what could steer one is refused.
bool is_printable(std::string_view text, bool lines) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || (lines && (c == '\n' || c == '\t'));
  });
}

// Dotted identifiers: "add", "nn.functional.linear".
bool is_item_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName) return false;
  char before = '.';
  for (const char c : name) {
    if (before == '.' ? !begins_name(c) : c != '.' && !is_of_name(c)) return false;
    before = c;
  }
  return before != '.';
}

bool is_plugin_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxName && is_of_name(id.front()) &&
         std::ranges::all_of(id, [](char c) { return is_of_name(c) || c == '-' || c == '.'; });
}

// One object of the payloads. Refuses members of another kind, by their keys.
class Fact {
 public:
  Fact(const char* kind, const tenon_json& object, const std::string& path)
      : kind_(kind), object_(object), path_(path) {}

  [[noreturn]] void refuse(std::string problem, std::string remedy) const {
    refuse_plugin(PluginStage::Read, "", path_, std::move(problem), std::move(remedy));
  }
  const tenon_json* find(const char* key) const { return object_.find(key); }

  // Empty when the key is missing and not required.
  std::string text(const char* key, size_t limit, bool required = false, bool lines = false) const {
    const tenon_json* value = find(key);
    if (value == nullptr) {
      if (required) refuse(format_text("{} is missing", shown(key)), "add it");
      return {};
    }
    if (!value->is_string()) refuse(format_text("{} is not a string", shown(key)), "make it one");
    const std::string_view content = value->as_string();
    if (content.size() > limit)
      refuse(format_text("{} is longer than {} bytes", shown(key), limit), "shorten it");
    if (!is_printable(content, lines))
      refuse(format_text("{} has control characters", shown(key)), "remove them");
    return std::string(content);
  }
  std::string required(const char* key, size_t limit = kMaxName) const {
    return text(key, limit, true);
  }
  // Text of several lines.
  std::string lines(const char* key) const {
    return text(key, TENON_FACTS_MAX_PAYLOAD, false, true);
  }
  std::string choice(const char* key, const std::string& fallback) const {
    return find(key) == nullptr ? fallback : required(key);
  }
  int64_t number(const char* key) const {
    const tenon_json* value = find(key);
    if (value == nullptr) return 0;
    if (!value->is_int()) refuse(format_text("{} is not an integer", shown(key)), "make it one");
    return value->as_int();
  }
  // As many numbers as the array has to have, none negative; empty when they are not there.
  std::vector<int64_t> numbers(const char* key, int64_t count) const {
    const tenon_json* value = find(key);
    std::vector<int64_t> list;
    if (value == nullptr || !value->is_array() || value->size() != count) return list;
    for (const tenon_json& one : value->children()) {
      if (!one.is_int() || one.as_int() < 0) return {};
      list.push_back(one.as_int());
    }
    return list;
  }
  std::string schema() const {
    std::string schema = required("schema", kMaxSchema);
    if (schema.find('(') == schema.npos || !is_item_name(schema_name(schema))) {
      refuse(format_text("a \"schema\" of its facts does not begin with a name and '(': {}",
                         quote(schema)),
             "write it like 'name(Tensor input) -> Tensor'");
    }
    return schema;
  }
  std::string name(const char* key, const char* noun) const {
    std::string name = required(key);
    require_name(name, noun);
    return name;
  }
  void require_name(const std::string& name, const char* noun) const {
    if (!is_item_name(name))
      refuse(format_text("the {} name {} is not made of letters, digits, '_' and '.'", noun,
                         quote(name)),
             "rename it");
  }
  uint32_t service_version() const {
    const int64_t version = number("version");
    if (version < 1 || version > std::numeric_limits<uint32_t>::max())
      refuse(format_text("{} is {}", shown("version"), version),
             "number the versions of a service from 1");
    return static_cast<uint32_t>(version);
  }

 private:
  std::string shown(const char* key) const {
    return format_text(R"("{}" of its fact "{}")", key, kind_);
  }

  const char* const kind_;
  const tenon_json& object_;
  const std::string& path_;
};

class FactsCollector {
 public:
  explicit FactsCollector(const std::string& path) : path_(path) {}

  void add(std::string_view payload);
  PluginFacts finish();
  // The plugin's name; empty until its fact was read.
  const std::string& plugin() const { return facts_.id; }

 private:
  [[noreturn]] void refuse(std::string problem, std::string remedy) const {
    refuse_plugin(PluginStage::Read, facts_.id, path_, std::move(problem), std::move(remedy));
  }
  void add_plugin(const Fact& fact);
  void add_op(const Fact& fact);
  void add_module(const Fact& fact);
  void add_type(const Fact& fact);
  void add_override(const Fact& fact);
  void add_service(const Fact& fact);
  void add_use(const Fact& fact);
  void add_conversions(const Fact& fact);

  const std::string& path_;
  PluginFacts facts_;
  bool has_plugin_ = false;
};

void FactsCollector::add(std::string_view payload) {
  Json document;
  try {
    JsonOptions options;
    options.max_bytes = TENON_FACTS_MAX_PAYLOAD;
    options.max_depth = 8;
    document = parse_json(payload, options);
  } catch (const Error& error) {
    refuse(format_text("one of its facts is not JSON: {}", error.message),
           "fix the text of the fact");
  }
  if (!document->is_object())
    refuse("one of its facts is not a JSON object", "write {\"op\": {...}} or the like");
  // Kinds and keys that a later SDK adds are passed over.
  static constexpr std::pair<const char*, void (FactsCollector::*)(const Fact&)> kKinds[] = {
      {"op", &FactsCollector::add_op},           {"module", &FactsCollector::add_module},
      {"type", &FactsCollector::add_type},       {"override", &FactsCollector::add_override},
      {"service", &FactsCollector::add_service}, {"uses", &FactsCollector::add_use},
      {"plugin", &FactsCollector::add_plugin},   {"conversions", &FactsCollector::add_conversions}};
  for (const auto& [kind, add_one] : kKinds) {
    const tenon_json* object = document->find(kind);
    if (object == nullptr) continue;
    if (!object->is_object())
      refuse(format_text("its fact \"{}\" is not a JSON object", kind), "make it one");
    (this->*add_one)(Fact(kind, *object, path_));
  }
}

void FactsCollector::add_op(const Fact& fact) {
  OpFacts op;
  op.schema = fact.schema();
  op.doc = fact.lines("doc");
  op.differentiable = fact.choice("differentiable", op.differentiable);
  op.jvp = fact.choice("jvp", op.jvp);
  op.not_overridable = fact.text("not_overridable", kMaxSchema);
  op.samples = fact.lines("samples");
  op.accuracy = fact.lines("accuracy");
  op.flags = fact.number("flags");
  facts_.ops.push_back(std::move(op));
}

void FactsCollector::add_module(const Fact& fact) {
  ModuleFacts module;
  module.schema = fact.schema();
  module.forward = fact.lines("forward");
  module.doc = fact.lines("doc");
  module.samples = fact.lines("samples");
  const tenon_json* mode = fact.find("mode");
  module.mode = mode != nullptr && mode->is_bool() && mode->as_bool();
  facts_.modules.push_back(std::move(module));
}

void FactsCollector::add_type(const Fact& fact) {
  TypeFacts type;
  type.type = fact.name("name", "type");
  type.parent = fact.text("parent", kMaxName);
  if (!type.parent.empty()) fact.require_name(type.parent, "type");
  type.doc = fact.lines("doc");
  type.flags = fact.number("flags");
  type.fallback = fact.number("fallback");
  type.metadata = fact.number("metadata");
  if (const tenon_json* handler = fact.find("handler")) {
    if (!handler->is_bool())
      fact.refuse(R"("handler" of its fact "type" is not true or false)", "make it one");
    type.handler = handler->as_bool();
  }
  if (fact.find("payload") != nullptr) {
    const std::vector<int64_t> payload = fact.numbers("payload", 3);
    if (payload.empty())
      fact.refuse(R"("payload" of its fact "type" is not [size, alignment, fingerprint])",
                  "write three integers");
    std::ranges::copy(payload, type.payload.begin());
  }
  facts_.types.push_back(std::move(type));
}

void FactsCollector::add_override(const Fact& fact) {
  OverrideFacts entry;
  entry.schema = fact.schema();
  entry.doc = fact.lines("doc");
  entry.types = fact.required("types", kMaxSchema);
  entry.accepts = fact.text("accepts", kMaxSchema);
  entry.key = override_key(entry.schema, entry.types);
  facts_.overrides.push_back(std::move(entry));
}

void FactsCollector::add_service(const Fact& fact) {
  ServiceFacts one;
  one.service = fact.name("name", "service");
  if (is_host_service(one.service)) {
    fact.refuse(format_text("it provides the service {}, and namespace 'tenon' is reserved",
                            quote(one.service)),
                "use another namespace or none");
  }
  one.version = fact.service_version();
  one.doc = fact.lines("doc");
  facts_.services.push_back(std::move(one));
}

// Each translation unit may declare the same need.
void FactsCollector::add_use(const Fact& fact) {
  ServiceUse use{fact.name("service", "service"), fact.service_version()};
  const auto place = std::ranges::lower_bound(facts_.uses, use.service, {}, &ServiceUse::service);
  if (place == facts_.uses.end() || place->service != use.service) {
    facts_.uses.insert(place, std::move(use));
  } else {
    place->version = std::max(place->version, use.version);
  }
}

void FactsCollector::add_conversions(const Fact& fact) {
  facts_.conversions.push_back({fact.name("format", "format"), fact.lines("rules")});
}

void FactsCollector::add_plugin(const Fact& fact) {
  if (has_plugin_) refuse("it has two facts \"plugin\"", "state the plugin once");
  has_plugin_ = true;
  const std::string id = fact.required("id");
  if (!is_plugin_id(id)) {
    refuse(
        format_text("the plugin id {} is not made of letters, digits, '_', '-' and '.'", quote(id)),
        "rename it");
  }
  facts_.id = id;
  facts_.version = fact.required("version");
  try {
    parse_version(facts_.version);
  } catch (const Error& error) {
    refuse(format_text("its version cannot be read: {}", error.message), "fix its version");
  }
  facts_.sdk = fact.text("sdk", kMaxName);
  facts_.license = fact.text("license", kMaxName);
  facts_.compiler = fact.text("compiler", kMaxName);
  const std::vector<int64_t> abi = fact.numbers("abi", 2);
  if (abi.empty() || std::ranges::max(abi) > std::numeric_limits<uint32_t>::max())
    refuse(R"("abi" of its fact "plugin" is not [major, minor])", R"(write it like "abi": [1, 0])");
  facts_.abi_major = static_cast<uint32_t>(abi[0]);
  facts_.abi_minor = static_cast<uint32_t>(abi[1]);
}

PluginFacts FactsCollector::finish() {
  if (!has_plugin_) {
    refuse("it declares ops or modules but no plugin",
           "write TENON_PLUGIN(id, \"version\") in one file of the plugin");
  }
  // Compilers and linkers order facts as they like: by name, each build lists the same.
  const auto sort = [&](auto& items, const char* kind) {
    const auto name = [](const auto& item) { return item.name(); };
    std::ranges::sort(items, std::ranges::less(), name);
    const auto twice = std::ranges::adjacent_find(items, std::ranges::equal_to(), name);
    if (twice != items.end()) {
      refuse(format_text("it declares the {} {} twice", kind, quote(twice->name())),
             "remove or rename one of them");
    }
  };
  sort(facts_.ops, "op");
  sort(facts_.modules, "module");
  sort(facts_.types, "type");
  sort(facts_.overrides, "override");
  sort(facts_.services, "service");
  std::ranges::sort(facts_.conversions);
  return std::move(facts_);
}

}  // namespace

bool is_host_service(std::string_view name) { return name.starts_with("tenon."); }

std::string_view schema_name(std::string_view schema) {
  return trim_spaces(schema.substr(0, schema.find('(')));
}

std::vector<std::string> type_names(std::string_view types) {
  const Words words = comma_words(types);
  std::vector<std::string> names(words.begin(), words.end());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string override_key(std::string_view schema, std::string_view types) {
  return format_text("{}[{}]", schema_name(schema), join(type_names(types), ", "));
}

std::string_view OpFacts::name() const { return schema_name(schema); }
std::string_view ModuleFacts::name() const { return schema_name(schema); }

PluginFacts read_facts(const ByteSource& source, const std::string& path) {
  FactsCollector collector(path);
  // Linkers order facts as they like: the first fault waits until the plugin's name was read.
  std::optional<PluginFailure> fault;
  read_fact_payloads(source, path, [&](std::string_view payload) {
    try {
      collector.add(payload);
    } catch (const PluginError& error) {
      if (!fault) fault = error.failure;
    }
  });
  if (fault) {
    fault->plugin = collector.plugin();
    throw PluginError(*fault);
  }
  return collector.finish();
}

FactsFile read_facts_file(const std::string& path) {
  const FileSource source(path);
  return {std::make_shared<const PluginFacts>(read_facts(source, path)), source.stamp()};
}

}  // namespace tenon::core
