// Small text helpers.
#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "format.hpp"

namespace cli {

namespace {

// A character of UTF-8 text that is valid, as `print` writes it.
struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
};
// A mark of `paint`: five bytes that UTF-8 does not have, with digits between, and a letter.
Character mark_at(std::string_view text, size_t at) {
  constexpr uint32_t kWithoutWidth = 0x200b;
  size_t end = at;
  for (int i = 0; i < 4 && end != text.npos; ++i) end = text.find('\xff', end + 1);
  if (end == text.npos || end + 2 > text.size()) return {0xff, 1};
  return {kWithoutWidth, end + 2 - at};
}
Character character_at(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  Character found{first, 1};
  if (first == 0xff) return mark_at(text, at);
  if (first < 0xc0) return found;
  const size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  found.code = first & (0xffu >> (count + 1));
  while (found.bytes < count && at + found.bytes < text.size()) {
    const auto next = static_cast<unsigned char>(text[at + found.bytes]);
    if ((next & 0xc0) != 0x80) break;
    found.code = found.code << 6 | (next & 0x3f);
    ++found.bytes;
  }
  return found;
}

struct Range {
  uint32_t first, last;
};
// Blocks of combining marks and of joiners, which take no column, and of East Asian letters and
// pictures, which take two (Unicode Standard Annex 11: W and F).
constexpr Range kWithoutColumn[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                    {0x610, 0x61a},   {0x64b, 0x65f},   {0x1ab0, 0x1aff},
                                    {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x20d0, 0x20ff},
                                    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
constexpr Range kOfTwoColumns[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
    {0x2614, 0x2615},   {0x26a1, 0x26a1},   {0x2705, 0x2705},   {0x274c, 0x274c},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x1b2ff}, {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

int64_t columns_of(uint32_t code) {
  const auto has = [&](const Range& range) { return code >= range.first && code <= range.last; };
  if (code < 0x300) return 1;
  if (std::any_of(std::begin(kWithoutColumn), std::end(kWithoutColumn), has)) return 0;
  return std::any_of(std::begin(kOfTwoColumns), std::end(kOfTwoColumns), has) ? 2 : 1;
}

// Bytes of `text` that fit into `columns`, and where a line of at most these may end: behind a space,
// else behind a comma, slash or dot, else at the last column.
size_t line_end(std::string_view text, int64_t columns) {
  size_t at = 0, space = 0, sign = 0;
  while (at < text.size()) {
    const Character next = character_at(text, at);
    const int64_t width = columns_of(next.code);
    if (width > columns) {
      if (text[at] == ' ') return at;
      return space > 0 ? space : sign > 0 ? sign : std::max(at, next.bytes);
    }
    columns -= width;
    at += next.bytes;
    if (next.code == ' ') space = at;
    if (next.code == ',' || next.code == '/' || next.code == '.') sign = at;
  }
  return at;
}

std::string_view without_spaces_behind(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

int64_t display_width(std::string_view text) {
  int64_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    columns += columns_of(next.code);
    at += next.bytes;
  }
  return columns;
}

std::string leading(std::string_view text, int64_t columns) {
  size_t end = 0;
  while (end < text.size()) {
    const Character next = character_at(text, end);
    columns -= columns_of(next.code);
    if (columns < 0) break;
    end += next.bytes;
  }
  return std::string(text.substr(0, end));
}

std::vector<std::string> lines_of(std::string_view text, int64_t columns, int64_t hanging) {
  if (columns <= 0) return {std::string(text)};
  std::vector<std::string> lines;
  int64_t indent = 0;
  do {
    const size_t end = line_end(text, std::max<int64_t>(1, columns - indent));
    lines.emplace_back(static_cast<size_t>(indent), ' ');
    lines.back() += without_spaces_behind(text.substr(0, end));
    text.remove_prefix(end);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    indent = std::min(hanging, columns / 2);
  } while (!text.empty());
  return lines;
}

std::string fitted(std::string_view text, int64_t columns) {
  constexpr size_t kFarthest = 24;  // a second column behind it is part of the sentence
  if (columns <= 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view words = line.substr(indent);
    const size_t gap = words.find("  ");
    const size_t second = gap == words.npos ? words.npos : words.find_first_not_of(' ', gap);
    const auto inner = std::max<int64_t>(1, columns - static_cast<int64_t>(indent));
    const std::vector<std::string> lines =
        lines_of(words, inner, second <= kFarthest ? static_cast<int64_t>(second) : 2);
    for (const std::string& one : lines) {
      if (&one != lines.data()) out += '\n';
      if (!one.empty()) out.append(indent, ' ') += one;
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
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

std::string suggested(const std::string& word, const std::vector<std::string>& names) {
  const std::string* shortest = nullptr;
  for (const std::string& name : names) {
    if (word.size() >= 3 && lower(name).starts_with(lower(word)) &&
        (shortest == nullptr || name.size() < shortest->size()))
      shortest = &name;
  }
  return shortest == nullptr ? tenon::suggestion(word, names)
                             : format_text(" (did you mean '{}'?)", *shortest);
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
