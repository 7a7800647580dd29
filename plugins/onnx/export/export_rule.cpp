#include "export/export_rule.hpp"

#include <cctype>

#include <tenon/error.hpp>
#include <tenon/schema.hpp>
#include <tenon/text.hpp>

namespace onnx {

namespace {

using tenon::Json;

// Expressions that are inside of each other: each takes stack.
constexpr int kMostDepth = 40;

class ExportRuleReader {
 public:
  explicit ExportRuleReader(std::string_view line) : line_(line) {}

  ExportRule rule() {
    ExportRule rule;
    rule.op = word("the name of an op");
    expect("(", "'('");
    if (!take(")")) {
      do {
        rule.parameters.push_back(parameter());
      } while (next_item());
    }
    expect("=", "'='");
    while (const size_t length = step_name()) {
      std::string name(line_.substr(at_, length));
      at_ += length;
      expect(":=", "':='");
      rule.steps.emplace_back(std::move(name), expression(0));
      expect(";", "';' and the results");
    }
    do {
      rule.results.push_back(expression(0));
    } while (take(","));
    skip_blanks();
    if (at_ < line_.size()) refuse("the end of the line");
    return rule;
  }

 private:
  [[noreturn]] void refuse(const std::string& expected) const {
    throw tenon::ValueError("the rule of export '" + tenon::printable(line_) + "' has at column " +
                            std::to_string(at_ + 1) + " not " + expected);
  }
  void skip_blanks() {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
  }
  bool take(std::string_view text) {
    skip_blanks();
    if (line_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }
  void expect(std::string_view text, const char* what) {
    if (!take(text)) refuse(what);
  }
  // Whether another item follows; ends the list where none does.
  bool next_item() {
    if (take(")")) return false;
    expect(",", "',' or ')'");
    return true;
  }
  static bool is_letter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }
  std::string word(const char* what) {
    skip_blanks();
    const size_t start = at_;
    while (at_ < line_.size() && is_letter(line_[at_])) ++at_;
    if (at_ == start) refuse(what);
    return std::string(line_.substr(start, at_ - start));
  }
  // Letters up to ':=', of a step; 0: what follows is not a step.
  size_t step_name() {
    skip_blanks();
    size_t end = at_;
    while (end < line_.size() && is_letter(line_[end]) && line_[end] != '.') ++end;
    const size_t length = end - at_;
    while (end < line_.size() && line_[end] == ' ') ++end;
    return line_.substr(end, 2) == ":=" ? length : 0;
  }

  ParameterPattern parameter() {
    ParameterPattern pattern;
    pattern.name = word("the name of a parameter");
    if (take("==")) {
      pattern.only = literal();
      return pattern;
    }
    if (take("[")) {
      pattern.rank = number("the number of dimensions");
      expect("]", "']'");
    }
    if (take(":")) {
      const std::string kind = word("a kind of elements");
      using Elements = ParameterPattern::Elements;
      if (kind == "floating")
        pattern.elements = Elements::floating;
      else if (kind == "integer")
        pattern.elements = Elements::integer;
      else if (kind == "bool")
        pattern.elements = Elements::boolean;
      else
        refuse("'floating', 'integer' or 'bool'");
    }
    pattern.optional = take("?");
    return pattern;
  }
  int64_t number(const char* what) {
    skip_blanks();
    int64_t number = 0;
    const size_t start = at_;
    while (at_ < line_.size() && std::isdigit(static_cast<unsigned char>(line_[at_])) != 0 &&
           at_ - start < 9)
      number = number * 10 + (line_[at_++] - '0');
    if (at_ == start) refuse(what);
    return number;
  }

  Expression expression(int depth) {
    if (depth > kMostDepth) refuse("an end: it is nested too deep");
    skip_blanks();
    const char first = at_ < line_.size() ? line_[at_] : '\0';
    Expression made;
    if (take("[")) {
      made.kind = Expression::Kind::list;
      if (take("]")) return made;
      do {
        made.items.push_back(expression(depth + 1));
      } while (take(","));
      expect("]", "',' or ']'");
      return made;
    }
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '-' || first == '\'') {
      made.literal = literal();
      return made;
    }
    const bool function = take("@");
    made.name = word("an expression");
    if (!function && (made.name == "true" || made.name == "false" || made.name == "none")) {
      made.literal = Json::parse(made.name == "none" ? "null" : made.name);
      return made;
    }
    if (take("(")) {
      made.kind = function ? Expression::Kind::function : Expression::Kind::call;
      if (!take(")")) {
        do {
          made.keywords.push_back(keyword());
          made.items.push_back(expression(depth + 1));
        } while (next_item());
      }
      return made;
    }
    made.kind = function ? Expression::Kind::function : Expression::Kind::name;
    const size_t dot = made.name.find('.');
    if (function || dot == std::string::npos) return made;
    made.kind = Expression::Kind::element;
    if (made.name.size() != dot + 2 ||
        std::isdigit(static_cast<unsigned char>(made.name[dot + 1])) == 0)
      refuse("the number of a result");
    made.index = static_cast<size_t>(made.name[dot + 1] - '0');
    made.name.resize(dot);
    return made;
  }
  // "name=" in front of an argument; empty where there is none.
  std::string keyword() {
    skip_blanks();
    size_t end = at_;
    while (end < line_.size() && is_letter(line_[end]) && line_[end] != '.') ++end;
    if (end == at_ || line_.substr(end, 1) != "=") return "";
    std::string name(line_.substr(at_, end - at_));
    at_ = end + 1;
    return name;
  }
  // A number, 'text', true, false, none, or a list of numbers.
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
        if (depth == 0 && (c == ',' || c == ')' || c == ';' || c == ']')) break;
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

  std::string_view line_;
  size_t at_ = 0;
};

}  // namespace

ExportRule read_export_rule(std::string_view line) { return ExportRuleReader(line).rule(); }

std::string_view exported_op(std::string_view line) {
  return tenon::detail::trim(line.substr(0, line.find('(')));
}

}  // namespace onnx
