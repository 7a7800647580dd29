// Checks of operands of products.
#pragma once

#include <string>
#include <string_view>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/ops.hpp>

namespace products {

using tenon::Tensor;
using tenon::kernel::shape_text;

[[noreturn, gnu::cold]] inline void throw_rank(const char* op, const char* name, int64_t expected,
                                               const Tensor& found) {
  throw tenon::ValueError(
      std::string(op) + "(): '" + name + "' must have " + std::to_string(expected) +
      (expected == 1 ? " dimension" : " dimensions") + ", got shape " + shape_text(found) +
      (std::string_view(op) == "matmul" ? "" : "; matmul() takes any number"));
}
[[noreturn, gnu::cold]] inline void throw_inner_sizes(const char* op, const Tensor& a,
                                                      const Tensor& b) {
  throw tenon::ValueError(std::string(op) + "(): inner sizes differ: " + shape_text(a) + " and " +
                          shape_text(b));
}
[[noreturn, gnu::cold]] inline void throw_batch_sizes(const char* op, const Tensor& a,
                                                      const Tensor& b) {
  throw tenon::ValueError(std::string(op) + "(): batch sizes differ: " + shape_text(a) + " and " +
                          shape_text(b));
}
[[noreturn, gnu::cold]] inline void throw_bool(const char* op) {
  throw tenon::TypeError(std::string(op) +
                         "(): bool tensors have no product; convert them with to()");
}

inline void check_rank(const char* op, const char* name, int64_t expected, const Tensor& found) {
  if (__builtin_expect(found.dim() != expected, 0)) throw_rank(op, name, expected, found);
}
inline void check_dtypes(const char* op, const char* a_name, const Tensor& a, const char* b_name,
                         const Tensor& b) {
  tenon::kernel::check_same_dtype(op, a_name, a, b_name, b);
  if (__builtin_expect(a.dtype() == tenon::boolean, 0)) throw_bool(op);
}
inline void check_inner_sizes(const char* op, const Tensor& a, const Tensor& b, int64_t a_size,
                              int64_t b_size) {
  if (__builtin_expect(a_size != b_size, 0)) throw_inner_sizes(op, a, b);
}

}  // namespace products
