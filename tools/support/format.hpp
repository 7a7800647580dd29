// Texts from patterns, which are checked when they are compiled:
//   format_text("'{}' has {} rows, expected {}", path, rows, expected)
#pragma once

#include <string>

#include <fmt/core.h>

namespace cli {

std::string format_arguments(fmt::string_view pattern, fmt::format_args arguments);

template <class... Arguments>
std::string format_text(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  return format_arguments(pattern, fmt::make_format_args(arguments...));
}

}  // namespace cli
