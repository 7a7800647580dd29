#include "op_document.hpp"

#include <algorithm>

#include <tenon/listing/listing.hpp>
#include <tenon/text.hpp>

#include "format.hpp"

namespace cli {

using tenon::Json;

namespace {

bool has_name(const Json& list, const char* key, const std::string& name) {
  const std::string end = format_text(".{}", name);
  for (int64_t i = 0; i < list.size(); ++i) {
    const std::string one = list[i][key].text();
    if (one == name || one.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

Json op_document(const std::string& name) {
  const std::vector<std::string> names = tenon::listing::op_names();
  const std::string end = format_text(".{}", name);
  const bool known = std::any_of(names.begin(), names.end(), [&](const std::string& one) {
    return one == name || one.ends_with(end);
  });
  if (!known) {
    const char* const kind = has_name(tenon::listing::modules(), "name", name) ? "module"
                             : has_name(tenon::listing::types(), "name", name) ? "tensor type"
                             : has_name(tenon::listing::plugins(), "id", name) ? "plugin"
                                                                               : nullptr;
    if (kind != nullptr)
      throw tenon::ValueError(
          format_text("no op is named '{}': it is a {}, see `tenon show {}`", name, kind, name));
  }
  return tenon::listing::op(name);
}

}  // namespace cli
