// The text of a rule that a plugin declares, read from left to right: of conversions and rewrites.
#pragma once

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/error.hpp"
#include "tenon/json.hpp"
#include "tenon/text.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

class RuleText {
 protected:
  // `kind` names the rule in faults, "the conversion"; `plugin` may be empty.
  RuleText(std::string_view line, const char* kind, std::string_view plugin = {})
      : line_(line), kind_(kind), plugin_(plugin) {}

  // Throws ValueError with the line and the column, from 1.
  [[noreturn]] void refuse(const std::string& expected) const { fail("not " + expected); }
  [[noreturn]] void fail(const std::string& fault) const {
    std::string text = std::string(kind_) + " '" + printable(line_) + "'";
    if (!plugin_.empty()) text += " of plugin '" + printable(plugin_) + "'";
    throw ValueError(text + " has at column " + std::to_string(at_ + 1) + " " + fault);
  }
  void skip_blanks() {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
  }
  bool at_text(std::string_view text) {
    skip_blanks();
    return line_.substr(at_, text.size()) == text;
  }
  bool take(std::string_view text) {
    if (!at_text(text)) return false;
    at_ += text.size();
    return true;
  }
  void expect(std::string_view text, const char* what) {
    if (!take(text)) refuse(what);
  }
  void expect_end() {
    skip_blanks();
    if (at_ < line_.size()) refuse("the end of the line");
  }
  // Letters, digits, '_' and '.', up to "...".
  std::string_view word(const char* what) {
    skip_blanks();
    const size_t start = at_;
    while (at_ < line_.size() && is_letter(line_[at_]) && line_.substr(at_, 3) != "...") ++at_;
    if (at_ == start) refuse(what);
    return line_.substr(start, at_ - start);
  }
  // A whole number of at most nine digits.
  int64_t number(const char* what) {
    skip_blanks();
    int64_t number = 0;
    const size_t start = at_;
    while (at_ < line_.size() && is_digit(line_[at_]) && at_ - start < 9)
      number = number * 10 + (line_[at_++] - '0');
    if (at_ == start) refuse(what);
    return number;
  }
  // A number, 'text', true, false, none, or a list of numbers or texts.
  Json literal() {
    skip_blanks();
    const size_t start = at_;
    int depth = 0;
    bool text = false;
    std::string json;
    for (; at_ < line_.size(); ++at_) {
      const char c = line_[at_];
      if (c == '\'') text = !text;
      if (!text) {
        if (depth == 0 && (c == ',' || c == ')' || c == ';' || c == '=' || c == ']')) break;
        if (c == '[') ++depth;
        if (c == ']') --depth;
      }
      json += c == '\'' ? '"' : c;
    }
    while (!json.empty() && json.back() == ' ') json.pop_back();
    if (json == "none") json = "null";
    try {
      return Json::parse(json);
    } catch (const ValueError&) {
      at_ = start;
      refuse("a number, 'text', true, false, none or a list");
    }
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }

  std::string_view line_;
  size_t at_ = 0;

 private:
  const char* kind_;
  std::string_view plugin_;
};

}  // namespace detail
TENON_NAMESPACE_END
