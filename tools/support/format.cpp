// The one file of the program that compiles fmt.
#define FMT_HEADER_ONLY 1  // fmt's code becomes part of this file
#include "format.hpp"

namespace cli {

std::string format_arguments(fmt::string_view pattern, fmt::format_args arguments) {
  return fmt::vformat(pattern, arguments);
}

}  // namespace cli
