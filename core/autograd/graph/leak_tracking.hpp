// Live nodes by provider: what leak tests read.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "core/base/plugin_code.hpp"

namespace tenon::core {

class OpNode;

// Whether nodes made from now on are counted. Returns the previous setting. With the environment
// variable TENON_LIVE it is on from the start, and what is alive at the end of the process is
// printed.
bool track_live(bool enabled);

// [{"provider", "nodes", "saved_tensors", "saved_bytes", "ops": [{"op", "nodes"}...]}...] of the
// counted nodes that are alive. Not while a backward runs in another thread.
Json describe_live();

// Counted nodes that run the code, where each was recorded: "op 'my.add' of plugin 'my', called
// from ...", with its call where anomaly mode was on. At most 8, then how many more. Under the same
// terms.
std::vector<std::string> recorded_by(const PluginCode& code);

extern constinit std::atomic<bool> live_tracked;
void note_birth(OpNode& node);
void note_death(OpNode& node) noexcept;

}  // namespace tenon::core
