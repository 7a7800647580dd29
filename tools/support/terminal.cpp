// Terminals: what they can, and writing to them.
#include "terminal.hpp"

#include <cstdlib>
#include <random>
#include <string>
#include <unistd.h>

#include <sys/ioctl.h>

#include <tenon/text.hpp>

namespace cli {

namespace {

// Styles travel through texts as marks: a token that is drawn when the program starts, so that no
// file can hold it, and a letter for the style.
const std::string& mark_token() {
  static const std::string token = [] {
    std::random_device random;
    std::string text = "\xFF";
    for (int i = 0; i < 4; ++i) text += std::to_string(random()) + '\xFF';
    return text;
  }();
  return token;
}

std::string mark(Style style) {
  return mark_token() + static_cast<char>('0' + static_cast<int>(style));
}

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
      return "\033[0m";
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

bool can_redraw(FILE* stream) { return is_terminal(stream) && environment("TERM") != "dumb"; }

std::string paint(FILE* stream, Style style, std::string_view text) {
  if (style == Style::plain || text.empty() || !has_colour(stream)) return std::string(text);
  return mark(style).append(text) + mark(Style::plain);
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
  const std::string& token = mark_token();
  std::string out;
  for (size_t at = text.find(token); at != text.npos; at = text.find(token)) {
    out += tenon::printable(text.substr(0, at));
    out += code_of(static_cast<Style>(text[at + token.size()] - '0'));
    text.remove_prefix(at + token.size() + 1);
  }
  out += tenon::printable(text);
  std::fwrite(out.data(), 1, out.size(), stream);
}

std::string plain_text(std::string_view text) {
  const std::string& token = mark_token();
  std::string out;
  for (size_t at = text.find(token); at != text.npos; at = text.find(token)) {
    out += tenon::printable(text.substr(0, at));
    text.remove_prefix(at + token.size() + 1);
  }
  return out += tenon::printable(text);
}

bool finish_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace cli
