// Small text helpers.
#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace cli {

namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Letters to insert, delete, replace or swap with a neighbour.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

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

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  const size_t sign = number < 0 ? 1 : 0;
  for (size_t at = text.size(); at > sign + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string fixed(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

std::string short_number(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

std::string counted(int64_t count, std::string_view noun) {
  return grouped(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
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
  return fixed(size, size < 9.95 ? 1 : 0) + " " + units[unit];
}

std::string duration(double seconds) {
  if (seconds < 59.995) return fixed(seconds, seconds < 9.995 ? 2 : 1) + " s";
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

std::string percent(double fraction) { return fixed(100 * fraction, 2) + " %"; }

std::string escaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xC2 ? 0
                          : lead < 0xE0 ? 2
                          : lead < 0xF0 ? 3
                          : lead < 0xF5 ? 4
                                        : 0;
    unsigned code = length < 2 ? lead : lead & (0xFFU >> (length + 1));
    bool whole = length > 0 && i + length <= text.size();
    for (size_t k = 1; whole && k < length; ++k) {
      whole = !starts_character(text[i + k]);
      code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
    }
    const bool control = (code < 0x20 && code != '\n' && code != '\t') ||
                         (code >= 0x7F && code < 0xA0) || code == 0x61C || code == 0x200E ||
                         code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
                         (code >= 0x2066 && code <= 0x2069);
    if (whole && !control) {
      out += text.substr(i, length);
      i += length;
      continue;
    }
    char escape[8];
    if (whole && code > 0xFF)
      std::snprintf(escape, sizeof escape, "\\u%04x", code & 0xFFFFU);
    else
      std::snprintf(escape, sizeof escape, "\\x%02x", (whole ? code : lead) & 0xFFU);
    out += escape;
    i += whole ? length : 1;
  }
  return out;
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}
bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
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
  return out + "\n";
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string asked = lower(word);
  const std::string* best = nullptr;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string known = lower(candidate);
    // The last part alone is what people type.
    const size_t dot = known.rfind('.');
    size_t found = edits(asked, known);
    if (dot != std::string::npos) found = std::min(found, edits(asked, known.substr(dot + 1)));
    // Of two as near, the shorter: 'mul' before 'mul_'.
    if (found < fewest || (best != nullptr && found == fewest && candidate.size() < best->size())) {
      fewest = found;
      best = &candidate;
    }
  }
  return best == nullptr ? "" : " (did you mean '" + *best + "'?)";
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json_number(double number) {
  return std::isfinite(number) ? short_number(number) : "null";
}

}  // namespace cli
