// Bookkeeping after a run: versions of what it changed, and bases of the views that it made.
#pragma once

#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Words of a refused change, for the layer of checks and autograd.
inline constexpr const char* kInferenceChange =
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
    "to get a normal tensor before doing inplace update.";

// The tensor has been changed in place by the op.
inline void note_change(const Implementation& implementation, const Tensor& tensor) noexcept {
  if (tensor.storage == nullptr) return;
  tensor.storage->version.fetch_add(1, std::memory_order_relaxed);
  tensor.storage->last_writer.store(implementation.op, std::memory_order_relaxed);
}
// Notes the change of `out`, where it was given.
inline void note_out(const Implementation& implementation, const tenon_value* arguments) noexcept {
  if (implementation.out_parameter < 0) return;
  const tenon_value& given = arguments[implementation.out_parameter];
  if (given.tag == TENON_VALUE_NONE) [[likely]]  // every plain call comes here
    return;
  for_each_tensor(given, [&](const Tensor* out) { note_change(implementation, *out); });
}
// Makes `view`, which shares the storage of `input`, a view of what `input` is a view of.
void set_view_base(Tensor& view, Tensor& input) noexcept;
// After a run that has succeeded: versions of mutated operands, bases of results that are views.
void update_aliasing(const Implementation& implementation, const tenon_value* arguments,
                     tenon_value* results) noexcept;

}  // namespace tenon::core
