// Floating-point numbers in text, in no locale, correctly rounded.
#pragma once

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <locale.h>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace data {

template <class T>
struct Decimal {
  T value;
  const char* stop;  // the first character that is not part of the number
  std::errc error;   // none, invalid_argument or result_out_of_range
};

// For a library whose std::from_chars takes integers alone (libc++ before LLVM 20). strtod needs
// an end, so the characters that a number can have are copied. Out of range, the value is 0 or
// infinite.
template <class T>
Decimal<T> decimal_by_strtod(const char* first, const char* last) {
  static const locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
  constexpr std::string_view taken = "0123456789+-.eEaAfFiInNtTyY";
  const char* end = first;
  while (end != last && taken.find(*end) != std::string_view::npos) ++end;
  const std::string text(first, end);
  errno = 0;
  char* stop = nullptr;
  T value;
  if constexpr (std::is_same_v<T, float>)
    value = strtof_l(text.c_str(), &stop, classic);
  else
    value = strtod_l(text.c_str(), &stop, classic);
  if (stop == text.c_str() || text[0] == '+') return {0, first, std::errc::invalid_argument};
  const bool beyond = errno == ERANGE && (value == 0 || std::isinf(value));
  return {value, first + (stop - text.c_str()),
          beyond ? std::errc::result_out_of_range : std::errc()};
}

// As std::from_chars: no leading blanks, no '+', no hexadecimal digits.
template <class T>
Decimal<T> decimal(const char* first, const char* last) {
#ifdef __cpp_lib_to_chars
  Decimal<T> number{0, first, {}};
  const auto [stop, error] = std::from_chars(first, last, number.value);
  number.stop = stop;
  number.error = error;
  return number;
#else
  return decimal_by_strtod<T>(first, last);
#endif
}

// Characters that quick_decimal may look at.
inline constexpr int64_t kQuickDecimal = 64;

// Digits at the beginning of a text, eight at a time.
struct Digits {
  uint64_t value = 0;
  int64_t count = 0;

  // Returns the first character that is not a digit, or one behind more than 18 of them, where the
  // value is not known.
  const char* take(const char* at) {
    static constexpr uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                          100000, 1000000, 10000000, 100000000};
    int64_t found = 0;
    do {
      uint64_t text;
      std::memcpy(&text, at, sizeof(text));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
      text = __builtin_bswap64(text);
#endif
      // Marks the bytes that are not digits, exactly up to the first of them.
      const uint64_t others =
          ((text + 0x4646464646464646u) | (text - 0x3030303030303030u)) & 0x8080808080808080u;
      found = others == 0 ? 8 : __builtin_ctzll(others) / 8;
      if (found == 0) break;
      // The digits as the last of eight, in pairs, fours, and all.
      text = (text << (64 - 8 * found)) & 0x0f0f0f0f0f0f0f0fu;
      text = (text * 10 + (text >> 8)) & 0x00ff00ff00ff00ffu;
      text = (text * 100 + (text >> 16)) & 0x0000ffff0000ffffu;
      text = (text * 10000 + (text >> 32)) & 0xffffffffu;
      value = value * powers[found] + text;
      at += found;
      count += found;
    } while (found == 8 && count <= most);
    return at;
  }
  static constexpr int64_t most = 18;
};

// The common numbers: a sign, up to 18 digits with a point among them, a small exponent. At least
// kQuickDecimal characters must be readable. Returns the first character behind the number, or null
// where `decimal` must decide: the text is another one, or rounding it takes more than two roundings
// of f64 can show.
//
// By hand, for speed: fast_float 3.9 takes 1.2 to 1.4 times as long for pixels, "%.4f" and f64 of
// "%.9g", 2.0 times for f32 of "%.9g", and 0.6 times for f64 of 17 digits (GCC 12, -O3, best of 60).
template <class T>
const char* quick_decimal(const char* first, char point, T& value) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "f32 or f64");
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr int64_t most_exponent = 22;
  const auto digit = [](const char* c) { return static_cast<unsigned>(*c) - unsigned{'0'}; };

  // Signs of data are as good as random: no branch depends on them.
  const int negative = *first == '-', positive = *first == '+';
  Digits digits;
  const char* at = digits.take(first + (negative | positive));
  int64_t exponent = 0;
  if (*at == point && digits.count <= Digits::most) {
    const char* fraction = at + 1;
    at = digits.take(fraction);
    exponent = fraction - at;
  }
  if (digits.count == 0 || digits.count > Digits::most) return nullptr;
  if (*at == 'e' || *at == 'E') {
    const bool small = at[1] == '-';
    at += small || at[1] == '+' ? 2 : 1;
    if (digit(at) > 9) return nullptr;
    int64_t stated = digit(at++);
    if (digit(at) <= 9) stated = stated * 10 + digit(at++);
    if (digit(at) <= 9) return nullptr;
    exponent += small ? -stated : stated;
  }
  if (exponent < -most_exponent || exponent > most_exponent) return nullptr;

  if (exponent == 0 && digits.value < uint64_t{1} << 24) {
    const auto whole = static_cast<T>(static_cast<int32_t>(digits.value));
    // Multiplied, not chosen: 0 gets its sign as well.
    value = whole * static_cast<T>(1 - 2 * negative);
    return at;
  }
  auto exact = static_cast<double>(static_cast<int64_t>(digits.value));
  exact = exponent < 0 ? exact / powers[-exponent] : exact * powers[exponent];
  uint64_t bits;
  std::memcpy(&bits, &exact, sizeof(bits));
  if constexpr (std::is_same_v<T, double>) {
    // One rounding: both operands are exact.
    if (digits.value > uint64_t{1} << 53) return nullptr;
  } else if (digits.value != 0) {
    // Two roundings of f64, off by less than 2 units in its last place. A third one to f32 is right
    // unless the number is as near as that to the middle between two f32.
    constexpr uint64_t below_f32 = (uint64_t{1} << 29) - 1, middle = uint64_t{1} << 28;
    if ((bits & below_f32) - (middle - 4) <= 8) return nullptr;
    if (exact < static_cast<double>(std::numeric_limits<float>::min()) * 2 ||
        exact > static_cast<double>(std::numeric_limits<float>::max()))
      return nullptr;
  }
  bits |= static_cast<uint64_t>(negative) << 63;
  std::memcpy(&exact, &bits, sizeof(bits));
  value = static_cast<T>(exact);
  return at;
}

// Whether a text is a number, as read_decimal finds.
enum class Reading : uint8_t { number, not_a_number, out_of_range };

// A text that is a finite number as a whole, with or without a sign. What is too small for T is 0.
template <class T>
Reading read_decimal(std::string_view text, char point, T& value) {
  const auto plain = [](char c) { return c >= '0' && c <= '9'; };
  const size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  if (text.size() == sign || !(plain(text[sign]) || text[sign] == point))
    return Reading::not_a_number;
  std::string changed;
  if (point != '.') {
    if (text.find('.') != text.npos) return Reading::not_a_number;
    changed = text;
    for (char& c : changed) c = c == point ? '.' : c;
    text = changed;
  }
  if (text[0] == '+') text.remove_prefix(1);
  const char* last = text.data() + text.size();
  const Decimal<T> number = decimal<T>(text.data(), last);
  if (number.error == std::errc::invalid_argument || number.stop != last)
    return Reading::not_a_number;
  value = number.value;
  if (number.error != std::errc::result_out_of_range) return Reading::number;
  value = decimal_by_strtod<T>(text.data(), last).value;
  return std::isinf(value) ? Reading::out_of_range : Reading::number;
}

}  // namespace data
