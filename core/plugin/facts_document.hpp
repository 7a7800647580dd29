// What a plugin declares, as a document: for load guards, and for the document "loadable".
#pragma once

#include "core/base/json.hpp"
#include "core/plugin/facts_reader.hpp"

namespace tenon::core {

// {id, version, ops, modules, types, overrides}; tenon/abi/guard.h has the members.
Json facts_document(const PluginFacts& facts);

}  // namespace tenon::core
