// Integers of documents that are not trusted.
#pragma once

#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

// ValueError names what it is.
inline int64_t read_integer(const Json& document, int64_t least, int64_t most, const char* what) {
  const int64_t number = document.is_integer() ? document.integer() : 0;
  if (!document.is_integer() || number < least || number > most)
    throw ValueError(lib::format_text("{} must be an integer from {} to {}, got {}", what, least,
                                      most, document.defined() ? document.dump() : "nothing"));
  return number;
}

inline std::vector<int64_t> read_integers(const Json& document) {
  if (!document.is_array())
    throw ValueError(lib::format_text("expected a list of integers, got {}",
                                      document.defined() ? document.dump() : "nothing"));
  std::vector<int64_t> list;
  for (int64_t i = 0; i < document.size(); ++i)
    list.push_back(read_integer(document[i], INT64_MIN, INT64_MAX, "an element of a list"));
  return list;
}

}  // namespace prepared

TENON_NAMESPACE_END
