// The message about a device that is not there.
#pragma once

#include <string>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

inline std::string unknown_device(const std::string& name) {
  return lib::format_text(
      "no device is named {}; expected cpu, or NAME or NAME:0 with the tensor type that a plugin "
      "provides for its device: `tenon types` lists types",
      lib::quote(name));
}

}  // namespace training

TENON_NAMESPACE_END
