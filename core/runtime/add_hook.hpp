// Shared code of the slots that register hooks.
#pragma once

#include <memory>
#include <utility>

#include "core/autograd/hooks/hook_handle.hpp"
#include "core/base/error.hpp"

namespace tenon::core {

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
