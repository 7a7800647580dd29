// Versions and view bases after a run.
#include "core/dispatch/call/aliasing.hpp"

#include "core/dispatch/call/operands.hpp"

namespace tenon::core {

void set_view_base(Tensor& view, Tensor& input) noexcept {
  Tensor* base = input.view_base == nullptr ? &input : input.view_base;
  base->retain();
  if (view.view_base != nullptr) view.view_base->release();
  view.view_base = base;
  view.view_version = view.version();
  // Recording replaces it, also where it has switched grad mode off for the kernel.
  view.view_origin = input.view_origin != ViewOrigin::recorded ? input.view_origin
                     : thread_state.inference                  ? ViewOrigin::inference
                     : thread_state.grad_enabled               ? ViewOrigin::recorded
                                                               : ViewOrigin::no_grad;
  view.view.flags |= TENON_TENSOR_VIEW;
}

void update_aliasing(const Implementation& implementation, const tenon_value* arguments,
                     tenon_value* results) noexcept {
  for_each_mutated(implementation, arguments,
                   [&](const Tensor* tensor, uint32_t) { note_change(implementation, *tensor); });
  if (!implementation.aliases) return;
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    const int32_t parameter = implementation.result_alias[r];
    if (parameter < 0 || arguments[parameter].tag != TENON_VALUE_TENSOR) continue;
    Tensor* input = arguments[parameter].as.tensor;
    for_each_tensor(results[r], [&](Tensor* view) {
      if (view != input && view->view_base == nullptr && view->storage == input->storage)
        set_view_base(*view, *input);
    });
  }
}

}  // namespace tenon::core
