// Operators on tensors: a + b, 2 * a, a < b, -a, a += b. ops.hpp has the ops of math and blas as
// functions and methods.
#pragma once

#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// Calls with all arguments of the op, so that a call fills in nothing.
#define TENON_BINARY_CALL(name, ...)                                 \
  inline Tensor name##_of(const Argument& a, const Argument& b) {    \
    static WrappedOp op(#name);                                      \
    const tenon_value given[] = {a.value(), b.value(), __VA_ARGS__}; \
    return op.call_operator<Tensor>(given);                          \
  }
TENON_BINARY_CALL(add, int_value(1), tenon_value{})
TENON_BINARY_CALL(sub, int_value(1), tenon_value{})
TENON_BINARY_CALL(mul, tenon_value{})
TENON_BINARY_CALL(div, tenon_value{})
TENON_BINARY_CALL(lt, tenon_value{})
TENON_BINARY_CALL(le, tenon_value{})
TENON_BINARY_CALL(gt, tenon_value{})
TENON_BINARY_CALL(ge, tenon_value{})
#undef TENON_BINARY_CALL

}  // namespace detail

#define TENON_BINARY_OPERATOR(attribute, symbol, name)                          \
  attribute inline Tensor operator symbol(const Tensor& a, const Argument& b) { \
    return detail::name##_of(a, b);                                             \
  }                                                                             \
  attribute inline Tensor operator symbol(const Scalar& a, const Tensor& b) {   \
    return detail::name##_of(a, b);                                             \
  }
// Flattened: one function call less for each operation.
TENON_BINARY_OPERATOR([[gnu::flatten]], +, add)
TENON_BINARY_OPERATOR([[gnu::flatten]], -, sub)
TENON_BINARY_OPERATOR([[gnu::flatten]], *, mul)
TENON_BINARY_OPERATOR([[gnu::flatten]], /, div)
TENON_BINARY_OPERATOR(, <, lt)
TENON_BINARY_OPERATOR(, <=, le)
TENON_BINARY_OPERATOR(, >, gt)
TENON_BINARY_OPERATOR(, >=, ge)
#undef TENON_BINARY_OPERATOR

inline Tensor operator-(const Tensor& a) {
  static detail::WrappedOp op("neg");
  const tenon_value given[] = {detail::tensor_value(a), {}};
  return op.call_operator<Tensor>(given);
}

#define TENON_ASSIGNMENT_OPERATOR(symbol, name, ...)             \
  inline Tensor& operator symbol(Tensor& a, const Argument& b) { \
    static detail::WrappedOp op(#name);                          \
    const tenon_value given[] = {__VA_ARGS__};                   \
    op.call_operator<Tensor>(given);                             \
    return a;                                                    \
  }
// Adds in place, as the op does; differentiable.
TENON_ASSIGNMENT_OPERATOR(+=, add_, detail::tensor_value(a), b.value(), detail::int_value(1))
// Subtracts in place, as the op does; differentiable.
TENON_ASSIGNMENT_OPERATOR(-=, sub_, detail::tensor_value(a), b.value(), detail::int_value(1))
// Multiplies in place, as the op does; differentiable.
TENON_ASSIGNMENT_OPERATOR(*=, mul_, detail::tensor_value(a), b.value())
// Divides in place, as the op does; differentiable.
TENON_ASSIGNMENT_OPERATOR(/=, div_, detail::tensor_value(a), b.value())
#undef TENON_ASSIGNMENT_OPERATOR

TENON_NAMESPACE_END
