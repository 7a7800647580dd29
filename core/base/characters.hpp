// Single characters of text: those of ASCII, whatever the locale is, and the bytes of UTF-8.
#pragma once

namespace tenon::core {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// Whether a character can begin a name, or be in one.
constexpr bool begins_name(char c) { return is_letter(c) || c == '_'; }
constexpr bool is_of_name(char c) { return begins_name(c) || is_digit(c); }

constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// The value of a hexadecimal digit of either case; -1 for another character.
constexpr int hexadecimal(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = lower_case(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Whether the byte belongs to the character of UTF-8 that an earlier one begins.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
}

}  // namespace tenon::core
