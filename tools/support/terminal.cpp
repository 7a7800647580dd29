// Terminals: what they can, and writing to them.
#include "terminal.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <random>
#include <string>
#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <tenon/text.hpp>

#include "text.hpp"

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

Colour colour_setting = Colour::automatic;
bool pages_allowed = true;

// The pager that standard output goes to; it shows what it gets on a terminal of this width.
struct Pager {
  pid_t process = 0;  // 0: none
  int width = 0;
};
Pager pager;

bool has_colour(FILE* stream) {
  if (colour_setting != Colour::automatic) return colour_setting == Colour::always;
  // https://no-color.org: any text that is not empty.
  return is_terminal(stream) && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
}

std::string pager_command() {
  for (const char* name : {"TENON_PAGER", "PAGER"}) {
    if (secure_getenv(name) != nullptr) return std::string(environment(name));
  }
  return "less";
}

// Whether the shell finds the program that the command begins with; a command that only a shell can read
// is taken as it is. An environment without a pager, as in small containers, still shows its listings.
bool is_found(const std::string& command) {
  const size_t start = command.find_first_not_of(' ');
  const std::string word = command.substr(start, command.find(' ', start) - start);
  if (word.find_first_of("'\"\\$`|&;<>()=~*?[#") != word.npos) return true;
  if (word.find('/') != word.npos) return access(word.c_str(), X_OK) == 0;
  std::string_view path = environment("PATH");
  while (!path.empty()) {
    const size_t end = std::min(path.find(':'), path.size());
    const std::string folder(path.substr(0, end));
    if (access((folder.empty() ? word : folder + "/" + word).c_str(), X_OK) == 0) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

// Whether the pager has taken everything, or has as much as its reader wants to see.
bool finish_pager() {
  std::fflush(stdout);
  close(STDOUT_FILENO);
  std::signal(SIGINT, SIG_IGN);  // it is for the pager
  int status = 0;
  while (waitpid(pager.process, &status, 0) < 0 && errno == EINTR) {
  }
  pager.process = 0;
  return true;
}

}  // namespace

void set_colour(Colour colour) { colour_setting = colour; }
void disable_pager() { pages_allowed = false; }

bool is_terminal(FILE* stream) {
  return (stream == stdout && pager.process != 0) || isatty(fileno(stream)) != 0;
}

bool can_redraw(FILE* stream) { return is_terminal(stream) && environment("TERM") != "dumb"; }

std::string paint(FILE* stream, Style style, std::string_view text) {
  if (style == Style::plain || text.empty() || !has_colour(stream)) return std::string(text);
  return mark(style).append(text) + mark(Style::plain);
}

int terminal_width(FILE* stream) {
  if (stream == stdout && pager.process != 0) return pager.width;
  if (!is_terminal(stream)) return 0;
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

int output_width() {
  constexpr int kNarrowest = 20, kWidest = 10000;
  const std::string_view columns = environment("COLUMNS");
  int width = 0;
  const auto [stop, fault] =
      std::from_chars(columns.data(), columns.data() + columns.size(), width);
  if (fault != std::errc() || stop != columns.data() + columns.size() || width <= 0)
    width = terminal_width(stdout);
  return width <= 0 ? 0 : std::clamp(width, kNarrowest, kWidest);
}

size_t line_width(size_t widest) {
  const int width = output_width();
  return width == 0 ? widest : std::min(widest, static_cast<size_t>(width));
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

void print_fitted(std::string_view text) { print(stdout, fitted(text, output_width())); }

std::string plain_text(std::string_view text) {
  const std::string& token = mark_token();
  std::string out;
  for (size_t at = text.find(token); at != text.npos; at = text.find(token)) {
    out += tenon::printable(text.substr(0, at));
    text.remove_prefix(at + token.size() + 1);
  }
  return out += tenon::printable(text);
}

void page_output() {
  if (!pages_allowed || pager.process != 0 || !can_redraw(stdout)) return;
  const std::string command = pager_command();
  if (command.find_first_not_of(' ') == command.npos || command == "cat" || !is_found(command))
    return;
  const int width = terminal_width(stdout);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], STDIN_FILENO);
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  if (child > 0) {
    // Colour is decided before standard output is a pipe.
    colour_setting = has_colour(stdout) ? Colour::always : Colour::never;
    dup2(ends[1], STDOUT_FILENO);
    pager = {child, width};
    std::signal(SIGPIPE, SIG_IGN);  // the reader has seen enough
  }
  close(ends[0]);
  close(ends[1]);
}

bool finish_output() {
  if (pager.process != 0) return finish_pager();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace cli
