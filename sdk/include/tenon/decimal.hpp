// A floating-point number in text, in no locale.
#pragma once

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <locale.h>
#include <string>
#include <string_view>
#include <system_error>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN

namespace data {

struct Decimal {
  double value;
  const char* stop;  // the first character that is not part of the number
  std::errc error;   // none, invalid_argument or result_out_of_range
};

// For a library whose std::from_chars takes integers alone (libc++ before LLVM 20). strtod needs
// an end, so the characters that a number can have are copied.
inline Decimal decimal_by_strtod(const char* first, const char* last) {
  static const locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
  constexpr std::string_view taken = "0123456789+-.eEaAfFiInNtTyY";
  const char* end = first;
  while (end != last && taken.find(*end) != std::string_view::npos) ++end;
  const std::string text(first, end);
  errno = 0;
  char* stop = nullptr;
  const double value = strtod_l(text.c_str(), &stop, classic);
  if (stop == text.c_str() || text[0] == '+') return {0, first, std::errc::invalid_argument};
  const bool beyond = errno == ERANGE && (value == 0 || std::isinf(value));
  return {value, first + (stop - text.c_str()),
          beyond ? std::errc::result_out_of_range : std::errc()};
}

// As std::from_chars: no leading blanks, no '+', no hexadecimal digits.
inline Decimal decimal(const char* first, const char* last) {
#ifdef __cpp_lib_to_chars
  Decimal number{0, first, {}};
  const auto [stop, error] = std::from_chars(first, last, number.value);
  number.stop = stop;
  number.error = error;
  return number;
#else
  return decimal_by_strtod(first, last);
#endif
}

}  // namespace data

TENON_NAMESPACE_END
