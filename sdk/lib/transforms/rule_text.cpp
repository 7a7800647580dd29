#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include <tenon/conversion_rules.hpp>
#include <tenon/detail/rule_text.hpp>
#include <tenon/error.hpp>
#include <tenon/transforms/rule_text.hpp>

TENON_NAMESPACE_BEGIN
namespace transforms {
namespace {

class Reader : tenon::detail::RuleText {
 public:
  explicit Reader(std::string_view text) : RuleText(text, "the batch rule") {}

  BatchRule rule() {
    BatchRule rule;
    rule.ops.push_back(name("the name of an op"));
    while (take(",")) rule.ops.push_back(name("the name of an op"));
    if (take(":"))
      family(rule);
    else
      expression(rule);
    if (take_word("where")) {
      do {
        rule.conditions.push_back(condition());
      } while (take(","));
    }
    if (!at_end()) fail("the end of the rule");
    return rule;
  }

 private:
  void family(BatchRule& rule) {
    rule.family = name("a family");
    const std::vector<std::string>& known = batch_families();
    if (std::find(known.begin(), known.end(), rule.family) == known.end())
      throw ValueError("'" + rule.family + "' is not a family of batch rules");
    if (!take("(")) return;
    if (take(")")) return;
    do {
      skip_blanks();
      if (rule.family == "refuse" || rule.family == "loop") {
        rule.reason = quoted();
        continue;
      }
      rule.parameters.push_back(name("a parameter"));
      rule.numbers.push_back(take("=") ? term().integer : -1);
    } while (take(","));
    if (!take(")")) fail("')'");
  }

  void expression(BatchRule& rule) {
    if (rule.ops.size() > 1) fail("':', since a rule of several ops names a family");
    if (!take("(")) fail("':' or '('");
    if (!take(")")) {
      do {
        rule.parameters.push_back(name("a parameter"));
      } while (take(","));
      if (!take(")")) fail("')'");
    }
    if (!take("=")) fail("'='");
    rule.expression = term();
  }

  Condition condition() {
    Condition condition;
    condition.negated = take_word("not");
    condition.parameter = name("a condition");
    if (take("(")) {
      condition.function = std::exchange(condition.parameter, name("a parameter"));
      if (!take(")")) fail("')'");
      static constexpr std::string_view functions[] = {"rank", "batched", "given", "floating"};
      if (std::find(std::begin(functions), std::end(functions), condition.function) ==
          std::end(functions))
        throw ValueError("'" + condition.function + "' is not a function of conditions");
    }
    for (const char* comparison : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(comparison)) continue;
      condition.comparison = comparison;
      condition.value = term();
      break;
    }
    const bool compares = condition.function.empty() || condition.function == "rank";
    if (compares != !condition.comparison.empty())
      fail(compares ? "a comparison" : "no comparison");
    return condition;
  }

  RuleTerm term() {
    skip_blanks();
    RuleTerm term;
    const char c = at_end() ? '\0' : line_[at_];
    if (c == '[') {
      ++at_;
      term.kind = RuleTerm::Kind::list;
      if (take("]")) return term;
      do {
        term.terms.push_back(this->term());
      } while (take(","));
      if (!take("]")) fail("']'");
      return term;
    }
    if (c == '"' || c == '\'') {
      term.kind = RuleTerm::Kind::text;
      term.text = quoted();
      return term;
    }
    if (c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
    term.text = name("a term");
    if (take("(")) {
      call(term);
      return term;
    }
    if (term.text == "true" || term.text == "false") {
      term.kind = RuleTerm::Kind::boolean;
      term.integer = term.text == "true" ? 1 : 0;
    } else if (term.text == "none") {
      term.kind = RuleTerm::Kind::nothing;
    } else {
      term.kind = RuleTerm::Kind::name;
    }
    return term;
  }

  void call(RuleTerm& call) {
    call.kind = RuleTerm::Kind::call;
    call.integer = -1;
    if (!take(")")) {
      do {
        std::string keyword;
        const size_t before = at_;
        skip_blanks();
        if (!at_end() && (std::isalpha(static_cast<unsigned char>(line_[at_])) != 0)) {
          keyword = name("an argument");
          if (at_text("==") || !take("=")) {
            keyword.clear();
            at_ = before;
          }
        }
        call.terms.push_back(term());
        call.keywords.push_back(std::move(keyword));
      } while (take(","));
      if (!take(")")) fail("')'");
    }
    if (!at_end() && line_[at_] == '.') {
      ++at_;
      call.integer = number().integer;
    }
  }

  RuleTerm number() {
    const std::string rest(line_.substr(at_, 40));
    char* end = nullptr;
    RuleTerm term;
    term.number = std::strtod(rest.c_str(), &end);
    const std::string_view digits(rest.c_str(), static_cast<size_t>(end - rest.c_str()));
    if (digits.empty()) fail("a number");
    term.kind = RuleTerm::Kind::number;
    if (digits.find_first_of(".en") == std::string_view::npos) {
      term.kind = RuleTerm::Kind::integer;
      term.integer = std::strtoll(rest.c_str(), nullptr, 10);
    }
    at_ += digits.size();
    return term;
  }

  std::string quoted() {
    const char quote = at_end() ? '\0' : line_[at_];
    if (quote != '"' && quote != '\'') fail("a text in quotes");
    const size_t end = line_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("the end of a text");
    std::string text(line_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }

  std::string name(const char* what) {
    skip_blanks();
    const size_t start = at_;
    const auto fits = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    // A dot belongs to a name where a letter follows.
    while (!at_end() &&
           (fits(line_[at_]) || (line_[at_] == '.' && at_ > start && at_ + 1 < line_.size() &&
                                 (std::isalpha(static_cast<unsigned char>(line_[at_ + 1])) != 0 ||
                                  line_[at_ + 1] == '_'))))
      ++at_;
    if (at_ == start || std::isdigit(static_cast<unsigned char>(line_[start])) != 0) fail(what);
    return std::string(line_.substr(start, at_ - start));
  }

  bool take_word(std::string_view word) {
    if (!at_text(word)) return false;
    const size_t end = at_ + word.size();
    if (end < line_.size() && line_[end] != ' ') return false;
    at_ = end;
    return true;
  }
  bool at_end() { return at_ >= line_.size(); }
  [[noreturn]] void fail(const std::string& expected) {
    throw ValueError(
        "column " + std::to_string(at_ + 1) + ": expected " + expected +
        (at_end() ? ", found the end" : ", found '" + std::string(1, line_[at_]) + "'"));
  }
};

bool continues(std::string_view line) {
  return line.substr(0, 6) == "where " || line.substr(0, 2) == "= ";
}

}  // namespace

const std::vector<std::string>& batch_families() {
  static const std::vector<std::string> families{
      "elementwise", "each",   "dims",    "placed",  "insert",  "permute", "shape",
      "expand",      "reduce", "strided", "squeeze", "leading", "fold",    "rows",
      "groups",      "once",   "loop",    "random",  "refuse"};
  return families;
}

BatchRule read_batch_rule(std::string_view text, std::string provider) {
  BatchRule rule = Reader(text).rule();
  rule.provider = std::move(provider);
  rule.text = std::string(text);
  return rule;
}

BatchRules read_batch_rules(const Json& facts) {
  std::vector<std::pair<std::string, std::string>> lines;  // provider, rule
  bool open = false;
  for_each_conversion_rule(facts, [&](const std::string& format, const std::string& plugin,
                                      std::string_view line) {
    if (format != "batch" || line.front() == '#') return;
    const bool joins = !lines.empty() && lines.back().first == plugin && (open || continues(line));
    if (joins)
      lines.back().second += " " + std::string(line);
    else
      lines.emplace_back(plugin, std::string(line));
    open = line.back() == ',' || line.back() == '(' || line.back() == '=';
  });
  BatchRules read;
  for (const auto& [provider, text] : lines) {
    try {
      read.rules.push_back(read_batch_rule(text, provider));
    } catch (const ValueError& fault) {
      read.faults.push_back({provider, text, fault.what()});
    }
  }
  return read;
}

}  // namespace transforms
TENON_NAMESPACE_END
