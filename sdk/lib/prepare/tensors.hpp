// Copies, stand-ins and comparisons of tensors.
#pragma once

#include <string>
#include <vector>

#include <tenon/prepare/call_list.hpp>
#include <tenon/tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

// Few sizes or strides, which a call of memcmp would take longer for.
inline bool same_numbers(const int64_t* a, const int64_t* b, uint32_t count) {
  bool same = true;
  for (uint32_t i = 0; i < count; ++i) same &= a[i] == b[i];
  return same;
}

// Dtype, shape and strides without data.
Tensor stand_in(const Tensor& tensor);
// A copy of the memory that the tensor reaches, in the same layout.
Tensor copy_of(const Tensor& tensor);
bool same_layout(const Tensor& a, const Tensor& b);
// Equal layouts, and equal bits of all elements.
bool same_elements(const Tensor& a, const Tensor& b);
int64_t bytes_of(const Tensor& tensor);
// Returns what the allocator keeps to the system where so many bytes were freed: results of other sizes follow,
// which do not fit into their blocks.
void release_freed(int64_t bytes);
// Whether it can say which way a model takes, or how often: integers or booleans, at most `most`.
bool is_number(const Tensor& tensor, int64_t most);
// "f32[8, 3]"
std::string layout_text(const Tensor& tensor);
bool same_literal(const tenon_value& a, const tenon_value& b);
// Whether both have the same values and literals.
bool same_operands(const std::vector<ListOperand>& a, const std::vector<ListOperand>& b);

}  // namespace prepared

TENON_NAMESPACE_END
