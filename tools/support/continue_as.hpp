// Commands that are programs beside `tenon`, built and installed only where they are used.
#pragma once

#include <string>
#include <vector>

namespace cli {

// Becomes `program`, which is beside this one, with the mode and these words as its arguments: in the same process, so that
// signals, debuggers and the caller see it. Throws IOError, which names the target that builds it.
[[noreturn]] void continue_as(const std::string& program, const std::string& target,
                              const std::string& mode, std::vector<std::string> words);

}  // namespace cli
