#include "conditions.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <tenon/gradcheck_numbers.hpp>
#include <tenon/text.hpp>

#include "lib/base/format.hpp"
#include "literal.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

using lib::format_text;
using LiteralKind = Literal::Kind;

namespace {

// ---- of tensors ----

using prepared::ListValue;

Literal shape_of(const ListValue& value) {
  std::vector<Literal> sizes;
  for (const int64_t size : value.layout.shape()) sizes.push_back(integer(size));
  return list(std::move(sizes));
}
std::optional<Literal> item_at(const std::vector<Literal>& items, const Literal& place) {
  const auto count = static_cast<int64_t>(items.size());
  if (place.kind != LiteralKind::integer || place.integer < -count || place.integer >= count)
    return std::nullopt;
  return items[static_cast<size_t>(place.integer < 0 ? place.integer + count : place.integer)];
}

// ---- of numbers ----

bool is_near(double a, double b) {
  constexpr double most = 1e-6;
  return a == b || std::abs(a - b) <= most * std::max(std::abs(a), std::abs(b));
}
int64_t floor_divided(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
std::optional<Literal> whole_result(const std::string& sign, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (sign == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (sign == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (sign == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
    const int64_t times = floor_divided(a, b);
    result = sign == "%" ? a - times * b : times;
  }
  if (overflow) return std::nullopt;
  return integer(result);
}
std::optional<Literal> result_of(const std::string& sign, const Literal& a, const Literal& b) {
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  if (a.kind == LiteralKind::integer && b.kind == LiteralKind::integer && sign != "/")
    return whole_result(sign, a.integer, b.integer);
  const double one = as_number(a), other = as_number(b);
  if (sign == "+") return number(one + other);
  if (sign == "-") return number(one - other);
  if (sign == "*") return number(one * other);
  if (sign == "/") return number(one / other);
  const double times = std::floor(one / other);
  return number(sign == "//" ? times : one - times * other);
}
// By value: unlike elements of calls, zeros of both signs are equal, and no NaN is.
bool compare(const std::string& sign, const Literal& a, const Literal& b) {
  if (is_number(a) && is_number(b)) {
    const double one = as_number(a), other = as_number(b);
    return sign == "==" ? one == other : sign == "<" ? one < other : one <= other;
  }
  if (sign != "==") return false;
  if (a.kind != LiteralKind::list || b.kind != LiteralKind::list) return equal(a, b);
  return a.list.size() == b.list.size() &&
         std::equal(
             a.list.begin(), a.list.end(), b.list.begin(),
             [&](const Literal& one, const Literal& other) { return compare(sign, one, other); });
}

// Whether no element is nan or infinite.
bool has_finite_elements(const Tensor& tensor) {
  const std::vector<double> numbers = detail::numbers_of(tensor);
  return std::all_of(numbers.begin(), numbers.end(),
                     [](double element) { return std::isfinite(element); });
}

// Nothing for a tensor without elements, and for one with nan, beside which no number is the least.
std::optional<Literal> least_element(const Tensor& tensor) {
  const std::vector<double> numbers = detail::numbers_of(tensor);
  if (numbers.empty() || std::any_of(numbers.begin(), numbers.end(),
                                     [](double element) { return std::isnan(element); }))
    return std::nullopt;
  return number(*std::min_element(numbers.begin(), numbers.end()));
}

struct Function {
  const char* name;
  size_t operands;
};
constexpr Function kFunctions[] = {{"size", 2},  {"dim", 1},        {"numel", 1},    {"dtype", 1},
                                   {"shape", 1}, {"contiguous", 1}, {"value", 1},    {"len", 1},
                                   {"near", 2},  {"same_shape", 2}, {"constant", 1}, {"min", 2},
                                   {"max", 2},   {"is_tensor", 1},  {"finite", 1},   {"least", 1}};

}  // namespace

std::string function_fault(const std::string& name, size_t operands) {
  std::vector<std::string> names;
  for (const Function& one : kFunctions) {
    if (name == one.name)
      return operands == one.operands
                 ? ""
                 : format_text("{}() with {}: it takes {}", name,
                               counted(static_cast<int64_t>(operands), "operand"), one.operands);
    names.emplace_back(one.name);
  }
  return format_text("the unknown function '{}'{}", name, suggestion(name, names));
}

const ListValue* Conditions::tensor(const Literal& literal) const {
  return literal.kind == LiteralKind::tensor ? &list_.values[static_cast<size_t>(literal.integer)]
                                             : nullptr;
}
bool Conditions::is_constant(const ListValue& value) const {
  const auto memory = static_cast<size_t>(value.memory);
  return value.kind == ListValue::Kind::constant &&
         (memory >= changed_.size() || changed_[memory] == 0);
}

std::optional<Literal> Conditions::value(const Expression& expression) const {
  if (expression.kind == Expression::Kind::literal) return expression.literal;
  if (expression.kind == Expression::Kind::call) return call(expression);
  const auto found = variables_.find(expression.name);
  if (found == variables_.end()) return std::nullopt;
  return literal_of(found->second);
}

bool Conditions::holds(const Expression& condition) const {
  const std::optional<Literal> found = value(condition);
  return found && found->kind == LiteralKind::boolean && found->integer != 0;
}

std::optional<Literal> Conditions::call(const Expression& expression) const {
  const std::string& name = expression.name;
  if (name == "or" || name == "and") {
    const bool first = holds(expression.operands[0]);
    if (first == (name == "or")) return boolean(first);
    return boolean(holds(expression.operands[1]));
  }
  std::vector<Literal> operands;
  for (const Expression& operand : expression.operands) {
    std::optional<Literal> found = value(operand);
    if (!found) return std::nullopt;
    operands.push_back(std::move(*found));
  }
  if (name == "list") return list(std::move(operands));
  const Literal& a = operands[0];
  if (name == "not") {
    if (a.kind != LiteralKind::boolean) return std::nullopt;
    return boolean(a.integer == 0);
  }
  if (name == "negative") {
    if (a.kind == LiteralKind::integer) return whole_result("-", 0, a.integer);
    if (a.kind == LiteralKind::number) return number(-a.number);
    return std::nullopt;
  }
  if (name == "len") {
    if (a.kind != LiteralKind::list) return std::nullopt;
    return integer(static_cast<int64_t>(a.list.size()));
  }
  const ListValue* const tensor = this->tensor(a);
  if (name == "is_tensor") return boolean(tensor != nullptr);
  if (name == "constant") return boolean(tensor != nullptr && is_constant(*tensor));
  if (name == "finite") {
    if (tensor != nullptr)
      return boolean(is_constant(*tensor) && has_finite_elements(tensor->constant));
    return boolean(!is_number(a) || std::isfinite(as_number(a)));
  }
  if (name == "least") {
    if (tensor == nullptr) return is_number(a) ? std::optional(a) : std::nullopt;
    if (!is_constant(*tensor) || is_complex(tensor->constant.dtype())) return std::nullopt;
    return least_element(tensor->constant);
  }
  if (name == "value") {
    if (a.kind != LiteralKind::tensor) return a;
    if (!is_constant(*tensor) || tensor->constant.numel() != 1 ||
        is_complex(tensor->constant.dtype()))
      return std::nullopt;
    tenon_value item{};
    detail::check(service::tensors().item, tensor->constant.handle(), &item);
    return literal_of(item);
  }
  if (operands.size() == 1 || name == "size") {
    if (tensor == nullptr) return std::nullopt;
    if (name == "dim") return integer(tensor->layout.dim());
    if (name == "numel") return integer(tensor->layout.numel());
    if (name == "shape") return shape_of(*tensor);
    if (name == "contiguous") return boolean(tensor->layout.is_contiguous());
    if (name == "size") return item_at(shape_of(*tensor).list, operands[1]);
    Literal dtype;
    dtype.kind = LiteralKind::dtype;
    dtype.integer = static_cast<int64_t>(tensor->layout.dtype());
    return dtype;
  }
  const Literal& b = operands[1];
  if (name == "[]") return a.kind == LiteralKind::list ? item_at(a.list, b) : std::nullopt;
  if (name == "same_shape") {
    const ListValue* const other = this->tensor(b);
    if (tensor == nullptr || other == nullptr) return std::nullopt;
    return boolean(equal(shape_of(*tensor), shape_of(*other)));
  }
  if (name == "in") {
    if (b.kind != LiteralKind::list) return std::nullopt;
    return boolean(std::any_of(b.list.begin(), b.list.end(),
                               [&](const Literal& one) { return compare("==", a, one); }));
  }
  if (name == "==" || name == "!=") return boolean(compare("==", a, b) == (name == "=="));
  if (name == "<" || name == "<=") return boolean(compare(name, a, b));
  if (name == ">" || name == ">=") return boolean(compare(name == ">" ? "<" : "<=", b, a));
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  if (name == "near") return boolean(is_near(as_number(a), as_number(b)));
  if (name == "min" || name == "max")
    return (as_number(a) < as_number(b)) == (name == "min") ? a : b;
  return result_of(name, a, b);
}

}  // namespace rewrites

TENON_NAMESPACE_END
