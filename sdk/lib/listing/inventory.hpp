// Declarations of usable plugins, sorted, and members that several listings share.
#pragma once

#include <string>
#include <vector>

#include <tenon/overridable.hpp>

#include "writer.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

// An item of facts.
struct Declared {
  std::string name;
  std::string plugin;
  Json facts;
};

class Inventory {
 public:
  // Reads the facts of all plugins.
  Inventory() : plugins_(document(Document::facts)) {}

  const Json& plugins() const { return plugins_; }

  // "ops", "modules" or "types" by name, then by plugin. Ops whose schema cannot be parsed are left out.
  std::vector<Declared> all(const char* kind) const;
  // Each op once, by the plugin that provides it, or would.
  std::vector<Declared> provided_ops() const;

 private:
  Json plugins_;
};

// The item that the name means, of a sorted list; ValueError, with a suggestion, when it means none.
const Declared& find_one(const std::vector<Declared>& list, const std::string& name,
                         const std::string& what);

// "nn.functional" of "nn.functional.linear"; "" for the root.
std::string namespace_of(const std::string& name);

// Adds "parameters", "returns_tuple", "returns" and "method" of a schema; "fault" where it cannot be
// parsed.
void put_schema(Writer& document, const std::string& schema);

// Adds members of `source` under their own names; those that it lacks are left out.
void put_members(Writer& document, const Json& source, std::initializer_list<const char*> keys);

}  // namespace listing

TENON_NAMESPACE_END
