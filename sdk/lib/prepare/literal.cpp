#include "literal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <tenon/dtype_name.hpp>

TENON_NAMESPACE_BEGIN

namespace rewrites {

using LiteralKind = Literal::Kind;

Literal boolean(bool truth) {
  Literal literal;
  literal.kind = LiteralKind::boolean;
  literal.integer = truth ? 1 : 0;
  return literal;
}
Literal integer(int64_t number) {
  Literal literal;
  literal.kind = LiteralKind::integer;
  literal.integer = number;
  return literal;
}
Literal number(double number) {
  Literal literal;
  literal.kind = LiteralKind::number;
  literal.number = number;
  return literal;
}
Literal text(std::string text) {
  Literal literal;
  literal.kind = LiteralKind::text;
  literal.text = std::move(text);
  return literal;
}
Literal list(std::vector<Literal> list) {
  Literal literal;
  literal.kind = LiteralKind::list;
  literal.list = std::move(list);
  return literal;
}
std::optional<Literal> dtype_literal(std::string_view name) {
  const std::optional<DType> dtype = dtype_named(name);
  if (!dtype) return std::nullopt;
  Literal literal;
  literal.kind = LiteralKind::dtype;
  literal.integer = static_cast<int64_t>(*dtype);
  return literal;
}

bool is_number(const Literal& literal) {
  return literal.kind == LiteralKind::integer || literal.kind == LiteralKind::number;
}
double as_number(const Literal& literal) {
  return literal.kind == LiteralKind::number ? literal.number
                                             : static_cast<double>(literal.integer);
}

bool equal(const Literal& a, const Literal& b) {
  if (is_number(a) && is_number(b)) {
    if (a.kind == b.kind && a.kind == LiteralKind::integer) return a.integer == b.integer;
    const double one = as_number(a), other = as_number(b);
    return std::isnan(one) ? std::isnan(other)
                           : one == other && std::signbit(one) == std::signbit(other);
  }
  return a.kind == b.kind && a.integer == b.integer && a.text == b.text &&
         std::equal(a.list.begin(), a.list.end(), b.list.begin(), b.list.end(), equal);
}

Literal literal_of(const tenon_value& value) {
  Literal literal;
  const auto fill = [&](auto&& element) {
    literal.kind = LiteralKind::list;
    for (uint32_t i = 0; i < value.length; ++i) literal.list.push_back(element(i));
  };
  switch (value.tag) {
    case TENON_VALUE_BOOL:
      return boolean(value.as.integer != 0);
    case TENON_VALUE_INT:
      return integer(value.as.integer);
    case TENON_VALUE_FLOAT:
      return number(value.as.number);
    case TENON_VALUE_DTYPE:
      literal.kind = LiteralKind::dtype;
      literal.integer = value.as.integer;
      break;
    case TENON_VALUE_STRING:
      return text({value.as.string, value.length});
    case TENON_VALUE_INT_LIST:
      fill([&](uint32_t i) { return integer(value.as.integers[i]); });
      break;
    case TENON_VALUE_FLOAT_LIST:
      fill([&](uint32_t i) { return number(value.as.numbers[i]); });
      break;
    case TENON_VALUE_BOOL_LIST:
      fill([&](uint32_t i) { return boolean(value.as.booleans[i] != 0); });
      break;
    case TENON_VALUE_STRING_LIST:
      fill([&](uint32_t i) {
        const tenon_string& one = value.as.strings[i];
        return text({one.data, static_cast<size_t>(one.length)});
      });
      break;
    default:
      break;
  }
  return literal;
}

Literal literal_of(const prepared::ListOperand& operand) {
  if (operand.kind == prepared::ListOperand::Kind::literal)
    return operand.literal == nullptr ? Literal() : literal_of(operand.literal->get());
  const auto tensor = [](int64_t value) {
    Literal literal;
    if (value == prepared::undefined_value) return literal;
    literal.kind = LiteralKind::tensor;
    literal.integer = value;
    return literal;
  };
  if (operand.kind == prepared::ListOperand::Kind::tensor) return tensor(operand.values.front());
  std::vector<Literal> tensors;
  for (const int64_t value : operand.values) tensors.push_back(tensor(value));
  return list(std::move(tensors));
}

}  // namespace rewrites

TENON_NAMESPACE_END
