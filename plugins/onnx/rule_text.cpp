#include "rule_text.hpp"

#include <cctype>

#include <tenon/error.hpp>
#include <tenon/text.hpp>

namespace onnx {

using tenon::Json;

void RuleText::refuse(const std::string& expected) const {
  throw tenon::ValueError(std::string(kind_) + " '" + tenon::printable(line_) + "' has at column " +
                          std::to_string(at_ + 1) + " not " + expected);
}
void RuleText::skip_blanks() {
  while (at_ < line_.size() && line_[at_] == ' ') ++at_;
}
bool RuleText::take(std::string_view text) {
  skip_blanks();
  if (line_.substr(at_, text.size()) != text) return false;
  at_ += text.size();
  return true;
}
void RuleText::expect(std::string_view text, const char* what) {
  if (!take(text)) refuse(what);
}
void RuleText::expect_end() {
  skip_blanks();
  if (at_ < line_.size()) refuse("the end of the line");
}

bool RuleText::is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}
std::string_view RuleText::word(const char* what) {
  skip_blanks();
  const size_t start = at_;
  while (at_ < line_.size() && is_letter(line_[at_]) && line_.substr(at_, 3) != "...") ++at_;
  if (at_ == start) refuse(what);
  return line_.substr(start, at_ - start);
}
int64_t RuleText::number(const char* what) {
  skip_blanks();
  int64_t number = 0;
  const size_t start = at_;
  while (at_ < line_.size() && std::isdigit(static_cast<unsigned char>(line_[at_])) != 0 &&
         at_ - start < 9)
    number = number * 10 + (line_[at_++] - '0');
  if (at_ == start) refuse(what);
  return number;
}

Json RuleText::literal() {
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
  } catch (const tenon::ValueError&) {
    at_ = start;
    refuse("a number, 'text', true, false, none or a list");
  }
}

}  // namespace onnx
