// Builds of plugins and features of the processor: what a saved list was made with, to compare.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

// The build id in an ELF file's notes, in hexadecimal digits; empty where there is none.
std::string build_id(std::string_view file);

struct PluginBuild {
  std::string id, version;
  std::string build;  // "build-id:..." of the file, or its "sha256:..." where it has none
};
// The plugins that are used under these ids; PluginError where there is none.
std::vector<PluginBuild> find_builds(const std::vector<std::string>& ids);

// Instructions that kernels choose by: level of the host's loops, and those that the system reports.
std::string processor_text();

}  // namespace prepared

TENON_NAMESPACE_END
