#define FMT_HEADER_ONLY 1  // fmt's code becomes part of this file
#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace lib {

std::string format_arguments(fmt::string_view pattern, fmt::format_args arguments) {
  return fmt::vformat(pattern, arguments);
}

}  // namespace lib

TENON_NAMESPACE_END
