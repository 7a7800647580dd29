// Values as arguments of fmt, with the options of texts: width, fill, alignment and precision.
//
//   fmt::format("{} of {}", x, x.shape())        "tensor([1., 2.]) of [2]"
//   fmt::format("{:>6}", x.dtype())              "   f32"
//
// Values of print.hpp's kinds. The SDK includes no fmt: include this header behind <fmt/core.h> or another
// header of it; without one in front it has nothing.
#pragma once

#include "tenon/shown.hpp"

#ifdef FMT_VERSION

template <class T>
struct fmt::formatter<T, char, std::enable_if_t<tenon::detail::is_shown<T>>>
    : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    const std::string text = tenon::detail::shown_text(value);
    return fmt::formatter<fmt::string_view>::format(fmt::string_view(text.data(), text.size()),
                                                    context);
  }
};

FMT_BEGIN_NAMESPACE
// Lists are formatted above, also where fmt/ranges.h is included.
template <typename T, typename Char>
struct is_range;
template <class T>
struct is_range<tenon::Span<T>, char> {
  static constexpr bool value = false;
};
FMT_END_NAMESPACE

#endif  // FMT_VERSION
