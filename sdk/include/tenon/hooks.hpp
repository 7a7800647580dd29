// Hooks: functions that run with gradients on their way through a graph.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

// A handle of a registered hook. Destroying the handle does not remove the hook. Any thread.
class Hook {
 public:
  Hook() = default;
  static Hook take(tenon_hook* handle) noexcept {  // takes the reference
    Hook hook;
    hook.handle_ = handle;
    return hook;
  }
  Hook(const Hook& other) noexcept : handle_(other.handle_) {
    if (handle_ != nullptr) service::graph().hook_retain(handle_);
  }
  Hook(Hook&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Hook& operator=(Hook other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Hook() {
    if (handle_ != nullptr) service::graph().hook_release(handle_);
  }
  // The hook will not run again, not even in a backward already in progress. Does nothing when it
  // was already removed.
  void remove() const { service::graph().hook_remove(handle_); }
  // Inside a hook: whether the running backward reaches the tensor or node of this one.
  bool awaited() const { return service::graph().backward_reaches(handle_) != 0; }
  // The id that Tensor::remove_hook takes.
  int64_t id() const { return service::graph().hook_id(handle_); }

 private:
  tenon_hook* handle_ = nullptr;
};

namespace detail {

template <class Function>
void destroy_hook(void* state) noexcept {
  delete static_cast<Function*>(state);
}

// Calls `function(arguments...)`; tensors that it returns replace the gradients.
template <class Function, class... Arguments>
void call_hook(Function& function, tenon_tensor** replacements, size_t count,
               const Arguments&... arguments) {
  using Result = std::invoke_result_t<Function&, const Arguments&...>;
  if constexpr (std::is_void_v<Result>) {
    function(arguments...);
  } else if constexpr (std::is_convertible_v<Result, Tensor>) {
    replacements[0] = Tensor(function(arguments...)).give();
  } else {
    std::vector<Tensor> given = function(arguments...);
    if (given.size() > count) {
      throw_message(TENON_ERROR_ARGUMENT, {"a hook gave ", given.size(), " gradients for ", count});
    }
    for (size_t i = 0; i < given.size(); ++i) replacements[i] = given[i].give();
  }
}

template <class Function>
tenon_status TENON_CALL run_tensor_hook(void* state, tenon_tensor* const* gradients, int64_t,
                                        tenon_tensor* const*, int64_t, tenon_tensor** replacements,
                                        tenon_error** error) {
  return guarded(error, [&] {
    call_hook(*static_cast<Function*>(state), replacements, 1, Tensor::borrow(gradients[0]));
  });
}

template <class Function>
Hook add_tensor_hook(tenon_tensor* tensor, int32_t kind, Function&& function) {
  using Kept = std::decay_t<Function>;
  tenon_hook* hook = nullptr;
  check(service::graph().tensor_add_hook, tensor, kind, &run_tensor_hook<Kept>,
        static_cast<void*>(new Kept(static_cast<Function&&>(function))), &destroy_hook<Kept>,
        &hook);
  return Hook::take(hook);
}

}  // namespace detail

template <class Function>
Hook Tensor::register_hook(Function&& function) const {
  return detail::add_tensor_hook(handle_, TENON_HOOK_TENSOR, static_cast<Function&&>(function));
}
template <class Function>
Hook Tensor::register_post_accumulate_grad_hook(Function&& function) const {
  using Result = std::invoke_result_t<std::decay_t<Function>&, const Tensor&>;
  static_assert(std::is_void_v<Result>, "a post-accumulate hook has nothing to return");
  return detail::add_tensor_hook(handle_, TENON_HOOK_POST_ACCUMULATE,
                                 static_cast<Function&&>(function));
}
inline void Tensor::remove_hook(int64_t id) const {
  detail::check(service::graph().tensor_remove_hook, handle_, id);
}

TENON_NAMESPACE_END
