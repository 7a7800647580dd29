// Whether the code of a plugin can be unmapped once nothing of Tenon uses it, read from the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/facts/byte_source.hpp"

namespace tenon::core {

// Errs on the side of staying mapped: a file that could start a thread is taken to have started one.
struct UnmapVerdict {
  // Reasons that keep it mapped: the system's loader does not unmap it, or code outside of it may
  // still call into it. Empty: it can be unmapped.
  std::vector<std::string> reasons;
  bool can_unmap() const { return reasons.empty(); }
};

// The reason that keeps any plugin with types: each tensor names its type by id, also one without a
// payload, so that no count of payloads shows when the last of them is gone.
inline constexpr std::string_view kKeptByTypes =
    "it has tensor types, which stay as long as the process";

// Throws PluginError, stage read, for what is not a shared library of this machine.
UnmapVerdict judge_unmapping(const ByteSource& source, const std::string& path);

}  // namespace tenon::core
