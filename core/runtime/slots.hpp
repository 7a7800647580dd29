// The slots of the host's services over the core, a file for each group: a slot turns handles into
// objects and exceptions into statuses.
#pragma once

#include <span>
#include <string_view>

#include "core/base/error.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/host.h"
#include "tenon/abi/services.h"

namespace tenon::core {

// The tables of all services of the host.
struct Services {
#define TENON_SERVICE_TABLE(name, NAME) tenon_##name##_service name;
  TENON_SERVICES(TENON_SERVICE_TABLE)
#undef TENON_SERVICE_TABLE
};
// The process's; they never change.
const Services& host_services() noexcept;
// One of them by its name, "tenon.ops"; null when there is none.
const tenon_service* find_host_service(std::string_view name) noexcept;

// Each fills in the slots of its group.
void add_autograd_slots(Services& services);
void add_context_slots(Services& services);
void add_json_slots(Services& services);
void add_mode_slots(Services& services);
void add_module_slots(Services& services);
void add_op_slots(Services& services);
void add_runtime_slots(Services& services);
void add_tensor_slots(Services& services);
void add_type_slots(Services& services);
void add_value_slots(Services& services);

// Slots of the host itself: a service by name, and the end of its lease.
tenon_status ask_service(const char* name, uint32_t version, const void** table,
                         tenon_lease** lease, tenon_error** error);
void release_service(tenon_lease* lease);

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
