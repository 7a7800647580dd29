// Terminals: what they can, and writing to them.
#include "terminal.hpp"

#include <cstdlib>
#include <string>
#include <unistd.h>

#include <sys/ioctl.h>

#include "text.hpp"

namespace cli {

namespace {

// Styles travel through texts as bytes that no UTF-8 text has, so that nothing that is printed can
// take their place.
constexpr unsigned char kFirstMark = 0xF8;
constexpr char kEndMark = '\xFF';

const char* code_of(Style style) {
  switch (style) {
    case Style::bold:
      return "\033[1m";
    case Style::dim:
      return "\033[2m";
    case Style::red:
      return "\033[31m";
    case Style::green:
      return "\033[32m";
    case Style::yellow:
      return "\033[33m";
    case Style::cyan:
      return "\033[36m";
    default:
      return "";
  }
}

std::string_view environment(const char* name) {
  const char* text = secure_getenv(name);  // a program with elevated rights trusts no environment
  return text == nullptr ? "" : text;
}

bool has_colour(FILE* stream) {
  // https://no-color.org: any text that is not empty.
  return is_terminal(stream) && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
}

}  // namespace

bool is_terminal(FILE* stream) { return isatty(fileno(stream)) != 0; }

std::string paint(FILE* stream, Style style, std::string_view text) {
  if (style == Style::plain || text.empty() || !has_colour(stream)) return std::string(text);
  std::string marked(1, static_cast<char>(kFirstMark + static_cast<unsigned>(style)));
  return marked.append(text) + kEndMark;
}

int terminal_width(FILE* stream) {
  if (!is_terminal(stream)) return 0;
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool shows_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = environment(name);
    if (locale.empty()) continue;
    return locale.find("UTF-8") != std::string_view::npos ||
           locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

void print(std::string_view text) { print(stdout, text); }

void print(FILE* stream, std::string_view text) {
  std::string out;
  const bool colour = has_colour(stream);
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const auto byte = i < text.size() ? static_cast<unsigned char>(text[i]) : kFirstMark;
    // Marks are made for terminals alone: elsewhere such bytes are text.
    if (i < text.size() && (byte < kFirstMark || !colour)) continue;
    out += escaped(text.substr(begin, i - begin));
    begin = i + 1;
    if (i < text.size())
      out += text[i] == kEndMark ? "\033[0m" : code_of(static_cast<Style>(byte - kFirstMark));
  }
  std::fwrite(out.data(), 1, out.size(), stream);
}

bool finish_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace cli
