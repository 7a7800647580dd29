// Dtypes by the names that documents and people give them.
#pragma once

#include <optional>
#include <string_view>

#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN

// The dtype of a name, short or long: "f32", "float32". Nothing for another text. Any thread.
inline std::optional<DType> dtype_named(std::string_view name) {
#define TENON_MATCH(constant, code, bytes, type, text, ...) \
  if (name == (text)) return static_cast<DType>(code);
  TENON_ALL_DTYPES(TENON_MATCH)
#undef TENON_MATCH
#define TENON_MATCH(constant, text) \
  if (name == (text)) return static_cast<DType>(TENON_##constant);
  TENON_DTYPE_LONG_NAMES(TENON_MATCH)
#undef TENON_MATCH
  return std::nullopt;
}

TENON_NAMESPACE_END
