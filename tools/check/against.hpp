// Two providers of an op, each in a separate process, called with the same inputs.
#pragma once

#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "item.hpp"
#include "worker.hpp"

namespace cli {

// An op of the checked plugin that another one provides, too.
struct SharedOp {
  CheckTarget target;    // as the checked plugin declares it
  std::string provider;  // id of the other one
  tenon::Json other;     // as that declares it
};
// The ops of a plugin that others provide too, or the one of that name; each with the first of
// `providers` that has it. Throws tenon::ValueError for providers that are not known or have none
// of the ops.
std::vector<SharedOp> shared_ops(const tenon::Json& declarations, const std::string& item,
                                 const std::vector<std::string>& providers);

// Throws tenon::PluginError where calls of the op go to another plugin first.
void require_provider(const std::string& op, const std::string& plugin);

// In one process the plugin runs the ops, and what they gave is saved; in the other one the other
// providers do, and it is compared. `speaker` gets what happens; false: a plugin does not open.
bool open_providers(const WorkerOptions& options, const std::vector<SharedOp>& shared,
                    CheckListener& listener);
void record_calls(const SharedOp& shared, const CheckSettings& settings, CheckListener& listener);
void compare_calls(const SharedOp& shared, const std::string& plugin, const CheckSettings& settings,
                   CheckListener& listener);

}  // namespace cli
