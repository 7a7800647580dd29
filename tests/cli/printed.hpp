// Whether a terminal would show a text and obey nothing in it.
#pragma once

#include <string>

inline bool is_printable(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) return false;
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    const auto third = i + 2 < text.size() ? static_cast<unsigned char>(text[i + 2]) : 0U;
    if (byte == 0xC2 && next < 0xA0) return false;
    if (byte == 0xE2 && next == 0x80 && (third == 0x8E || third == 0x8F || third >= 0xA8)) {
      if (third <= 0xAE) return false;
    }
    if (byte == 0xE2 && next == 0x81 && third >= 0xA6 && third <= 0xA9) return false;
  }
  return true;
}
