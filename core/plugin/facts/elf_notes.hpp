// The facts in a shared library's ELF notes, found through its program headers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/facts/byte_source.hpp"

namespace tenon::core {

// Calls `take` with the payload of each Tenon note, in file order; the text is valid during the
// call. Every file is treated as hostile: whatever it claims is checked against its size and the
// limits of facts.h. Throws PluginError (stage read) for a file that is not a shared library for
// this machine, is truncated, or has no facts. `path` is for messages.
void read_fact_payloads(const ByteSource& source, const std::string& path,
                        const std::function<void(std::string_view)>& take);

// Libraries that the system's loader searches before it maps the file, by its dynamic section. This
// and all below throw as read_fact_payloads does.
struct LinkedLibraries {
  std::vector<std::string> needed;    // "libblas.so.3"
  std::vector<std::string> run_path;  // folders, with $ORIGIN as it is written
};
LinkedLibraries read_linked_libraries(const ByteSource& source, const std::string& path);

// A symbol that may say whether the file can be unmapped again.
struct DynamicSymbol {
  std::string_view name;  // the beginning of a very long one; valid during the call
  bool imported;          // undefined: of another library; otherwise defined as STB_GNU_UNIQUE
};
// Calls `take` with each, in file order.
void read_dynamic_symbols(const ByteSource& source, const std::string& path,
                          const std::function<void(const DynamicSymbol&)>& take);
// DF_1_NODELETE: the system's loader never unmaps it.
bool stays_mapped(const ByteSource& source, const std::string& path);

}  // namespace tenon::core
