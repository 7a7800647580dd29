// Conditions of rules: expressions over what a pattern has bound.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenon/prepare/call_list.hpp>
#include <tenon/prepare/rewrite.hpp>

TENON_NAMESPACE_BEGIN

namespace rewrites {

// Values of variables, by name.
using Variables = std::map<std::string, prepared::ListOperand, std::less<>>;

// Why a function cannot be called with so many operands; empty where it can.
std::string function_fault(const std::string& name, size_t operands);

class Conditions {
 public:
  // `changed`, by number of memory: whether some call of the list writes it.
  Conditions(const prepared::CallList& list, const std::vector<char>& changed,
             const Variables& variables)
      : list_(list), changed_(changed), variables_(variables) {}

  // No value: an operand is of another kind, or a function has no answer.
  std::optional<Literal> value(const Expression& expression) const;
  bool holds(const Expression& condition) const;

 private:
  std::optional<Literal> call(const Expression& expression) const;
  const prepared::ListValue* tensor(const Literal& literal) const;
  bool is_constant(const prepared::ListValue& value) const;

  const prepared::CallList& list_;
  const std::vector<char>& changed_;
  const Variables& variables_;
};

}  // namespace rewrites

TENON_NAMESPACE_END
