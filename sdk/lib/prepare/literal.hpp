// Values of rules, of calls and of schemas in one form, so that they can be compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenon/prepare/call_list.hpp>
#include <tenon/prepare/rewrite.hpp>

TENON_NAMESPACE_BEGIN

namespace rewrites {

Literal boolean(bool truth);
Literal integer(int64_t number);
Literal number(double number);
Literal text(std::string text);
Literal list(std::vector<Literal> list);
// The dtype of a name, "f32" or "float32".
std::optional<Literal> dtype_literal(std::string_view name);

bool is_number(const Literal& literal);
double as_number(const Literal& literal);
// Integers and numbers are equal by value, but for the sign of zero; a NaN equals a NaN.
bool equal(const Literal& a, const Literal& b);

Literal literal_of(const tenon_value& value);
// An operand of a call: tensors by their numbers.
Literal literal_of(const prepared::ListOperand& operand);

}  // namespace rewrites

TENON_NAMESPACE_END
