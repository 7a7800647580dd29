// The grammar of rules: README.md of the library.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

#include <tenon/detail/rule_text.hpp>
#include <tenon/prepare/rewrite.hpp>
#include <tenon/schema.hpp>

#include "conditions.hpp"
#include "lib/base/format.hpp"
#include "literal.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

namespace {

using lib::format_text;

// Terms and expressions that are inside of each other: each takes stack.
constexpr int kMostDepth = 40;
constexpr size_t kMostLetters = 16384;

class RuleReader : tenon::detail::RuleText {
 public:
  RuleReader(const std::string& plugin, std::string_view text)
      : RuleText(text, "the rewrite", plugin), plugin_id_(plugin) {}

  Rule read() {
    Rule rule;
    rule.plugin = plugin_id_;
    rule.text = line_;
    if (line_.size() > kMostLetters)
      refuse(format_text("a rule of at most {} characters", kMostLetters));
    rule.name = name();
    expect(":", "a colon, behind the rule's name");
    in_pattern_ = true;
    const size_t pattern = at_;
    rule.pattern = roots();
    rule.pattern_text = written(pattern);
    for (const Term& root : rule.pattern) {
      if (root.kind == Term::Kind::call) continue;
      at_ = static_cast<size_t>(root.column - 1);
      refuse("a call of an op, OP(ARGUMENTS)");
    }
    expect("=>", "'=>', behind the pattern");
    in_pattern_ = false;
    skip_blanks();
    const size_t replacement = at_;
    rule.replacement = roots();
    rule.replacement_text = written(replacement);
    const bool spread = rule.replacement.size() == 1 &&
                        rule.replacement.front().kind == Term::Kind::call &&
                        rule.replacement.front().result < 0;
    if (rule.replacement.size() != rule.pattern.size() && !spread) {
      at_ = replacement;
      refuse(format_text("as many results as the pattern's list, {}", rule.pattern.size()));
    }
    if (take_word("where")) {
      const size_t conditions = at_;
      do {
        rule.conditions.push_back(expression());
      } while (take(","));
      rule.condition_text = written(conditions);
    }
    if (take_word("within")) rule.bound = bound();
    expect_end();
    return rule;
  }

 private:
  struct Depth {
    explicit Depth(RuleReader& reader) : reader_(reader) {
      if (++reader.depth_ > kMostDepth)
        reader.refuse(format_text("at most {} calls inside of each other", kMostDepth));
    }
    ~Depth() { --reader_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    RuleReader& reader_;
  };

  std::string written(size_t start) const {
    return std::string(tenon::detail::trim(line_.substr(start, at_ - start)));
  }
  int64_t column() const { return static_cast<int64_t>(at_) + 1; }

  // ---- words ----

  bool at_word(std::string_view text) {
    return at_text(text) &&
           (at_ + text.size() >= line_.size() || !is_letter(line_[at_ + text.size()]));
  }
  bool take_word(std::string_view text) {
    if (!at_word(text)) return false;
    at_ += text.size();
    return true;
  }
  std::string name() {
    skip_blanks();
    const size_t start = at_;
    const std::string name(word("the rule's name"));
    if (!plugin_id_.empty() && (name.size() < plugin_id_.size() + 2 ||
                                name.compare(0, plugin_id_.size() + 1, plugin_id_ + ".") != 0)) {
      at_ = start;
      refuse(
          format_text("a name that begins with that of its plugin, '{}.'", printable(plugin_id_)));
    }
    return name;
  }
  std::string variable(const char* what) {
    skip_blanks();
    const size_t start = at_;
    std::string name(word(what));
    if (name.find('.') != std::string::npos || is_digit(name.front()) || dtype_literal(name)) {
      at_ = start;
      refuse(what);
    }
    return name;
  }

  // ---- values ----

  bool at_literal() {
    skip_blanks();
    if (at_ >= line_.size()) return false;
    const char c = line_[at_], next = at_ + 1 < line_.size() ? line_[at_ + 1] : ' ';
    if (c == '"' || c == '\'' || is_digit(c)) return true;
    if (c == '-') return is_digit(next) || next == '.' || next == 'i';
    if (c == '.') return is_digit(next);
    for (const char* one : {"true", "false", "none", "True", "False", "None", "inf", "nan"}) {
      if (at_word(one)) return true;
    }
    const size_t start = at_;
    size_t end = at_;
    while (end < line_.size() && is_letter(line_[end])) ++end;
    return dtype_literal(line_.substr(start, end - start)).has_value();
  }
  Literal literal_value() {
    skip_blanks();
    const char c = line_[at_];
    if (c == '"' || c == '\'') {
      const size_t end = line_.find(c, at_ + 1);
      if (end == std::string_view::npos) refuse("a text with a quote at its end");
      const std::string_view found = line_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return text(std::string(found));
    }
    if (take_word("true") || take_word("True")) return boolean(true);
    if (take_word("false") || take_word("False")) return boolean(false);
    if (take_word("none") || take_word("None")) return {};
    if (is_digit(c) || c == '-' || c == '.' || at_word("inf") || at_word("nan"))
      return number_value();
    return *dtype_literal(word("a value"));
  }
  Literal number_value() {
    const bool negative = take("-");
    const double sign = negative ? -1 : 1;
    if (take_word("inf")) return rewrites::number(sign * std::numeric_limits<double>::infinity());
    if (take_word("nan")) return rewrites::number(std::numeric_limits<double>::quiet_NaN());
    const size_t start = at_;
    const auto digits = [&] {
      while (at_ < line_.size() && is_digit(line_[at_])) ++at_;
    };
    digits();
    bool whole = true;
    if (at_ < line_.size() && line_[at_] == '.' && line_.substr(at_, 3) != "...") {
      whole = false;
      ++at_;
      digits();
    }
    if (at_ < line_.size() && (line_[at_] == 'e' || line_[at_] == 'E')) {
      whole = false;
      ++at_;
      if (at_ < line_.size() && (line_[at_] == '-' || line_[at_] == '+')) ++at_;
      digits();
    }
    const std::string found(line_.substr(start, at_ - start));
    char* end = nullptr;
    const double value = std::strtod(found.c_str(), &end);
    if (found.empty() || *end != 0 || (whole && found.size() > 18) ||
        (at_ < line_.size() && is_letter(line_[at_]) && line_[at_] != '.')) {
      at_ = start;
      refuse("a number");
    }
    if (!whole) return rewrites::number(sign * value);
    const auto count = static_cast<int64_t>(std::strtoll(found.c_str(), nullptr, 10));
    return integer(negative ? -count : count);
  }
  double bound() {
    skip_blanks();
    const size_t start = at_;
    const Literal value = at_literal() ? literal_value() : Literal();
    if (!is_number(value) || !(as_number(value) > 0) || !std::isfinite(as_number(value))) {
      at_ = start;
      refuse("the largest relative difference, a number above 0");
    }
    return as_number(value);
  }

  // ---- pattern and replacement ----

  std::vector<Term> roots() {
    if (!take("[")) return {term()};
    std::vector<Term> list;
    do {
      list.push_back(term());
    } while (take(","));
    expect("]", "',' or ']'");
    return list;
  }

  Term term() {
    const Depth depth(*this);
    skip_blanks();
    Term term;
    term.column = column();
    if (at_literal()) {
      term.literal = literal_value();
    } else if (take("[")) {
      term.kind = Term::Kind::list;
      if (!take("]")) {
        do {
          term.items.push_back(this->term());
        } while (take(","));
        expect("]", "',' or ']'");
      }
    } else if (!in_pattern_ && take("(")) {
      term.kind = Term::Kind::computed;
      term.computed = expression();
      expect(")", "')'");
    } else if (take_word("_")) {
      term.kind = Term::Kind::any;
      if (!in_pattern_) {
        at_ = static_cast<size_t>(term.column - 1);
        refuse("'_', which is for patterns: name the value in the pattern");
      }
    } else {
      term.name = word("a call, a variable or a value");
      if (at_text("(")) {
        read_call(term);
      } else {
        at_ = static_cast<size_t>(term.column - 1);
        term.name = variable("a call, a variable or a value");
        term.kind = Term::Kind::variable;
        know(term, variables_);
      }
    }
    return term;
  }
  // A name of the pattern is known from then on; one of the replacement has to be.
  void know(const Term& term, std::set<std::string>& names) {
    if (in_pattern_) {
      names.insert(term.name);
    } else if (names.count(term.name) == 0) {
      at_ = static_cast<size_t>(term.column - 1);
      fail(format_text("'{}', which the pattern does not have{}",
                       term.kind == Term::Kind::rest ? "..." + term.name : term.name,
                       suggestion(term.name, {names.begin(), names.end()})));
    }
  }
  void read_call(Term& call) {
    call.kind = Term::Kind::call;
    expect("(", "'('");
    bool keywords = false;
    if (!take(")")) {
      do {
        call.items.push_back(argument());
        const Term& last = call.items.back();
        const bool by_position = last.keyword.empty() && last.kind != Term::Kind::rest;
        if (keywords && by_position) {
          at_ = static_cast<size_t>(last.column - 1);
          refuse("an argument by position behind one by keyword");
        }
        keywords |= !by_position;
      } while (take(","));
      expect(")", "',' or ')'");
    }
    if (at_text("..") || !take(".")) return;
    call.result = number("the number of a result, from 0");
  }
  Term argument() {
    skip_blanks();
    const size_t start = at_;
    if (take("...")) {
      Term rest;
      rest.kind = Term::Kind::rest;
      rest.column = static_cast<int64_t>(start) + 1;
      if (at_ < line_.size() && is_letter(line_[at_])) rest.name = word("the name of the rest");
      know(rest, rests_);
      return rest;
    }
    std::string keyword;
    if (at_ < line_.size() && is_letter(line_[at_]) && !at_literal()) {
      keyword = word("an argument");
      if (at_text("==") || at_text("=>") || !take("=")) {
        keyword.clear();
        at_ = start;
      }
    }
    Term term = this->term();
    term.keyword = std::move(keyword);
    return term;
  }

  // ---- conditions ----

  Expression call(std::string name, std::vector<Expression> operands, int64_t column) {
    Expression made;
    made.kind = Expression::Kind::call;
    made.name = std::move(name);
    made.operands = std::move(operands);
    made.column = column;
    return made;
  }
  Expression expression() {
    const Depth depth(*this);
    Expression left = conjunction();
    for (int64_t at = column(); take_word("or"); at = column())
      left = call("or", {std::move(left), conjunction()}, at);
    return left;
  }
  Expression conjunction() {
    Expression left = negation();
    for (int64_t at = column(); take_word("and"); at = column())
      left = call("and", {std::move(left), negation()}, at);
    return left;
  }
  Expression negation() {
    const Depth depth(*this);
    const int64_t at = column();
    if (take_word("not")) return call("not", {negation()}, at);
    return comparison();
  }
  Expression comparison() {
    Expression left = sum();
    skip_blanks();
    const int64_t at = column();
    if (at_text("=>")) return left;
    for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (take(sign)) return call(sign, {std::move(left), sum()}, at);
    }
    if (take_word("in")) return call("in", {std::move(left), sum()}, at);
    if (take_word("not")) {
      if (!take_word("in")) refuse("'in', behind 'not'");
      return call("not", {call("in", {std::move(left), sum()}, at)}, at);
    }
    return left;
  }
  Expression operators(std::initializer_list<const char*> signs, Expression (RuleReader::*next)()) {
    Expression left = (this->*next)();
    for (bool more = true; more;) {
      skip_blanks();
      const int64_t at = column();
      more = false;
      for (const char* sign : signs) {
        if (!take(sign)) continue;
        left = call(sign, {std::move(left), (this->*next)()}, at);
        more = true;
        break;
      }
    }
    return left;
  }
  Expression sum() { return operators({"+", "-"}, &RuleReader::product); }
  Expression product() { return operators({"*", "//", "/", "%"}, &RuleReader::element); }
  Expression element() {
    Expression left = operand();
    for (int64_t at = column(); take("["); at = column()) {
      left = call("[]", {std::move(left), expression()}, at);
      expect("]", "']'");
    }
    return left;
  }
  Expression operand() {
    const Depth depth(*this);
    skip_blanks();
    Expression made;
    made.column = column();
    if (at_literal()) {
      made.literal = literal_value();
      return made;
    }
    if (take("-")) return call("negative", {operand()}, made.column);
    if (take("(")) {
      made = expression();
      expect(")", "')'");
      return made;
    }
    if (take("[")) {
      std::vector<Expression> items;
      if (!take("]")) {
        do {
          items.push_back(expression());
        } while (take(","));
        expect("]", "',' or ']'");
      }
      return call("list", std::move(items), made.column);
    }
    made.name = variable("a variable, a function or a value");
    if (!take("(")) {
      made.kind = Expression::Kind::variable;
      if (variables_.count(made.name) == 0) {
        at_ = static_cast<size_t>(made.column - 1);
        fail(format_text("'{}', which the pattern does not have{}", made.name,
                         suggestion(made.name, {variables_.begin(), variables_.end()})));
      }
      return made;
    }
    std::vector<Expression> operands;
    if (!take(")")) {
      do {
        operands.push_back(expression());
      } while (take(","));
      expect(")", "',' or ')'");
    }
    const std::string fault = function_fault(made.name, operands.size());
    if (!fault.empty()) {
      at_ = static_cast<size_t>(made.column - 1);
      fail(fault);
    }
    return call(std::move(made.name), std::move(operands), made.column);
  }

  const std::string plugin_id_;
  std::set<std::string> variables_, rests_;
  bool in_pattern_ = true;
  int depth_ = 0;
};

}  // namespace

Rule read_rule(const std::string& plugin, std::string_view text) {
  return RuleReader(plugin, text).read();
}

}  // namespace rewrites

TENON_NAMESPACE_END
