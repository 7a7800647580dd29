// Texts from patterns, which are checked when they are compiled:
//   format_text("'{}' has {} rows, expected {}", path, rows, expected)
// fmt's code is compiled in format.cpp alone; this header costs other files its declarations.
#pragma once

#include <string>

#include <fmt/core.h>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace lib {

std::string format_arguments(fmt::string_view pattern, fmt::format_args arguments);

template <class... Arguments>
std::string format_text(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  return format_arguments(pattern, fmt::make_format_args(arguments...));
}

}  // namespace lib

TENON_NAMESPACE_END
