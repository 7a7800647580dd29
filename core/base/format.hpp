// Texts from patterns, which are checked when they are compiled:
//   format_text("{}(): expected {} dimensions, got {}", op, expected, rank)
// fmt's code is compiled in format.cpp alone; this header costs other files its declarations.
#pragma once

#include <string>

#include <fmt/core.h>

namespace tenon::core {

template <class... Arguments>
using FormatString = fmt::format_string<Arguments...>;

std::string format_arguments(fmt::string_view pattern, fmt::format_args arguments);

template <class... Arguments>
std::string format_text(FormatString<Arguments...> pattern, Arguments&&... arguments) {
  return format_arguments(pattern, fmt::make_format_args(arguments...));
}

}  // namespace tenon::core
