// Reading of configs: strict. Every fault is reported at once, each with its place and what was
// expected. Beside JSON a config may have comments, // and /* */, and a comma behind the last element
// of a list or object.
//
// The smallest config names a plugin: {"schema_version": 1, "plugins": ["math"]}. Every section:
//
//   {"schema_version": 1,
//    "plugins": ["math", "./digits.so",
//                {"name": "blas", "version": ">=0.1", "options": {}, "sha256": "...",
//                 "load": "eager", "require": false}],
//    "search_paths": ["plugins"],
//    "ops": {"prefer": {"add": "math", "nn.functional.*": "nn"},
//            "disable": ["exp2", {"op": "nn.*", "plugin": "other"}, "add[TypeA, TypeB]"],
//            "duplicates": "first"},
//    "types": {"TypeA": {"fallback": "to_tensor", "fallback_ops": {"allow": ["nn.*"], "deny": []},
//                        "covers": ["add", "mm"]}},
//    "strict": false,
//    "autoload": true,
//    "frozen": "tenon.lock",
//    "trust": ["/opt/shared/plugins"],
//    "keys": [{"key": "RWQ...", "namespaces": ["math", "acme."]}],
//    "quarantine": true, "retry": ["math"],
//    "seed": 1,
//    "threads": 4}
//
// config_table.cpp has every key with its range and default. A bare string is short for
// {"name": ...} or {"path": ...} of a plugin (a path has a '/' or ends in .so), and {"op": ...} of a
// disabled op. Further sections are those of the application that reads the config.
#pragma once

#include <string>
#include <string_view>

#include "core/base/json.hpp"

namespace tenon::core {

struct ConfigOptions {
  size_t max_bytes = size_t{4} << 20;
  // JSON Schema of the further sections (config_sections.hpp). Null: keys that the host does not
  // know are copied as they are, unless they are nearly known keys.
  const tenon_json* sections = nullptr;
};

// Reads, checks and normalizes: defaults filled in, short schemas written out, paths absolute
// (relative ones start at the config's folder). Nodes keep their places for later messages. Runs no
// plugin code.
//
// "-" is standard input, with paths relative to the current folder. Throws IOError when the file
// cannot be read or is not a regular file; else ConfigError, whose message is
//   FILE:LINE:COLUMN: /json/pointer: what was found, expected what (did you mean 'x'?)
// for one fault, and "config 'FILE' has 3 faults:" with one such line for each, in the file's
// order, for several. Text that is not JSON is a single fault.
Json read_config(const std::string& path, const ConfigOptions& options = {});
// The same for text at hand. `file` is for messages, `folder` is where relative paths start.
Json parse_config(std::string_view text, const std::string& file, const std::string& folder,
                  const ConfigOptions& options = {});

}  // namespace tenon::core
