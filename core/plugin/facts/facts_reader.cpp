// Facts from payloads: JSON objects of three kinds, checked for form.
#include "core/plugin/facts/facts_reader.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>
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
  bool start = true;
  for (char c : name) {
    if (c == '.') {
      if (start) return false;
      start = true;
    } else if (start ? begins_name(c) : is_of_name(c)) {
      start = false;
    } else {
      return false;
    }
  }
  return !start;
}

bool is_plugin_id(std::string_view id) {
  if (id.empty() || id.size() > kMaxName || !is_of_name(id.front())) {
    return false;
  }
  return std::all_of(id.begin(), id.end(),
                     [](char c) { return is_of_name(c) || c == '-' || c == '.'; });
}

class FactsCollector {
 public:
  explicit FactsCollector(const std::string& path) : path_(path) {}

  void add(std::string_view payload);
  PluginFacts finish();
  // The plugin's name; empty until its fact was read.
  const std::string& plugin() const { return facts_.id; }

 private:
  [[noreturn]] void refuse(const std::string& problem, const std::string& remedy) const {
    PluginFailure failure;
    failure.stage = PluginStage::Read;
    failure.plugin = facts_.id;
    failure.path = path_;
    failure.problem = problem;
    failure.remedy = remedy;
    throw PluginError(failure);
  }
  void add_plugin(const tenon_json& object);
  void add_op(const tenon_json& object);
  void add_module(const tenon_json& object);
  void add_type(const tenon_json& object);
  void add_override(const tenon_json& object);
  void add_service(const tenon_json& object);
  void add_use(const tenon_json& object);
  int64_t number(const tenon_json& object, const char* what, const char* key) const;
  std::string text(const tenon_json& object, const char* what, const char* key, bool required,
                   size_t limit, bool lines = false) const;
  std::string schema(const tenon_json& object, const char* what) const;
  std::string service(const tenon_json& object, const char* what, const char* key) const;
  uint32_t service_version(const tenon_json& object, const char* what) const;

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
  if (!document->is_object()) {
    refuse("one of its facts is not a JSON object", "write {\"op\": {...}} or the like");
  }
  // Kinds and keys that a later SDK adds are passed over.
  const auto child = [&](const char* kind) -> const tenon_json* {
    const tenon_json* object = document->find(kind);
    if (object != nullptr && !object->is_object()) {
      refuse(format_text("its fact \"{}\" is not a JSON object", kind), "make it one");
    }
    return object;
  };
  if (const tenon_json* op = child("op")) add_op(*op);
  if (const tenon_json* module = child("module")) add_module(*module);
  if (const tenon_json* type = child("type")) add_type(*type);
  if (const tenon_json* entry = child("override")) add_override(*entry);
  if (const tenon_json* service = child("service")) add_service(*service);
  if (const tenon_json* use = child("uses")) add_use(*use);
  if (const tenon_json* plugin = child("plugin")) add_plugin(*plugin);
}

std::string FactsCollector::text(const tenon_json& object, const char* what, const char* key,
                                 bool required, size_t limit, bool lines) const {
  const tenon_json* value = object.find(key);
  const std::string name = format_text(R"("{}" of its fact "{}")", key, what);
  if (value == nullptr) {
    if (required) refuse(format_text("{} is missing", name), "add it");
    return {};
  }
  if (!value->is_string()) refuse(format_text("{} is not a string", name), "make it one");
  const std::string_view content = value->as_string();
  if (content.size() > limit) {
    refuse(format_text("{} is longer than {} bytes", name, limit), "shorten it");
  }
  if (!is_printable(content, lines))
    refuse(format_text("{} has control characters", name), "remove them");
  return std::string(content);
}

std::string FactsCollector::schema(const tenon_json& object, const char* what) const {
  std::string schema = text(object, what, "schema", true, kMaxSchema);
  if (schema.find('(') == schema.npos || !is_item_name(schema_name(schema))) {
    refuse(format_text("a \"schema\" of its facts does not begin with a name and '(': {}",
                       quote(schema)),
           "write it like 'name(Tensor input) -> Tensor'");
  }
  return schema;
}

void FactsCollector::add_op(const tenon_json& object) {
  OpFacts op;
  op.schema = schema(object, "op");
  op.doc = text(object, "op", "doc", false, TENON_FACTS_MAX_PAYLOAD, true);
  if (object.find("differentiable") != nullptr) {
    op.differentiable = text(object, "op", "differentiable", true, kMaxName);
  }
  if (object.find("jvp") != nullptr) op.jvp = text(object, "op", "jvp", true, kMaxName);
  op.not_overridable = text(object, "op", "not_overridable", false, kMaxSchema);
  op.samples = text(object, "op", "samples", false, TENON_FACTS_MAX_PAYLOAD, true);
  op.flags = number(object, "op", "flags");
  facts_.ops.push_back(std::move(op));
}

void FactsCollector::add_module(const tenon_json& object) {
  ModuleFacts module;
  module.schema = schema(object, "module");
  module.forward = text(object, "module", "forward", false, TENON_FACTS_MAX_PAYLOAD, true);
  module.doc = text(object, "module", "doc", false, TENON_FACTS_MAX_PAYLOAD, true);
  module.samples = text(object, "module", "samples", false, TENON_FACTS_MAX_PAYLOAD, true);
  const tenon_json* mode = object.find("mode");
  module.mode = mode != nullptr && mode->is_bool() && mode->as_bool();
  facts_.modules.push_back(std::move(module));
}

int64_t FactsCollector::number(const tenon_json& object, const char* what, const char* key) const {
  const tenon_json* value = object.find(key);
  if (value == nullptr) return 0;
  if (!value->is_int()) {
    refuse(format_text(R"("{}" of its fact "{}" is not an integer)", key, what), "make it one");
  }
  return value->as_int();
}

void FactsCollector::add_type(const tenon_json& object) {
  TypeFacts type;
  type.type = text(object, "type", "name", true, kMaxName);
  type.parent = text(object, "type", "parent", false, kMaxName);
  for (const std::string* name : {&type.type, &type.parent}) {
    if (is_item_name(*name) || (name->empty() && name == &type.parent)) continue;
    refuse(
        format_text("the type name {} is not made of letters, digits, '_' and '.'", quote(*name)),
        "rename it");
  }
  type.doc = text(object, "type", "doc", false, TENON_FACTS_MAX_PAYLOAD, true);
  type.flags = number(object, "type", "flags");
  type.fallback = number(object, "type", "fallback");
  type.metadata = number(object, "type", "metadata");
  if (const tenon_json* handler = object.find("handler")) {
    if (!handler->is_bool())
      refuse(R"("handler" of its fact "type" is not true or false)", "make it one");
    type.handler = handler->as_bool();
  }
  if (const tenon_json* payload = object.find("payload")) {
    const auto part = [&](int64_t index) {
      const tenon_json* number = payload->at(index);
      return number->is_int() && number->as_int() >= 0 ? number->as_int() : int64_t{-1};
    };
    if (payload->is_array() && payload->size() == 3) type.payload = {part(0), part(1), part(2)};
    if (!payload->is_array() || payload->size() != 3 ||
        std::count(type.payload.begin(), type.payload.end(), -1) != 0) {
      refuse(R"("payload" of its fact "type" is not [size, alignment, fingerprint])",
             "write three integers");
    }
  }
  facts_.types.push_back(std::move(type));
}

void FactsCollector::add_override(const tenon_json& object) {
  OverrideFacts entry;
  entry.schema = schema(object, "override");
  entry.doc = text(object, "override", "doc", false, TENON_FACTS_MAX_PAYLOAD, true);
  entry.types = text(object, "override", "types", true, kMaxSchema);
  entry.accepts = text(object, "override", "accepts", false, kMaxSchema);
  entry.key = override_key(entry.schema, entry.types);
  facts_.overrides.push_back(std::move(entry));
}

std::string FactsCollector::service(const tenon_json& object, const char* what,
                                    const char* key) const {
  std::string name = text(object, what, key, true, kMaxName);
  if (is_item_name(name)) return name;
  refuse(
      format_text("the service name {} is not made of letters, digits, '_' and '.'", quote(name)),
      "rename it");
}

uint32_t FactsCollector::service_version(const tenon_json& object, const char* what) const {
  const int64_t version = number(object, what, "version");
  if (version >= 1 && version <= std::numeric_limits<uint32_t>::max())
    return static_cast<uint32_t>(version);
  refuse(format_text(R"("version" of its fact "{}" is {})", what, version),
         "number the versions of a service from 1");
}

void FactsCollector::add_service(const tenon_json& object) {
  ServiceFacts one;
  one.service = service(object, "service", "name");
  if (is_host_service(one.service)) {
    refuse(format_text("it provides the service {}, and namespace 'tenon' is reserved",
                       quote(one.service)),
           "use another namespace or none");
  }
  one.version = service_version(object, "service");
  one.doc = text(object, "service", "doc", false, TENON_FACTS_MAX_PAYLOAD, true);
  facts_.services.push_back(std::move(one));
}

// Each translation unit may declare the same need.
void FactsCollector::add_use(const tenon_json& object) {
  ServiceUse use{service(object, "uses", "service"), service_version(object, "uses")};
  const auto place = std::ranges::lower_bound(facts_.uses, use.service, {}, &ServiceUse::service);
  if (place == facts_.uses.end() || place->service != use.service) {
    facts_.uses.insert(place, std::move(use));
  } else {
    place->version = std::max(place->version, use.version);
  }
}

void FactsCollector::add_plugin(const tenon_json& object) {
  if (has_plugin_) refuse("it has two facts \"plugin\"", "state the plugin once");
  has_plugin_ = true;
  const std::string id = text(object, "plugin", "id", true, kMaxName);
  if (!is_plugin_id(id)) {
    refuse(
        format_text("the plugin id {} is not made of letters, digits, '_', '-' and '.'", quote(id)),
        "rename it");
  }
  facts_.id = id;
  facts_.version = text(object, "plugin", "version", true, kMaxName);
  try {
    parse_version(facts_.version);
  } catch (const Error& error) {
    refuse(format_text("its version cannot be read: {}", error.message), "fix its version");
  }
  facts_.sdk = text(object, "plugin", "sdk", false, kMaxName);
  facts_.license = text(object, "plugin", "license", false, kMaxName);
  facts_.compiler = text(object, "plugin", "compiler", false, kMaxName);

  const tenon_json* abi = object.find("abi");
  const auto number = [&](int64_t index, uint32_t& result) {
    const tenon_json* part = abi->at(index);
    if (!part->is_int() || part->as_int() < 0 ||
        part->as_int() > std::numeric_limits<uint32_t>::max()) {
      return false;
    }
    result = static_cast<uint32_t>(part->as_int());
    return true;
  };
  if (abi == nullptr || !abi->is_array() || abi->size() != 2 || !number(0, facts_.abi_major) ||
      !number(1, facts_.abi_minor)) {
    refuse(R"("abi" of its fact "plugin" is not [major, minor])", R"(write it like "abi": [1, 0])");
  }
}

PluginFacts FactsCollector::finish() {
  if (!has_plugin_) {
    refuse("it declares ops or modules but no plugin",
           "write TENON_PLUGIN(id, \"version\") in one file of the plugin");
  }
  const auto require_unique = [&](const auto& items, const char* kind) {
    std::unordered_set<std::string_view> names;
    names.reserve(items.size());
    for (const auto& item : items) {
      if (names.insert(item.name()).second) continue;
      refuse(format_text("it declares the {} {} twice", kind, quote(item.name())),
             "remove or rename one of them");
    }
  };
  require_unique(facts_.ops, "op");
  require_unique(facts_.modules, "module");
  require_unique(facts_.types, "type");
  require_unique(facts_.overrides, "override");
  require_unique(facts_.services, "service");
  return std::move(facts_);
}

}  // namespace

bool is_host_service(std::string_view name) { return name.starts_with("tenon."); }

std::string_view schema_name(std::string_view schema) {
  std::string_view name = schema.substr(0, schema.find('('));
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return name;
}

std::vector<std::string> type_names(std::string_view types) {
  std::vector<std::string> names;
  for (const std::string_view word : comma_words(types)) {
    const std::string_view name = schema_name(word);
    if (!name.empty()) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
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
