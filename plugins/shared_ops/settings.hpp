// Checks of strides, dilations, paddings and windows.
#pragma once

#include <string>

#include <tenon/plugin.hpp>

namespace nn {

// Products and sums of a few settings stay in range.
inline constexpr int64_t largest_setting = INT32_MAX;

[[noreturn, gnu::cold]] inline void throw_setting(const char* op, const char* name, int64_t value,
                                                  int64_t least) {
  throw tenon::ValueError(std::string(op) + "(): " + name + " must be from " +
                          std::to_string(least) + " to " + std::to_string(largest_setting) +
                          ", got " + std::to_string(value));
}
inline void check_setting(const char* op, const char* name, int64_t value, int64_t least) {
  if (__builtin_expect(value < least || value > largest_setting, 0))
    throw_setting(op, name, value, least);
}

// The unit of spatial dimension `d` of three in messages.
inline const char* unit_of(int d) { return d == 0 ? " slices" : d == 1 ? " rows" : " columns"; }

}  // namespace nn
