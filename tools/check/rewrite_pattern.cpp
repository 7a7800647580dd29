// Patterns of rewrites, read for the check.
#include "rewrite_pattern.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <tenon/listing/listing.hpp>

#include "format.hpp"

namespace cli {

namespace rewrites = tenon::rewrites;
using rewrites::Expression;
using rewrites::Literal;
using rewrites::Term;
using Kind = SampleValue::Kind;

namespace {

// Declarations of ops, samples included.
class Declarations {
 public:
  CheckedOp find(const std::string& name) {
    const std::string provider = tenon::listing::op(name)["provider"].text();
    const auto [place, added] = plugins_.try_emplace(provider);
    if (added) place->second = tenon::listing::declarations(provider)["ops"];
    for (int64_t i = 0; i < place->second.size(); ++i) {
      if (place->second[i]["name"].text() == name) return checked_op(place->second[i]);
    }
    throw tenon::ValueError(
        format_text("plugin '{}' does not declare the op '{}'", provider, name));
  }

 private:
  std::map<std::string, tenon::Json> plugins_;
};

class PatternReader {
 public:
  explicit PatternReader(const rewrites::Rule& rule) : rule_(rule) {}

  RewritePattern read() {
    for (const Term& root : rule_.pattern) pattern_.roots.push_back(add_call(root));
    for (const Term& root : rule_.replacement) add_ops(root);
    for (const Expression& condition : rule_.conditions) read_condition(condition);
    find_other();
    return std::move(pattern_);
  }

 private:
  size_t add_call(const Term& term) {
    PatternCall call;
    call.op = declarations_.find(term.name);
    add_op(term.name);
    call.arguments.resize(call.op.parameters.size());
    const Term* rest = nullptr;
    size_t next = 0;
    std::vector<bool> given(call.op.parameters.size(), false);
    for (const Term& argument : term.items) {
      if (argument.kind == Term::Kind::rest) {
        rest = &argument;
        continue;
      }
      size_t place = next;
      if (argument.keyword.empty()) {
        ++next;
      } else {
        const auto found =
            std::find_if(call.op.parameters.begin(), call.op.parameters.end(),
                         [&](const DeclaredType& type) { return type.name == argument.keyword; });
        place = static_cast<size_t>(found - call.op.parameters.begin());
      }
      if (place >= given.size())
        throw tenon::ValueError(format_text("{}() does not take these arguments", term.name));
      given[place] = true;
      call.arguments[place] = argument_of(argument, call.op.parameters[place]);
    }
    for (size_t i = 0; rest != nullptr && i < given.size(); ++i) {
      const DeclaredType& type = call.op.parameters[i];
      if (given[i] || type.mutates) continue;
      call.arguments[i].kind = PatternArgument::Kind::slot;
      call.arguments[i].index = slot_of("..." + rest->name + "." + type.name, "", type);
    }
    pattern_.calls.push_back(std::move(call));
    return pattern_.calls.size() - 1;
  }

  PatternArgument argument_of(const Term& term, const DeclaredType& type) {
    PatternArgument argument;
    switch (term.kind) {
      case Term::Kind::call:
        argument.kind = PatternArgument::Kind::call;
        argument.index = add_call(term);
        argument.result = static_cast<size_t>(std::max<int64_t>(term.result, 0));
        break;
      case Term::Kind::variable:
        argument.kind = PatternArgument::Kind::slot;
        argument.index = slot_of(term.name, term.name, type);
        break;
      case Term::Kind::any:
        argument.kind = PatternArgument::Kind::slot;
        argument.index = slot_of(format_text("_{}", pattern_.slots.size()), "", type);
        break;
      case Term::Kind::list: {
        argument.kind = PatternArgument::Kind::list;
        DeclaredType item = type;
        item.list = false;
        item.length = 0;
        for (const Term& one : term.items) argument.items.push_back(argument_of(one, item));
        break;
      }
      default:
        argument.kind = PatternArgument::Kind::literal;
        argument.literal = term.literal;
    }
    return argument;
  }

  // A variable that is used twice is what all of its parameters take.
  size_t slot_of(const std::string& key, const std::string& variable, const DeclaredType& type) {
    const auto [known, added] = slots_.emplace(key, pattern_.slots.size());
    if (!added) {
      DeclaredType& before = pattern_.slots[known->second].type;
      const bool narrower = type.base != before.base && before.base == "Tensor|Scalar";
      const bool optional = before.optional && type.optional;
      if (narrower) {
        const std::string name = before.name;
        before = type;
        before.name = name;
      }
      before.optional = optional;
      return known->second;
    }
    RewriteSlot slot;
    slot.type = type;
    slot.variable = variable;
    slot.type.name = variable.empty() && key.front() == '.' ? type.name : key;
    const bool taken =
        std::any_of(pattern_.slots.begin(), pattern_.slots.end(),
                    [&](const RewriteSlot& other) { return other.type.name == slot.type.name; });
    if (taken) slot.type.name = key;
    pattern_.slots.push_back(std::move(slot));
    return known->second;
  }

  void add_op(const std::string& op) {
    if (std::find(pattern_.ops.begin(), pattern_.ops.end(), op) == pattern_.ops.end())
      pattern_.ops.push_back(op);
  }
  void add_ops(const Term& term) {
    if (term.kind == Term::Kind::call) add_op(term.name);
    // Numbers that are computed from a constant ask for one.
    if (term.kind == Term::Kind::computed) read_condition(term.computed);
    for (const Term& item : term.items) add_ops(item);
  }

  // One with more parameters than a probe has arguments, so that no rule matches a probe.
  void find_other() {
    constexpr int64_t least = 4;
    const tenon::Json ops = tenon::listing::ops();
    for (int64_t i = 0; i < ops.size() && pattern_.other.empty(); ++i) {
      const std::string name = ops[i]["name"].text();
      if (std::find(pattern_.ops.begin(), pattern_.ops.end(), name) == pattern_.ops.end() &&
          tenon::listing::op(name)["parameters"].size() >= least)
        pattern_.other = name;
    }
  }

  // ---- conditions: what makes them hold is tried first ----

  RewriteSlot* slot_named(const std::string& variable) {
    const auto found = slots_.find(variable);
    return found == slots_.end() ? nullptr : &pattern_.slots[found->second];
  }
  void collect(const Expression& expression, std::vector<Literal>& literals,
               std::vector<RewriteSlot*>& slots) {
    if (expression.kind == Expression::Kind::literal) {
      const std::vector<Literal>& list = expression.literal.list;
      literals.push_back(expression.literal);
      literals.insert(literals.end(), list.begin(), list.end());
    } else if (expression.kind == Expression::Kind::variable) {
      if (RewriteSlot* const slot = slot_named(expression.name)) slots.push_back(slot);
    } else {
      const bool layout = expression.name == "dtype" || expression.name == "shape" ||
                          expression.name == "dim" || expression.name == "numel" ||
                          expression.name == "size";
      std::vector<RewriteSlot*> measured;
      for (const Expression& operand : expression.operands)
        collect(operand, literals, layout ? measured : slots);
      if (expression.name == "list" && !expression.operands.empty() &&
          std::all_of(
              expression.operands.begin(), expression.operands.end(),
              [](const Expression& item) { return item.kind == Expression::Kind::literal; })) {
        Literal list;
        list.kind = Literal::Kind::list;
        for (const Expression& item : expression.operands) list.list.push_back(item.literal);
        literals.push_back(std::move(list));
      }
    }
  }
  void read_condition(const Expression& expression) {
    if (expression.kind != Expression::Kind::call) return;
    const std::string& name = expression.name;
    if (name == "not" && expression.operands.front().name == "constant") return;
    if (name == "constant" || name == "value" || name == "finite" || name == "least") {
      const Expression& operand = expression.operands.front();
      if (RewriteSlot* const slot = slot_named(operand.name)) {
        slot->constant = true;
        slot->single |= name == "value";
      }
    }
    for (const Expression& operand : expression.operands) read_condition(operand);
    if (name == "and" || name == "or" || name == "not") return;
    std::vector<Literal> literals;
    std::vector<RewriteSlot*> slots;
    collect(expression, literals, slots);
    for (const Literal& literal : literals) {
      for (RewriteSlot* const slot : slots) slot->hints.push_back(literal);
      constexpr int64_t most = 1024;
      if (literal.kind == Literal::Kind::integer && literal.integer >= 0 && literal.integer <= most)
        pattern_.sizes.push_back(literal.integer);
    }
  }

  const rewrites::Rule& rule_;
  RewritePattern pattern_;
  Declarations declarations_;
  std::map<std::string, size_t> slots_;
};

SampleValue scalar_of(const tenon::Scalar& scalar) {
  SampleValue value;
  value.kind = Kind::scalar;
  value.scalar = scalar;
  return value;
}

}  // namespace

std::vector<DeclaredType> RewritePattern::types() const {
  std::vector<DeclaredType> list;
  for (const RewriteSlot& slot : slots) list.push_back(slot.type);
  return list;
}

RewritePattern read_pattern(const rewrites::Rule& rule) { return PatternReader(rule).read(); }

std::optional<SampleValue> value_of(const Literal& literal) {
  SampleValue value;
  switch (literal.kind) {
    case Literal::Kind::none:
      return value;
    case Literal::Kind::boolean:
      return scalar_of(literal.integer != 0);
    case Literal::Kind::integer:
      return scalar_of(literal.integer);
    case Literal::Kind::number:
      return scalar_of(literal.number);
    case Literal::Kind::dtype:
      value.kind = Kind::dtype;
      value.dtype = static_cast<tenon::DType>(literal.integer);
      return value;
    case Literal::Kind::text:
      value.kind = Kind::text;
      value.texts.push_back({literal.text, false});
      return value;
    case Literal::Kind::list: {
      const bool whole =
          std::all_of(literal.list.begin(), literal.list.end(),
                      [](const Literal& item) { return item.kind == Literal::Kind::integer; });
      value.kind = whole ? Kind::integers : Kind::numbers;
      for (const Literal& item : literal.list) {
        if (item.kind != Literal::Kind::integer && item.kind != Literal::Kind::number)
          return std::nullopt;
        if (whole)
          value.integers.push_back(item.integer);
        else
          value.numbers.push_back(item.kind == Literal::Kind::integer
                                      ? static_cast<double>(item.integer)
                                      : item.number);
      }
      return value;
    }
    default:
      return std::nullopt;
  }
}

std::optional<SampleValue> default_value(const DeclaredType& type) {
  const std::string& text = type.default_text;
  if (!type.has_default) return std::nullopt;
  SampleValue value;
  if (text == "None") return value;
  if (text == "True" || text == "False") return scalar_of(text == "True");
  if (text.empty()) return std::nullopt;
  if (text.front() == '\'' || text.front() == '"') {
    value.kind = Kind::text;
    value.texts.push_back({text.substr(1, text.size() - 2), false});
    return value;
  }
  if (text.front() == '[') {
    const tenon::Json list = tenon::Json::parse(text);
    value.kind = type.base == "int" ? Kind::integers : Kind::numbers;
    for (int64_t i = 0; i < list.size(); ++i) {
      if (type.base == "int")
        value.integers.push_back(list[i].integer());
      else
        value.numbers.push_back(list[i].number());
    }
    return value;
  }
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end != 0) return std::nullopt;
  const bool whole = type.base != "float" && text.find_first_not_of("-0123456789") == text.npos;
  value = whole ? scalar_of(static_cast<int64_t>(number)) : scalar_of(number);
  if (!type.list) return value;
  value.kind = whole ? Kind::integers : Kind::numbers;  // int[2]: one for all
  const auto count = static_cast<size_t>(std::max<int64_t>(type.length, 1));
  value.integers.assign(count, static_cast<int64_t>(number));
  value.numbers.assign(count, number);
  return value;
}

}  // namespace cli
