// Storage of a document's nodes. Private to json*.cpp.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.hpp"

namespace tenon::core {

// Children of a node are side by side in `nodes`, after the children of their siblings; the root is
// last.
struct JsonDocument {
  std::atomic<int64_t> references{1};
  std::vector<tenon_json> nodes;
  std::string text;              // keys and strings
  std::vector<uint32_t> sorted;  // for large objects: child positions in the order of their keys
  std::string source;

  std::string_view view(uint32_t offset, uint32_t length) const {
    return std::string_view(text).substr(offset, length);
  }
};

}  // namespace tenon::core
