// PNG files for tests, made byte by byte so that no library of the code under test takes part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace png {

inline std::string number(uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
  return text;
}

inline uint32_t crc(std::string_view bytes) {
  uint32_t sum = 0xffffffff;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (0xedb88320 & (0U - (sum & 1)));
  }
  return ~sum;
}

inline std::string chunk(const std::string& type, const std::string& data) {
  return number(static_cast<uint32_t>(data.size())) + type + data + number(crc(type + data));
}

// A file of 8 bits for each channel: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA. `pixels` are row by row.
inline std::string file(uint32_t width, uint32_t height, int channels, const std::string& pixels) {
  std::string rows;
  const size_t length = static_cast<size_t>(width) * static_cast<size_t>(channels);
  for (uint32_t row = 0; row < height; ++row) rows += '\0' + pixels.substr(row * length, length);
  // zlib's format around one stored block.
  const auto size = static_cast<uint16_t>(rows.size());
  const auto low = [](uint16_t value) {
    return std::string{static_cast<char>(value & 0xff), static_cast<char>(value >> 8)};
  };
  uint32_t a = 1, b = 0;
  for (const char byte : rows) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  const std::string data = std::string("\x78\x01\x01", 3) + low(size) +
                           low(static_cast<uint16_t>(~size)) + rows + number(b << 16 | a);
  constexpr char colour[] = {0, 0, 4, 2, 6};
  const std::string header =
      number(width) + number(height) + '\x08' + colour[channels] + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", data) + chunk("IEND", "");
}

}  // namespace png
