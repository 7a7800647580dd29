// Terminals: what they can, and writing to them.
#include "terminal.hpp"

#include <cstdlib>
#include <unistd.h>

#include <sys/ioctl.h>

namespace cli {

namespace {

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
  const char* text = std::getenv(name);
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
  return code_of(style) + std::string(text) + "\033[0m";
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

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

bool finish_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace cli
