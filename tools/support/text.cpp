// Small text helpers.
#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "format.hpp"

namespace cli {

namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

int64_t display_width(std::string_view text) {
  return std::count_if(text.begin(), text.end(), starts_character);
}

std::string leading(std::string_view text, int64_t characters) {
  size_t end = 0;
  while (end < text.size() && (characters > 0 || !starts_character(text[end]))) {
    if (starts_character(text[end])) --characters;
    ++end;
  }
  return std::string(text.substr(0, end));
}

std::string fixed(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

std::string loss_text(double loss) {
  if (std::fabs(loss) < 1e6 || !std::isfinite(loss)) return fixed(loss, 4);
  char text[32];
  std::snprintf(text, sizeof text, "%.4e", loss);
  return text;
}

std::string short_number(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

std::string file_size(int64_t bytes) {
  if (bytes < 1000) return counted(bytes, "byte");
  const char* const units[] = {"KB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  while (size >= 999.5 && unit < 3) {
    size /= 1000;
    ++unit;
  }
  return format_text("{} {}", fixed(size, size < 9.95 ? 1 : 0), units[unit]);
}

std::string duration(double seconds) {
  if (seconds < 59.995) return format_text("{} s", fixed(seconds, seconds < 9.995 ? 2 : 1));
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  char text[48];
  if (whole < 3600) {
    std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(whole / 3600),
                  static_cast<int>(whole / 60 % 60), static_cast<int>(whole % 60));
  }
  return text;
}

std::string percent(double fraction) { return format_text("{} %", fixed(100 * fraction, 2)); }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string markup_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    const auto length = static_cast<size_t>(display_width(word));
    if (column > indent && column + 1 + length > width) {
      out += "\n";
      column = 0;
    }
    if (column == 0) {
      out.append(indent, ' ');
      column = indent;
    } else {
      out += " ";
      ++column;
    }
    out += word;
    column += length;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return format_text("{}\n", out);
}

}  // namespace cli
