// Counting what a document can have at most, in one pass over its text.
#include "bounded_json.hpp"

#include <algorithm>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

constexpr size_t kBytesPerValue = 600;  // the host's node, and the value made from it
constexpr size_t kAllowance = size_t{16} << 20;

// Each comma or bracket outside of a string begins a value at most.
size_t most_values_of(std::string_view text) {
  size_t values = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' || text[i] == '[' || text[i] == '{') ++values;
    if (text[i] != '"') continue;
    for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
  }
  return values;
}

}  // namespace

Json parse_bounded(std::string_view text) {
  const size_t values = most_values_of(text), most = (text.size() + kAllowance) / kBytesPerValue;
  if (values > most) {
    throw ValueError(lib::format_text(
        "a text of {} bytes with up to {} values; at most {} values are read of such a text",
        text.size(), values, most));
  }
  return Json::parse(text);
}

}  // namespace trust

TENON_NAMESPACE_END
