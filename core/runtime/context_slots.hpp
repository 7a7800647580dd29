// The host's slots on contexts.
#pragma once

#include "core/dispatch/context.hpp"
#include "tenon/abi/host.h"

namespace tenon::core {

const tenon_value* context_arguments(const tenon_context* context);
tenon_status context_argument(const tenon_context* context, int64_t index,
                              const tenon_value** value, tenon_error** error);
tenon_tensor* context_result(const tenon_context* context, int64_t index);
tenon_status context_kept_result(const tenon_context* context, int64_t index, tenon_tensor** result,
                                 tenon_error** error);
int64_t context_slot_count(const tenon_context* context);
int32_t context_needs_gradient(const tenon_context* context, int64_t slot);
tenon_status context_save(tenon_context* context, tenon_tensor* const* tensors, int64_t count,
                          tenon_error** error);
tenon_status context_save_for_forward(tenon_context* context, tenon_tensor* const* tensors,
                                      int64_t count, tenon_error** error);
int64_t context_saved_count(const tenon_context* context);
tenon_status context_saved(tenon_context* context, int64_t index, tenon_tensor** result,
                           tenon_error** error);
tenon_status context_mark_dirty(tenon_context* context, tenon_tensor* const* tensors, int64_t count,
                                tenon_error** error);
tenon_status context_mark_non_differentiable(tenon_context* context, tenon_tensor* const* tensors,
                                             int64_t count, tenon_error** error);
tenon_status context_set_materialize_grads(tenon_context* context, int32_t enabled,
                                           tenon_error** error);
tenon_status context_set_attribute(tenon_context* context, tenon_attribute* attribute,
                                   tenon_error** error);
tenon_status context_attribute(const tenon_context* context, const tenon_string* name,
                               const tenon_string* type, tenon_attribute** attribute,
                               tenon_error** error);
tenon_status context_erase_attribute(tenon_context* context, const tenon_string* name,
                                     tenon_error** error);
tenon_status context_attribute_tensor(const tenon_context* context,
                                      const tenon_attribute* attribute, int64_t index,
                                      tenon_tensor** result, tenon_error** error);
tenon_status context_backward_options(const tenon_context* context, uint32_t* options,
                                      tenon_error** error);
tenon_status context_take_gradients(tenon_context* context, int64_t count, tenon_tensor** gradients,
                                    tenon_error** error);
tenon_status context_give(tenon_context* context, tenon_tensor* const* tensors, int64_t count,
                          tenon_error** error);

}  // namespace tenon::core
