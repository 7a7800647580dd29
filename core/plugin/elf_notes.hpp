// The facts in a shared library's ELF notes, found through its program headers.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/plugin/byte_source.hpp"

namespace tenon::core {

// Calls `take` with the payload of each Tenon note, in file order; the text is valid during the
// call. Every file is treated as hostile: whatever it claims is checked against its size and the
// limits of facts.h. Throws PluginError (stage read) for a file that is not a shared library for
// this machine, is truncated, or has no facts. `path` is for messages.
void read_fact_payloads(const ByteSource& source, const std::string& path,
                        const std::function<void(std::string_view)>& take);

}  // namespace tenon::core
