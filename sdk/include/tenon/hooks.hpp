// Hooks: functions that run with gradients on their way through a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

// A handle of a registered hook. Destroying the handle does not remove the hook. Any thread.
class Hook {
 public:
  Hook() = default;
  static Hook take(tenon_hook* handle) noexcept {
    Hook hook;
    hook.handle_ = handle;
    return hook;
  }
  Hook(const Hook& other) noexcept : handle_(other.handle_) {
    if (handle_ != nullptr) host().hook_retain(handle_);
  }
  Hook(Hook&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Hook& operator=(Hook other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Hook() {
    if (handle_ != nullptr) host().hook_release(handle_);
  }
  // The hook will not run again, not even in a backward already in progress. Does nothing when it
  // was already removed.
  void remove() const { host().hook_remove(handle_); }
  // Inside a hook: whether the running backward reaches the tensor or node of this one.
  bool awaited() const { return host().backward_reaches(handle_) != 0; }
  // What Tensor::remove_hook takes.
  int64_t id() const { return host().hook_id(handle_); }

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
      throw ArgumentError("a hook gave " + std::to_string(given.size()) + " gradients for " +
                          std::to_string(count));
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
  check(host().tensor_add_hook, tensor, kind, &run_tensor_hook<Kept>,
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
  detail::check(host().tensor_remove_hook, handle_, id);
}

// Hooks on several tensors that are removed together.
class MultiHook {
 public:
  explicit MultiHook(std::vector<Hook> hooks) : hooks_(std::move(hooks)) {}
  void remove() const {
    for (const Hook& hook : hooks_) hook.remove();
  }

 private:
  std::vector<Hook> hooks_;
};

enum class MultiHookMode {
  all,  // once for each backward, when every gradient that it takes to the tensors is there
  any   // once for each backward, at the first of them
};

// `function(const std::vector<Tensor>& gradients)`, in the order of `tensors`, undefined where none
// came; with `any` only the one that came is defined. Every tensor must require grad.
template <class Function>
MultiHook register_multi_grad_hook(const std::vector<Tensor>& tensors, Function&& function,
                                   MultiHookMode mode = MultiHookMode::all) {
  // The progress of one backward; several may run at once.
  struct Round {
    int64_t backward;
    size_t left;  // gradients still to come; 0: nothing more is to be done
    std::vector<Tensor> gradients;
  };
  struct Shared {
    Shared(Function&& f, MultiHookMode m) : function(static_cast<Function&&>(f)), mode(m) {}
    std::decay_t<Function> function;
    MultiHookMode mode;
    std::vector<Hook> hooks;
    std::mutex mutex;
    std::vector<Round> rounds;  // the last few, in the order of their begin
  };
  static constexpr size_t kept_rounds = 64;
  const auto shared = std::make_shared<Shared>(static_cast<Function&&>(function), mode);
  for (size_t i = 0; i < tensors.size(); ++i) {
    shared->hooks.push_back(tensors[i].register_hook([shared, i](const Tensor& gradient) {
      if (shared->mode == MultiHookMode::any && !gradient.defined()) return;
      const int64_t backward = host().backward_id();
      std::vector<Tensor> gradients;
      {
        const std::lock_guard<std::mutex> lock(shared->mutex);
        std::vector<Round>& rounds = shared->rounds;
        size_t at = 0;
        while (at < rounds.size() && rounds[at].backward != backward) ++at;
        if (at == rounds.size()) {
          size_t left = 0;
          for (const Hook& hook : shared->hooks) left += hook.awaited() ? 1 : 0;
          if (shared->mode == MultiHookMode::any) left = 1;
          if (at == kept_rounds) {
            rounds.erase(rounds.begin());
            --at;
          }
          rounds.push_back({backward, left, std::vector<Tensor>(shared->hooks.size())});
        }
        Round& round = rounds[at];
        if (round.left == 0) return;
        round.gradients[i] = gradient;
        if (--round.left != 0) return;
        gradients.swap(round.gradients);
      }
      shared->function(const_cast<const std::vector<Tensor>&>(gradients));
    }));
  }
  return MultiHook(shared->hooks);
}

TENON_NAMESPACE_END
