// Shared code of the reductions: destinations of results, and results over the shape of their
// input.
#pragma once

#include <tenon/kernel/reduce.hpp>
#include <tenon/kernel/view.hpp>

#include "dimensions.hpp"

namespace math {

using kernel::Reduction, kernel::plan_nonempty_reduction, kernel::plan_reduction;

// The tensor that an op writes to: `out` when it is given and fits, else a new tensor.
Tensor reduction_result(const char* op, const Reduction& plan, DType dtype, const Tensor& out);
// Copies the result to `out`, when it could not be written there directly.
Tensor deliver(const Tensor& result, const Tensor& out);

// The result `gradient` of a reduction of `input` along argument `dim`, laid over the input's
// shape; ops only.
Tensor restore_dimensions(const char* op, const Tensor& gradient, const Tensor& input,
                          std::optional<IntList> dims, bool keepdim);
// The result with size 1 in place of the reduced dimensions.
Tensor keep_dimensions(const char* op, const Tensor& result, const Tensor& input,
                       std::optional<IntList> dims, bool keepdim);

}  // namespace math
