// Forward mode: tangents that ops carry along while a level is open.
#pragma once

#include <vector>

#include "core/dispatch/context.hpp"
#include "core/dispatch/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// One level at a time in the process's present thread. Throws RuntimeError when one is open
// already, or none is.
void enter_dual_level();
void exit_dual_level();

// A new handle on the primal's data that carries the tangent. Throws when shapes or dtypes do not
// fit, or no level is open.
TensorRef make_dual(Tensor& primal, Tensor& tangent);
// The tangent at the present level; null when there is none.
Tensor* tangent_of(const Tensor& tensor);

// Whether some operand carries a tangent of the present level.
bool carries_tangent(const Implementation& implementation, const tenon_value* arguments);
// Throws when the op cannot carry tangents: no jvp, or an `out` operand.
void check_dual(const Implementation& implementation, const tenon_value* arguments);
// After the call has run: computes and attaches the tangents of the results.
void propagate_tangents(const Implementation& implementation, const tenon_value* arguments,
                        const std::vector<TensorRef>& originals,
                        const std::vector<Tensor**>& results, FunctionNotes* notes);

}  // namespace tenon::core
