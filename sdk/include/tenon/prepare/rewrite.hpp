// Rewrites that plugins declare (<tenon/rewrite.hpp>), as data: what a rule says, which rules there are,
// and which of them a prepared model uses.
//
//   for (const rewrites::ListedRule& one : rewrites::rules()) ...   // one.rule, one.reason
//
// sdk/lib/prepare/README.md has the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/prepare/call_list.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

// A value that is not a tensor: of a rule, of a call, of a condition.
struct Literal {
  // Which member of a literal holds it.
  enum class Kind : uint8_t { none, boolean, integer, number, dtype, text, list, tensor };
  Kind kind = Kind::none;  // which member holds it
  int64_t integer = 0;     // also a boolean, the code of a dtype, the number of a tensor in a list
  double number = 0;       // the number
  std::string text;        // the text, or name of a dtype
  std::vector<Literal> list;  // the list
};

// An expression of a condition, or of a number in a replacement.
struct Expression {
  enum class Kind : uint8_t { literal, variable, call };  // forms of an expression
  Kind kind = Kind::literal;                              // which member holds it
  Literal literal;                                        // for a literal
  std::string name;  // a variable, a function, or an operator: "==", "+", "not", "list"
  std::vector<Expression> operands;  // its operands
  int64_t column = 1;                // in the rule's text, from 1
};

// An argument of a pattern or replacement, or one of these.
struct Term {
  // `any` is '_'; `rest` is '...', the parameters that the call does not mention; `computed` is an
  // expression in parentheses, in replacements alone.
  enum class Kind : uint8_t { call, variable, any, literal, list, rest, computed };
  Kind kind = Kind::literal;  // which member holds it
  std::string keyword;        // under which a call has it; empty: by position
  std::string name;           // of the op, the variable or the rest, which may be empty
  int64_t result = -1;        // op(...).1: of the call's tensors the second; -1: not written
  std::vector<Term> items;    // of a call and of a list
  Literal literal;            // for a literal
  Expression computed;        // the expression to compute
  int64_t column = 1;         // in the rule's text, from 1
};

struct Rule {          // a rule that was read
  std::string name;    // "acme.conv_relu"
  std::string plugin;  // id; empty: of the application
  std::string text;    // the whole rule, in one line
  // Its sides and conditions as they are written; empty where the rule has no condition.
  std::string pattern_text, replacement_text, condition_text;
  // Calls whose results are replaced, and what replaces them, one for one; more than one where the rule
  // has lists.
  std::vector<Term> pattern, replacement;
  std::vector<Expression> conditions;  // all hold where the rule is used
  // Largest difference of the results, relative to the largest element; 0: they are equal by bits.
  double bound = 0;
};

// Whether a line of a declaration belongs to the rule that `before` is, so far. Any thread.
bool continues_rule(std::string_view before, std::string_view line);

// Reads a rule. ValueError names the plugin, the rule and the column of a fault: a variable that the
// pattern does not have, an unknown function, a name that does not begin with the plugin's id. Ops are
// not looked at. Any thread.
Rule read_rule(const std::string& plugin, std::string_view text);

// Which rules a model uses.
struct Options {
  bool enabled = true;               // the config's
  bool declared = true;              // whether rules of plugins are used
  std::vector<Rule> rules;           // more rules, of the application
  std::vector<std::string> disable;  // names; '*' is any text
  std::vector<std::string> prefer;   // names, in their order, which come before all others
};
// The section "rewrites" of a config: {"enabled", "disable", "prefer"}, each of which may be missing.
// ConfigError for others.
Options options_of(const Json& section);
// Makes such a section the process's choice, in place of the one before: what it disables is used by no
// model, what it prefers comes behind what Options prefers. Models that are prepared already make
// their lists again. config::apply calls it. Any thread.
void apply_policy(const Json& section);

struct ListedRule {    // a rule of a listing
  Rule rule;           // name, plugin and text alone where it cannot be read
  std::string reason;  // why it is not used; empty where it is
};
// All rules, in the order in which they are tried: by `prefer`, then those of more calls, of these those
// that leave fewer, then by name; those that are not used come last. A reason names the op, the
// parameter or the column at fault. Loads no plugin. Any thread.
std::vector<ListedRule> rules(const Options& options = {});

// A rule that has changed a list.
struct Applied {
  std::string rule, plugin;  // names of the rule and its plugin
  int64_t count = 0;         // how often it was applied
  double bound = 0;          // as Rule has it
};
struct Account {                    // rules that a preparation applied
  std::vector<Applied> applied;     // in the order of their first use
  std::vector<std::string> folded;  // ops of calls on constants that the rules have made
  // Rules that fit and were not used, each with the reason: results of another layout, memory that is
  // shared, no end of rewriting.
  std::vector<std::string> refused;
};
// Rewrites a list, as prepare() does: until no rule fits. A rule that undoes another, or whose own result
// it fits again more than 16 times in a row, is stopped: then the list is as if there were no such
// rule. Runs the new calls on zeros for the layouts of their results. Changes the list only where
// it returns; throws what loading a plugin throws. Calls under NoGrad alone. Any thread.
Account apply(prepared::CallList& list, const Options& options = {});

}  // namespace rewrites

TENON_NAMESPACE_END
