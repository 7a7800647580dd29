#include "export/export_rule.hpp"

#include <cctype>

#include <tenon/detail/rule_text.hpp>
#include <tenon/schema.hpp>

namespace onnx {

namespace {

using tenon::Json;

// Expressions that are inside of each other: each takes stack.
constexpr int kMostDepth = 40;

class ExportRuleReader : tenon::detail::RuleText {
 public:
  explicit ExportRuleReader(std::string_view line) : RuleText(line, "the rule of export") {}

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
    expect_end();
    return rule;
  }

 private:
  // Whether another item follows; ends the list where none does.
  bool next_item() {
    if (take(")")) return false;
    expect(",", "',' or ')'");
    return true;
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
      const std::string_view kind = word("a kind of elements");
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
};

}  // namespace

ExportRule read_export_rule(std::string_view line) { return ExportRuleReader(line).rule(); }

std::string_view exported_op(std::string_view line) {
  return tenon::detail::trim(line.substr(0, line.find('(')));
}

}  // namespace onnx
