// Shared code of the ops of this plugin: refusals, reductions by name, shapes.
#pragma once

#include <string>
#include <string_view>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/kernel/rows.hpp>
#include <tenon/kernel/view.hpp>
#include <tenon/ops.hpp>

#include "own_ops.hpp"
#include "shared_ops/settings.hpp"

namespace nn {

using tenon::Context;
using tenon::ContextOf;
using tenon::DType;
using tenon::IntList;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;

namespace kernel = tenon::kernel;
using kernel::check_floating, kernel::check_same_dtype;
using kernel::Shape, kernel::shape_text;

enum class Reduction { none, mean, sum };
Reduction parse_reduction(const char* op, std::string_view text);
inline Tensor reduce(const Tensor& losses, Reduction reduction) {
  return reduction == Reduction::none   ? losses
         : reduction == Reduction::mean ? losses.mean()
                                        : losses.sum();
}

// The shape to which two arguments are broadcast. ValueError where they cannot be.
Shape broadcast_shape(const char* op, const char* a_name, const Tensor& a, const char* b_name,
                      const Tensor& b);

// Warns, once for each op, of an input and a target of different shapes, which are broadcast.
void warn_of_broadcast(const char* op, const Tensor& input, const Tensor& target, IntList shape);

// A contiguous tensor's storage under another shape. For kernels.
inline Tensor reshaped(const Tensor& tensor, IntList shape) {
  return tenon::alias_tensor(tensor, shape, kernel::row_major_strides(shape), 0);
}

// The tensor itself or a contiguous copy of it.
inline Tensor dense(const Tensor& tensor) { return tenon::contiguous_as(tensor, tensor.dtype()); }

// Calls body(T{}) for a floating dtype.
template <class Body>
void visit_floating(DType dtype, Body&& body) {
  kernel::visit<tenon::floating_dtypes>(dtype, body);
}

// Whether an operand of a rule is plain: without a tangent, and of no tensor type, so that a kernel
// may take it.
inline bool is_plain(const Tensor& tensor) {
  return !tensor.defined() ||
         (tensor.view_record().flags & (TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_TYPED)) == 0;
}

// factor * x, and 0 where the factor is 0 and x infinite, as xlogy has it.
Tensor product_or_zero(const Tensor& factor, const Tensor& x);

// An undefined tangent adds nothing.
inline Tensor plus(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : !b.defined() ? a : a + b;
}

}  // namespace nn
