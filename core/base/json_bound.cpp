// Counting what a document can have at most, in one pass over its text.
#include "core/base/json_bound.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

// A node is in two places while nodes are put side by side, in lists that double; keys are sorted.
constexpr size_t kBytesPerValue = 5 * sizeof(tenon_json);
constexpr size_t kAllowance = size_t{16} << 20;

// Each comma or bracket begins a value at most.
struct Extent {
  size_t values = 1;
  size_t text = 0;  // bytes of keys and strings
};
Extent extent_of(std::string_view source) {
  Extent extent;
  for (size_t i = 0; i < source.size(); ++i) {
    const char letter = source[i];
    if (letter == ',' || letter == '[' || letter == '{') ++extent.values;
    if (letter != '"') continue;
    const size_t begin = ++i;
    while (i < source.size() && source[i] != '"') i += source[i] == '\\' ? 2 : 1;
    extent.text += std::min(i, source.size()) - begin;
  }
  return extent;
}

}  // namespace

void require_bounded(std::string_view text, const JsonOptions& options, size_t bytes_per_value) {
  const Extent extent = extent_of(text);
  const size_t most = (text.size() + kAllowance - extent.text) / (kBytesPerValue + bytes_per_value);
  if (extent.values <= most) return;
  throw Error(options.kind,
              "{}a text of {} bytes with up to {} values; at most {} values are read of such a "
              "text: split it into several",
              options.source.empty() ? "" : format_text("{}: ", escaped(options.source)),
              text.size(), extent.values, most);
}

}  // namespace tenon::core
