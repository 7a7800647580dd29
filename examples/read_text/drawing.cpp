#include "drawing.hpp"

#include <sstream>

namespace {

std::string base64(const std::string& bytes) {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t three = 0;
    for (size_t i = 0; i < 3; ++i) {
      three <<= 8;
      if (at + i < bytes.size()) three |= static_cast<unsigned char>(bytes[at + i]);
    }
    for (size_t i = 0; i < 4; ++i)
      text += at + i <= bytes.size() ? digits[three >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string draw_boxes(const std::vector<Box>& boxes, const std::string& png, int64_t height,
                       int64_t width) {
  std::ostringstream svg;
  const std::string size =
      "width=\"" + std::to_string(width) + "\" height=\"" + std::to_string(height) + "\"";
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" " << size << ">\n"
      << "<image " << size << " href=\"data:image/png;base64," << base64(png) << "\"/>\n"
      << "<g fill=\"none\" stroke=\"#d22\" stroke-width=\"2\">\n";
  for (const Box& box : boxes) {
    svg << "<rect x=\"" << box.left << "\" y=\"" << box.top << "\" width=\"" << box.right - box.left
        << "\" height=\"" << box.bottom - box.top << "\"/>\n";
  }
  svg << "</g>\n</svg>\n";
  return svg.str();
}
