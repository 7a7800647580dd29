// The declarations of a plugin, read from its file without running any of it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/facts/byte_source.hpp"

namespace tenon::core {

struct OpFacts {
  std::string schema;
  std::string doc;
  std::string differentiable = "none";  // none, formula, composite
  std::string jvp = "none";             // none, rule, pointwise, linear, multilinear
  int64_t flags = 0;
  std::string not_overridable;  // the reason; empty: it may be overridden
  std::string samples;          // JSON text: arguments to check it with
  std::string accuracy;         // the largest errors of its results and gradients

  // The schema up to its parameter list: "nn.functional.linear".
  std::string_view name() const;
};

struct ModuleFacts {
  std::string schema;
  std::string forward;  // the schema of its forward; empty: a mode, or instances have their own
  std::string doc;
  std::string samples;
  bool mode = false;  // can be entered as a mode

  std::string_view name() const;
};

struct TypeFacts {
  std::string type;
  std::string parent;  // empty: unrelated to Tensor
  std::string doc;
  int64_t flags = 0;
  int64_t fallback = 0;
  int64_t metadata = 0;
  std::array<int64_t, 3> payload{};  // size, alignment, fingerprint; zeros: not declared
  bool handler = false;

  std::string_view name() const { return type; }
};

struct OverrideFacts {
  std::string schema;  // its own signature
  std::string doc;
  std::string types;
  std::string accepts;
  std::string key;  // "add[A, B]", types sorted

  std::string_view name() const { return key; }
};

// A service that the plugin provides, and one that it needs: in this version or a newer one.
struct ServiceFacts {
  std::string service;
  uint32_t version = 0;
  std::string doc;

  std::string_view name() const { return service; }
};
struct ServiceUse {
  std::string service;
  uint32_t version = 0;
};
// Operators of another format, a line for each: the importer of the format reads them.
struct ConversionFacts {
  std::string format;
  std::string rules;

  // NOLINTNEXTLINE(modernize-use-nullptr): Clang takes the 0 it is compared with for a pointer
  auto operator<=>(const ConversionFacts&) const = default;
};
// Whether a service of the name is the host's, or would be.
bool is_host_service(std::string_view name);

// "add[A, B]" from a schema and a list of types.
std::string override_key(std::string_view schema, std::string_view types);
// The names of such a list, sorted.
std::vector<std::string> type_names(std::string_view types);

// Items in the order of their notes.
struct PluginFacts {
  std::string id;
  std::string version;
  uint32_t abi_major = 0;
  uint32_t abi_minor = 0;
  std::string sdk, license, compiler;  // information only
  std::vector<OpFacts> ops;
  std::vector<ModuleFacts> modules;
  std::vector<TypeFacts> types;
  std::vector<OverrideFacts> overrides;
  std::vector<ServiceFacts> services;
  std::vector<ServiceUse> uses;  // sorted by service, each once
  std::vector<ConversionFacts> conversions;
};

// The schema's text before '(' without spaces around it.
std::string_view schema_name(std::string_view schema);

// Both throw PluginError at stage find or read, which says what is wrong with the file. Schemas are
// not parsed: their names alone are checked, for form and for duplicates.
PluginFacts read_facts(const ByteSource& source, const std::string& path);

struct FactsFile {
  std::shared_ptr<const PluginFacts> facts;
  FileStamp stamp;
};
FactsFile read_facts_file(const std::string& path);

}  // namespace tenon::core
