// The slots of the host's services over the core: a slot turns handles into objects and exceptions
// into statuses.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/autograd/hooks/hook_handle.hpp"
#include "core/base/error.hpp"
#include "core/base/json.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "core/dispatch/types/type_table.hpp"
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

// The services, as constants without their heads. Each is a copy of the file's own
// table: lambdas of a table that other files see would not become a part of their slots.
extern const tenon_values_service values_service;
extern const tenon_tensors_service tensors_service;
extern const tenon_ops_service ops_service;
extern const tenon_contexts_service contexts_service;
extern const tenon_autograd_service autograd_service;
extern const tenon_graph_service graph_service;
extern const tenon_types_service types_service;
extern const tenon_modes_service modes_service;
extern const tenon_modules_service modules_service;
extern const tenon_threads_service threads_service;
extern const tenon_documents_service documents_service;
extern const tenon_plugins_service plugins_service;
extern const tenon_dlpack_service dlpack_service;
extern const tenon_calls_service calls_service;

// Has calls of any thread join the trace of the process.
void trace_calls(tenon_ops_service& ops);

// Slots of the host itself: a service by name, and the end of its lease.
tenon_status ask_service(const char* name, uint32_t version, const void** table,
                         tenon_lease** lease, tenon_error** error);
void release_service(tenon_lease* lease);

// ---- a slot from a function ----

// Results as they cross the boundary, owned by the caller.
inline tenon_tensor* give(TensorRef result) noexcept { return result.give(); }
inline tenon_json* give(Json result) noexcept { return result.give(); }
inline tenon_value give(const std::string& result) { return make_string(result); }
template <class Result>
Result give(Result result) noexcept {
  return result;
}

template <class Body, class Result, class... Parameters>
constexpr auto slot_of(Result (Body::*)(Parameters...) const) {
  if constexpr (std::is_void_v<Result>) {
    return [](Parameters... parameters, tenon_error** error) -> tenon_status {
      return guarded(error, [&] { Body{}(parameters...); });
    };
  } else {
    using Given = decltype(give(std::declval<Result>()));
    return [](Parameters... parameters, Given* result, tenon_error** error) -> tenon_status {
      return guarded(error, [&] { *result = give(Body{}(parameters...)); });
    };
  }
}
// The slot that calls a lambda without captures: an exception becomes status and error, a result is
// given through a pointer, which the slot takes before that of the error.
template <class Body>
constexpr auto slot(Body) {
  return slot_of(&Body::operator());
}

// ---- what slots share ----

template <class T>
void require_not_null(const T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(TENON_ERROR_ARGUMENT, "{} is null", what);
}
// The object of a handle; ArgumentError for a null one.
template <class T>
T& checked(T* handle, const char* what) {
  require_not_null(handle, what);
  return *handle;
}
inline Tensor& checked(Tensor* tensor) { return checked(tensor, "the tensor"); }
inline const Tensor& checked(const Tensor* tensor) { return checked(tensor, "the tensor"); }
[[noreturn, gnu::cold]] void fail_without_data(const Tensor* tensor, const char* what);
// An object of a type that does not derive from Tensor has a shape and a dtype only.
inline void require_data(const Tensor* tensor, const char* what) {
  if (tensor == nullptr || tensor->has_flag(TENON_TENSOR_SHAPE_ONLY)) [[unlikely]]
    fail_without_data(tensor, what);
}
// One whose elements only its own type reads has a storage, and so views and sharing.
inline void require_storage(const Tensor* tensor, const char* what) {
  if (tensor == nullptr || tensor->storage == nullptr) require_data(tensor, what);
}
// Only tensors with data, or types convertible to one, can require grad.
void require_gradients(const Tensor* tensor);
// And a gradient, which may be null, in the memory of its tensor, as far as types have their own.
void require_gradient_memory(const Tensor* tensor, const Tensor* grad);

// The override "add[A, B]", types in any order, of that plugin, or the one that ranks first when
// `provider` is empty. Loads the plugins of the types. ValueError when no override has the key.
const Override& find_override(TypeTable& types, std::string_view key, std::string_view provider);
// The place of a parameter; IndexError when there is none of the name.
int64_t parameter_place(const Schema& schema, std::string_view name);

[[noreturn, gnu::cold]] void fail_rank(int64_t rank);
inline Shape shape_of(const int64_t* values, int64_t rank) {
  if (rank < 0 || rank > TENON_MAX_RANK) [[unlikely]]
    fail_rank(rank);
  return {values, static_cast<size_t>(rank)};
}
std::span<Tensor* const> tensors_of(tenon_tensor* const* tensors, int64_t count);
template <class T>
std::span<const T> span_of(const T* items, int64_t count) {
  return {items, static_cast<size_t>(count)};
}

// Calls `hang(std::shared_ptr<HookBodyOf<Function>>)`, which registers the hook and returns its
// handle. Takes the state, whatever happens.
template <class Function, class Register>
tenon_status add_hook(Function* function, void* state, void (*destroy)(void*), tenon_hook** hook,
                      tenon_error** error, Register&& hang) {
  std::shared_ptr<HookBodyOf<Function>> body;
  const tenon_status status = guarded(error, [&] {
    struct Give {
      void* state;
      void (*destroy)(void*);
      ~Give() {
        if (destroy != nullptr) destroy(state);
      }
    } give{state, destroy};
    body = std::make_shared<HookBodyOf<Function>>(function, state, destroy);
    give.destroy = nullptr;
  });
  if (status != TENON_OK) return status;
  return guarded(error, [&] {
    if (function == nullptr) throw Error(TENON_ERROR_ARGUMENT, "the hook's function is null");
    const HookHandle handle = hang(std::move(body));
    if (hook != nullptr) *hook = new tenon_hook{1, handle};
  });
}

}  // namespace tenon::core
