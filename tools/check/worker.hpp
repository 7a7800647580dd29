// The side of `tenon check` that runs plugin code: in a child process, reporting what happens line
// by line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "options.hpp"

namespace cli {

// The items of a plugin in the order of their checks, as (kind, declaration).
struct CheckTarget {
  std::string kind;  // "op", "module", "type", "override", "rewrite", "batch rule"
  std::string name;
  tenon::Json declaration;    // declaration of an op or a module
  std::string rule, samples;  // of a rewrite
  std::string fault;          // why a batch rule cannot be read
};
// All that is declared, or the one with this name; throws ValueError when there is none.
std::vector<CheckTarget> check_targets(const tenon::Json& declarations, const std::string& name);

// Opens the plugin and checks; `say` gets JSON objects:
//   {"at":"begin","item":i} {"at":"stage","name":...} {"at":"trying","sample":{...}}
//   {"at":"finding",...} {"at":"note","text":...} {"at":"skip","reason":...}
//   {"at":"samples","count":n} {"at":"comparison","document":{...}}
//   {"at":"done","item":i} {"at":"end"}
void check_targets_here(const WorkerOptions& options,
                        const std::function<void(const std::string&)>& say);
int run_check_worker(const WorkerOptions& options);

}  // namespace cli
