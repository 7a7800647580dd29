// Rewrites that a plugin's file declares, and samples for them.
#pragma once

#include <string>
#include <vector>

#include <tenon/json.hpp>

namespace cli {

struct DeclaredRewrite {
  std::string name;
  std::string text;     // the rule, in one line
  std::string samples;  // JSON list of objects, by slot; may be empty
};

// By name. Reads the file; runs no code of it.
std::vector<DeclaredRewrite> declared_rewrites(const std::string& plugin);

}  // namespace cli
