// Checks of arguments, each with one wording: op, argument, what was found, what was expected.
#pragma once

#include <string>

#include "tenon/kernel/shape.hpp"
#include "tenon/kernel/visit.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// "[2, 3]"
inline std::string shape_text(const Tensor& tensor) { return shape_text(tensor.shape()); }

namespace detail {
[[noreturn]] inline void throw_argument_dtype(const char* op, const char* name, DType dtype,
                                              uint32_t expected) {
  tenon::detail::throw_message(
      TENON_ERROR_TYPE,
      {op, "(): '", name, "' must be ", dtypes_text(expected), ", got ", dtype_text(dtype),
       is_complex(dtype)  ? "; take real(), imag() or abs() of it"
       : is_narrow(dtype) ? "; convert it with to(float32)"
                          : "; convert it with to()"});
}
[[noreturn]] inline void throw_dtypes_differ(const char* op, const char* a_name, DType a,
                                             const char* b_name, DType b) {
  tenon::detail::throw_message(
      TENON_ERROR_TYPE,
      {op, "(): '", a_name, "' is ", dtype_text(a), " but '", b_name, "' is ", dtype_text(b),
       is_narrow(a) || is_narrow(b) ? "; convert it with to(float32)" : "; convert one with to()"});
}
[[noreturn]] inline void throw_shape(const char* op, const char* name, IntList found,
                                     IntList expected) {
  tenon::detail::throw_message(
      TENON_ERROR_VALUE,
      {op, "(): '", name, "' must have shape ", shape_text(expected), ", got ", shape_text(found)});
}
[[noreturn]] inline void throw_shapes_differ(const char* op, const char* a_name, IntList a,
                                             const char* b_name, IntList b) {
  tenon::detail::throw_message(
      TENON_ERROR_VALUE, {op, "(): '", a_name, "' of shape ", shape_text(a), " does not fit '",
                          b_name, "' of shape ", shape_text(b)});
}
[[noreturn]] inline void throw_rank(const char* op, int64_t rank) {
  tenon::detail::throw_message(TENON_ERROR_VALUE,
                               {op, "(): the result would have ", rank, " dimensions, at most ",
                                TENON_MAX_RANK, " are possible"});
}
}  // namespace detail

// TypeError unless the argument's dtype is one of a set; f16 and bf16 count as f32, in which their
// ops are computed.
inline void check_dtype(const char* op, const char* name, DType dtype, uint32_t dtypes) {
  if (__builtin_expect((dtypes & dtype_bit(compute_dtype(dtype))) == 0, 0))
    detail::throw_argument_dtype(op, name, dtype, dtypes);
}
inline void check_floating(const char* op, const char* name, DType dtype) {  // TypeError for others
  check_dtype(op, name, dtype, floating_dtypes);
}
// TypeError for a dtype that is not floating.
inline void check_floating(const char* op, const char* name, const Tensor& tensor) {
  check_floating(op, name, tensor.dtype());
}
// TypeError unless two arguments have one dtype.
inline void check_same_dtype(const char* op, const char* a_name, const Tensor& a,
                             const char* b_name, const Tensor& b) {
  if (__builtin_expect(a.dtype() != b.dtype(), 0))
    detail::throw_dtypes_differ(op, a_name, a.dtype(), b_name, b.dtype());
}
// ValueError unless it has this shape.
inline void check_shape(const char* op, const char* name, const Tensor& tensor, IntList expected) {
  if (__builtin_expect(!same_shape(tensor.shape(), expected), 0))
    detail::throw_shape(op, name, tensor.shape(), expected);
}
// ValueError unless two arguments have one shape.
inline void check_same_shape(const char* op, const char* a_name, const Tensor& a,
                             const char* b_name, const Tensor& b) {
  if (__builtin_expect(!same_shape(a.shape(), b.shape()), 0))
    detail::throw_shapes_differ(op, a_name, a.shape(), b_name, b.shape());
}
// ValueError when a result would have more dimensions than tensors can have.
inline void check_rank(const char* op, int64_t rank) {
  if (__builtin_expect(rank > TENON_MAX_RANK, 0)) detail::throw_rank(op, rank);
}

}  // namespace kernel
TENON_NAMESPACE_END
