// The pages of the catalogue, a file for each kind.
#pragma once

#include <string>

#include "facts.hpp"

namespace cli {

std::string index_page(const CatalogueFacts& facts);
std::string matrix_page(const CatalogueFacts& facts);
std::string op_page(const CatalogueFacts& facts, const tenon::Json& op);
std::string module_page(const tenon::Json& module);
std::string type_page(const CatalogueFacts& facts, const tenon::Json& type);
std::string plugin_page(const CatalogueFacts& facts, const tenon::Json& plugin);

// A plugin as the listing has it; "failed" where a process tried in vain to load it.
struct PluginState {
  std::string state, reason;
};
PluginState plugin_state(const CatalogueFacts& facts, const tenon::Json& plugin);

// The name that a plugin's page has: its id, or its file where it could not be read.
std::string plugin_name(const tenon::Json& plugin);

}  // namespace cli
