// Which changes in place can be recorded.
#pragma once

#include <string>
#include <string_view>

#include "core/autograd/graph/node.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Throws when an in-place change of the tensor cannot be recorded: leaves that require grad, views
// of them, views made where nothing was recorded, and views of bases that are not dense.
void check_inplace(Tensor& tensor, std::string_view op);

// Whether a change of the tensor in place changes what requires grad.
inline bool has_history(const Tensor& tensor) {
  return tensor.requires_grad() ||
         (tensor.view_base != nullptr && tensor.view_base->requires_grad());
}
// Throws when two elements of the tensor may be one in memory: a change of it has no derivative
// that its elements determine.
void require_disjoint(const Tensor& tensor, std::string_view op);

// ---- for histories of views ----
// Whether two indices may lead to the same element; exact only for layouts that nest.
bool may_overlap(Shape shape, Shape strides);
// Throws unless the view is in the memory of its base, which must be row-major: the gradient of
// another layout has no place for that of the view.
void require_place(const Tensor& view, const Tensor& base);
// The tensor that was changed, for a view that is refused.
enum class Changed { view, base };
// Throws for a view that a Function returns without declaring it, or that hook_gradients made, and
// for views of it: its history is a rule which reading the view out of its changed base would
// bypass.
void check_function_view(const Tensor& view, Changed changed);
// For a view that was made where nothing is recorded: its change would not reach the base's
// history, nor the base's change its own.
[[noreturn, gnu::cold]] void fail_unrecorded_view(const Tensor& view, const std::string& changed);

}  // namespace tenon::core
