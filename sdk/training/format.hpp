// Texts from patterns: format_text("'{}' has {} rows, expected {}", path, rows, expected).
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

inline std::string format_text(std::string_view pattern) { return std::string(pattern); }

// Each {} is the next argument: a text or an integer.
template <class First, class... Rest>
std::string format_text(std::string_view pattern, const First& first, const Rest&... rest) {
  const size_t at = pattern.find("{}");
  if (at == std::string_view::npos) return std::string(pattern);
  std::string text(pattern.substr(0, at));
  if constexpr (std::is_arithmetic_v<First>)
    text += std::to_string(first);
  else
    text += std::string_view(first);
  return text + format_text(pattern.substr(at + 2), rest...);
}

}  // namespace training

TENON_NAMESPACE_END
