// The message about a device that is not there.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// Devices by the types that plugins declare, loaded or not; cpu is first.
inline std::vector<std::string> device_kinds() {
  std::set<std::string> kinds;
  const Json plugins = document(Document::facts);
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const Json types = plugins[i]["facts"]["types"];
    for (int64_t k = 0; k < types.size(); ++k) {
      if ((types[k]["flags"].integer() & TENON_TYPE_OWN_MEMORY) != 0)
        kinds.insert(types[k]["name"].text());
    }
  }
  std::vector<std::string> list{"cpu"};
  list.insert(list.end(), kinds.begin(), kinds.end());
  return list;
}

inline std::string unknown_device(const std::string& name) {
  const std::string kind = name.substr(0, name.find(':'));
  std::string expected, near;
  const std::vector<std::string> kinds = device_kinds();
  for (const std::string& one : kinds) expected += (expected.empty() ? "" : ", ") + one;
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) near = suggestion(kind, kinds);
  return lib::format_text(
      "no device is named {}{}; expected {}, or one of several by its number, NAME:1; devices are "
      "types of plugins, which `tenon types` lists",
      lib::quote(name), near, expected);
}

}  // namespace training

TENON_NAMESPACE_END
