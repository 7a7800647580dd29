// Dtypes by the names that people write, short or long.
#pragma once

#include <optional>
#include <string>

#include <tenon/value.hpp>

namespace cli {

// Nothing for a text that is not the name of a dtype.
inline std::optional<tenon::DType> dtype_named(const std::string& name) {
#define TENON_MATCH(constant, code, bytes, type, text, ...) \
  if (name == text) return static_cast<tenon::DType>(code);
  TENON_ALL_DTYPES(TENON_MATCH)
#undef TENON_MATCH
#define TENON_MATCH(constant, text) \
  if (name == text) return static_cast<tenon::DType>(TENON_##constant);
  TENON_DTYPE_LONG_NAMES(TENON_MATCH)
#undef TENON_MATCH
  return std::nullopt;
}

}  // namespace cli
