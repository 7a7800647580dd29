// Raw data about plugins, schemas and tables as JSON documents, without views: libraries make listings
// from them. sdk/share/tenon/documents.md has the shapes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.hpp"
#include "core/runtime/runtime.hpp"

namespace tenon::core {

// The version, and the folders that are searched for plugins.
Json runtime_document(PluginManager& manager);
// All plugin files that were found, with their states. Nothing is loaded.
Json plugins_document(PluginManager& manager);
// Plugin files with their facts.
Json facts_document(PluginManager& manager);
// The facts of one file, and whether its code could be unmapped. Throws PluginError.
Json facts_document(const std::string& path);
// The plugins that declare a name, which of them is used, and why.
Json providers_document(const Runtime& runtime, ItemKind kind, std::string_view name);
// Tensor types, overrides and ambiguities of the type table.
Json registrations_document(const Runtime& runtime);
// Throws ValueError for a schema that cannot be parsed.
Json schema_document(std::string_view schema);
// A generation whose code was withdrawn.
Json retired_document(const RetiredPlugin& retired);

// Full names of the ops that a tensor type may override, of those that usable plugins declare; sorted.
std::vector<std::string> overridable_ops(PluginManager& manager);

}  // namespace tenon::core
