// Hooks of modules: of one, and of all.
//
// The hooks for all modules of a kind run first, then the module's own, both in their order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/autograd/hooks/hook_handle.hpp"
#include "core/autograd/hooks/hook_list.hpp"
#include "core/tensor/named_tensor.hpp"
#include "tenon/abi/module_hooks.h"

namespace tenon::core {

using ModuleHookBody = HookBodyOf<std::remove_pointer_t<tenon_module_hook_function>>;

// The hooks of one module, or those for all. Any thread.
class ModuleHooks final : public HookOwner {
 public:
  struct Hook {
    int64_t id;
    int32_t kind;
    bool always_call;
    std::shared_ptr<ModuleHookBody> body;
  };

  // `flags`: TENON_HOOK_PREPEND, TENON_HOOK_ALWAYS_CALL. Throws ArgumentError for unknown kinds and
  // flags.
  HookHandle add(int32_t kind, uint32_t flags, std::shared_ptr<ModuleHookBody> body);
  // The hooks of another module as well, from now on independent of it: removing one there leaves
  // the copy, which has no handle.
  void add_copies(const ModuleHooks& from);
  const HookList<Hook>& hooks() const { return hooks_; }
  bool remove(int64_t id) override { return hooks_.remove(id); }
  bool holds(int64_t id) override { return hooks_.holds(id); }
  // The module is gone: handles keep this, emptied.
  void clear() noexcept { hooks_.clear(); }

  // The hooks for all modules; never freed.
  static ModuleHooks& of_all();

 private:
  ~ModuleHooks() override = default;

  HookList<Hook> hooks_;
};

// Whether a hook for all modules was ever registered.
inline constinit std::atomic<bool> any_hook_of_all{false};

// A module's hooks; null while it never had one.
class ModuleHooksPointer {
 public:
  ModuleHooksPointer() = default;
  ModuleHooksPointer(const ModuleHooksPointer&) = delete;
  ModuleHooksPointer& operator=(const ModuleHooksPointer&) = delete;
  ~ModuleHooksPointer() {
    if (ModuleHooks* hooks = get()) {
      hooks->clear();
      hooks->release();
    }
  }
  ModuleHooks* get() const noexcept { return hooks_.load(std::memory_order_acquire); }
  // Made when missing. Any thread.
  ModuleHooks& make();

 private:
  std::atomic<ModuleHooks*> hooks_{nullptr};
};

// Whether a call, a save or a load of a module with these hooks has to look for hooks at all.
inline bool may_have_hooks(const ModuleHooksPointer& hooks) noexcept {
  return hooks.get() != nullptr || any_hook_of_all.load(std::memory_order_acquire);
}

// A call with hooks: pre-hooks, `forward` with the arguments that they left, forward hooks.
// Tensors among arguments and results that require grad go through nodes that run the backward
// hooks, as in PyTorch: changing them in place is refused; tensors inside of lists are not hooked.
// `names`: parameters of forward, or empty. `results` receive owned values, none when it throws.
// Arguments that hooks replaced are not checked again: `forward` does.
void call_with_hooks(tenon_module& module, std::span<const tenon_string> names,
                     std::span<const tenon_value> arguments, std::span<tenon_value> results,
                     const std::function<void(std::span<const tenon_value>)>& forward);

// Whether there is one of the kind, of the module's own or for all.
bool has_hook(const tenon_module& module, int32_t kind);

// ---- saving and loading; `prefix` as visit_modules gives it ----
void run_state_save_pre_hooks(tenon_module& module, const std::string& prefix);
void run_state_save_post_hooks(tenon_module& module, const std::string& prefix,
                               std::vector<NamedTensor>& state);
void run_state_load_pre_hooks(tenon_module& module, const std::string& prefix,
                              std::vector<NamedTensor>& state, bool strict);
void run_state_load_post_hooks(tenon_module& module, const std::string& prefix,
                               std::vector<std::string>& missing,
                               std::vector<std::string>& unexpected);

}  // namespace tenon::core
