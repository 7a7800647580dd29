// A trial: a child process loads a plugin, and is watched.
#pragma once

#include <string>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/trust/load_marker.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

// How a child process that loads a plugin has ended.
struct TrialEnd {
  bool finished = false;               // false: it was stopped, after its time or from outside
  std::string text;                    // "SIGSEGV (Segmentation fault)"; empty when it is not known
  std::string output;                  // the last of it
  std::vector<std::string> backtrace;  // innermost call first
  std::vector<LeftMarker> markers;     // markers that it left
};

// Starts the program `tenon`, which applies the config, with `folder` for its state. Throws IOError when no
// process can be started.
TrialEnd run_trial(const std::string& program, const std::string& folder, const Json& config,
                   double seconds);

// The program `tenon` beside libtenon; empty when it is not there.
std::string trial_program();

}  // namespace trust

TENON_NAMESPACE_END
