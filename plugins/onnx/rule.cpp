#include "rule.hpp"

#include <cctype>

#include <tenon/detail/rule_text.hpp>

#include "message_reader.hpp"

namespace onnx {

namespace {

class RuleReader : tenon::detail::RuleText {
 public:
  explicit RuleReader(std::string_view line) : RuleText(line, "the conversion") {}

  RuleHead head() {
    const std::string_view name = word("the name of an operator");
    const size_t dot = name.rfind('.');
    RuleHead head;
    head.domain = dot == std::string_view::npos ? "" : domain_of(name.substr(0, dot));
    head.type = dot == std::string_view::npos ? name : name.substr(dot + 1);
    expect(":", "a colon and the version");
    head.since = number("the version, a number");
    head.like = engine();
    return head;
  }

  Rule rule() {
    Rule rule;
    const RuleHead found = head();
    rule.domain = found.domain;
    rule.type = found.type;
    rule.since = found.since;
    rule.like = found.like;
    expect("(", "'('");
    bool attributes = false;
    if (!take(")")) {
      do {
        if (take(";")) attributes = true;
        if (take(")")) break;
        if (attributes)
          read_attribute(rule);
        else
          read_input(rule);
      } while (next_item());
    }
    rule.random = take("~");
    rule.pointwise = !rule.random && take("*");
    if (!rule.random)
      expect("=",
             "'=', '*=' for one that computes element by element, or '~' for one that draws at "
             "random");
    rule.op = word("the name of an op");
    expect("(", "'('");
    if (!take(")")) {
      do {
        read_argument(rule);
      } while (next_item());
    }
    rule.spread = take("...");
    expect_end();
    return rule;
  }

 private:
  static constexpr std::string_view kEngine = "like==";

  // The text of like=='text' among the inputs and attributes; empty where there is none.
  std::string_view engine() const {
    bool quoted = false;
    for (size_t i = at_; i < line_.size() && (quoted || line_[i] != ')'); ++i) {
      if (line_[i] == '\'') quoted = !quoted;
      if (quoted || line_.substr(i, kEngine.size()) != kEngine) continue;
      const size_t start = line_.find('\'', i);
      const size_t end = start == std::string_view::npos ? start : line_.find('\'', start + 1);
      if (end == std::string_view::npos) return {};
      return line_.substr(start + 1, end - start - 1);
    }
    return {};
  }

  // Whether another item is next; ends the list where none is. A semicolon begins the attributes.
  bool next_item() {
    skip_blanks();
    if (at_ < line_.size() && line_[at_] == ';') return true;
    if (take(")")) return false;
    expect(",", "',', ';' or ')'");
    return true;
  }
  void read_input(Rule& rule) {
    RuleInput input;
    input.name = word("the name of an input");
    input.variadic = take("...");
    input.optional = !input.variadic && take("?");
    rule.inputs.push_back(std::move(input));
  }
  // `like` is not the node's: the engine, which the head has already.
  void read_engine() {
    if (!take("==")) refuse("==, behind 'like'");
    if (!literal().is_text()) refuse("the name of an engine in quotes");
  }
  void read_attribute(Rule& rule) {
    RuleAttribute attribute;
    attribute.name = word("the name of an attribute");
    if (attribute.name == "like") return read_engine();
    if (take("==")) {
      attribute.only = literal();
      if (take("=")) attribute.fallback = literal();
    } else if (take("=")) {
      attribute.fallback = literal();
    } else {
      attribute.optional = take("?");
    }
    rule.attributes.push_back(std::move(attribute));
  }
  void read_argument(Rule& rule) {
    RuleArgument argument;
    skip_blanks();
    const size_t start = at_;
    if (is_literal()) {
      argument.literal = literal();
    } else if (take("@")) {
      read_built_in(argument);
    } else {
      std::string_view name = word("an argument");
      if (take("=")) {
        argument.keyword = name;
        skip_blanks();
        if (is_literal()) {
          argument.literal = literal();
          rule.arguments.push_back(std::move(argument));
          return;
        }
        if (take("@")) {
          read_built_in(argument);
          rule.arguments.push_back(std::move(argument));
          return;
        }
        name = word("an argument");
      }
      if (!refer(rule, name, argument)) {
        at_ = start;
        refuse("the name of an input or attribute");
      }
    }
    rule.arguments.push_back(std::move(argument));
  }
  void read_built_in(RuleArgument& argument) {
    if (take("version"))
      argument.kind = RuleArgument::Kind::version;
    else if (take("outputs"))
      argument.kind = RuleArgument::Kind::outputs;
    else
      refuse("@version or @outputs");
  }
  static bool refer(const Rule& rule, std::string_view name, RuleArgument& argument) {
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      if (rule.inputs[i].name != name) continue;
      argument.kind = RuleArgument::Kind::input;
      argument.index = i;
      return true;
    }
    for (size_t i = 0; i < rule.attributes.size(); ++i) {
      if (rule.attributes[i].name != name) continue;
      argument.kind = RuleArgument::Kind::attribute;
      argument.index = i;
      return true;
    }
    return false;
  }

  bool is_literal() const {
    if (at_ >= line_.size()) return false;
    const char c = line_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '[' || c == '\'')
      return true;
    for (const std::string_view one : {"true", "false", "none"}) {
      if (line_.substr(at_, one.size()) != one) continue;
      const char end = at_ + one.size() < line_.size() ? line_[at_ + one.size()] : ' ';
      if (end == ',' || end == ')' || end == ' ') return true;
    }
    return false;
  }
};

}  // namespace

const RuleAttribute* Rule::attribute(std::string_view name) const {
  for (const RuleAttribute& one : attributes) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

RuleHead read_rule_head(std::string_view line) { return RuleReader(line).head(); }
Rule read_rule(std::string_view line) { return RuleReader(line).rule(); }

}  // namespace onnx
