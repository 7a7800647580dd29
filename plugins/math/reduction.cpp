// Destinations of the results of reductions, and results over the shape of their input.
#include "reduction.hpp"

namespace math {

Tensor reduction_result(const char* op, const Reduction& plan, DType dtype, const Tensor& out) {
  if (!out.defined()) return empty_tensor(plan.shape, dtype);
  if (!same_shape(out.shape(), plan.shape)) {
    throw ValueError(std::string(op) + "(): out has shape " + shape_text(out.shape()) +
                     ", but the result has " + shape_text(plan.shape));
  }
  if (out.dtype() != dtype) {
    throw ValueError(std::string(op) + "(): out has dtype " + dtype_text(out.dtype()) +
                     ", but the result has " + dtype_text(dtype));
  }
  return out;
}

Tensor deliver(const Tensor& result, const Tensor& out) {
  if (!out.defined() || out.is_same(result)) return result;
  copy_elements(out, result);
  return out;
}

Tensor keep_dimensions(const char* op, const Tensor& result, const Tensor& input,
                       std::optional<IntList> dims, bool keepdim) {
  if (keepdim || result.dim() == input.dim()) return result;
  return result.reshape(IntList(plan_reduction(op, input, dims, true).shape));
}

Tensor restore_dimensions(const char* op, const Tensor& gradient, const Tensor& input,
                          std::optional<IntList> dims, bool keepdim) {
  if (gradient.dim() == 0) return input.dim() == 0 ? gradient : gradient.expand(input.shape());
  return keep_dimensions(op, gradient, input, dims, keepdim).expand(input.shape());
}

}  // namespace math
