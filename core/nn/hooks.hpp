// Hooks of modules: of one, and of all.
//
// The hooks for all modules of a kind run first, then the module's own, both in their order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "core/autograd/hooks/hook_list.hpp"
#include "tenon/abi/module_hooks.h"

namespace tenon::core {

// The hooks of one module, or those for all; the detail of a hook is the flags that it was
// registered with. Any thread.
class ModuleHooks final : public HookList<std::remove_pointer_t<tenon_module_hook_function>> {
 public:
  // `flags`: TENON_HOOK_PREPEND, TENON_HOOK_ALWAYS_CALL. Throws ArgumentError for unknown kinds and
  // flags.
  HookHandle add(int32_t kind, uint32_t flags, std::shared_ptr<Body> body);
  // The hooks of another module as well, from now on independent of it: removing one there leaves
  // the copy, which has no handle.
  void add_copies(const ModuleHooks& from);

  // The hooks for all modules; never freed.
  static ModuleHooks& of_all();

 private:
  ~ModuleHooks() override = default;
};

// Whether a hook for all modules was ever registered.
inline constinit std::atomic<bool> any_hook_of_all{false};

// Whether a call of a module with these hooks has to look for hooks at all.
inline bool may_have_hooks(const HooksPointer<ModuleHooks>& hooks) noexcept {
  return hooks.get() != nullptr || any_hook_of_all.load(std::memory_order_acquire);
}

// A call with hooks: pre-hooks, `forward` with the arguments that they left, forward hooks.
// Tensors among arguments and results that require grad go through nodes that run the backward
// hooks, as in PyTorch: changing them in place is refused; tensors inside of lists are not hooked.
// `names`: parameters of forward, or empty. `results` receive owned values, none when it throws.
// Arguments that hooks replaced are not checked again: `forward` does. The caller keeps the module.
void call_with_hooks(tenon_module& module, std::span<const tenon_string> names,
                     std::span<const tenon_value> arguments, std::span<tenon_value> results,
                     const std::function<void(std::span<const tenon_value>)>& forward);

// Whether there is one of a kind among `kinds`, bits 1 << kind, of the module's own or for all.
bool has_hooks(const tenon_module& module, uint32_t kinds);

// Runs the hooks of a kind around saving or loading. A list that one gives takes the place of its
// value, so that the next one sees it. Throws TypeError for a list of another kind.
void run_state_hooks(tenon_module& module, int32_t kind, std::span<tenon_value> values);

}  // namespace tenon::core
