// The host's slots over the core, a file for each group: a slot turns handles into objects and
// exceptions into statuses.
#pragma once

#include <span>
#include <string_view>

#include "core/base/error.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/host.h"

namespace tenon::core {

// Each fills in the slots of its group.
void add_autograd_slots(tenon_host& host);
void add_context_slots(tenon_host& host);
void add_json_slots(tenon_host& host);
void add_mode_slots(tenon_host& host);
void add_module_hook_slots(tenon_host& host);
void add_module_slots(tenon_host& host);
void add_op_slots(tenon_host& host);
void add_runtime_slots(tenon_host& host);
void add_tensor_slots(tenon_host& host);
void add_type_slots(tenon_host& host);
void add_value_slots(tenon_host& host);

template <class T>
void require_not_null(const T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(TENON_ERROR_ARGUMENT, "{} is null", what);
}
[[noreturn, gnu::cold]] void fail_without_data(const Tensor* tensor, const char* what);
// An object of a type that does not derive from Tensor has a shape and a dtype only.
inline void require_data(const Tensor* tensor, const char* what) {
  if (tensor == nullptr || tensor->has_flag(TENON_TENSOR_SHAPE_ONLY)) [[unlikely]]
    fail_without_data(tensor, what);
}
// Only tensors with data, or types convertible to one, can require grad.
void require_gradients(const Tensor* tensor);

// The place of a parameter; IndexError when there is none of the name.
int64_t parameter_place(const Schema& schema, std::string_view name);

[[noreturn, gnu::cold]] void fail_rank(int64_t rank);
inline Shape shape_of(const int64_t* values, int64_t rank) {
  if (rank < 0 || rank > TENON_MAX_RANK) [[unlikely]]
    fail_rank(rank);
  return {values, static_cast<size_t>(rank)};
}
std::span<Tensor* const> tensors_of(tenon_tensor* const* tensors, int64_t count);

}  // namespace tenon::core
