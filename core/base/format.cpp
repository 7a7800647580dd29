#define FMT_HEADER_ONLY 1  // fmt's code becomes part of this file
#include "core/base/format.hpp"

namespace tenon::core {

std::string format_arguments(fmt::string_view pattern, fmt::format_args arguments) {
  return fmt::vformat(pattern, arguments);
}

}  // namespace tenon::core
