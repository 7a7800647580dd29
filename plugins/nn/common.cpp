// What the ops of this plugin share: refusals, reductions by name, shapes.
#include "common.hpp"

namespace nn {

void throw_setting(const char* op, const char* name, int64_t value, int64_t least) {
  throw tenon::ValueError(std::string(op) + "(): " + name + " must be from " +
                          std::to_string(least) + " to " + std::to_string(largest_setting) +
                          ", got " + std::to_string(value));
}

Reduction parse_reduction(const char* op, std::string_view text) {
  if (text == "mean") return Reduction::mean;
  if (text == "sum") return Reduction::sum;
  if (text == "none") return Reduction::none;
  throw tenon::ValueError(std::string(op) + "(): '" + std::string(text) +
                          "' is not a valid reduction; choose none, mean or sum");
}

}  // namespace nn
