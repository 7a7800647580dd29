// The common base of Module and all_modules: registering hooks. <tenon/module_hooks.hpp> has what a
// hook's function sees.
#pragma once

#include <utility>

#include "tenon/hooks.hpp"

TENON_NAMESPACE_BEGIN

struct HookOptions {
  bool prepend = false;      // before those that are there already
  bool always_call = false;  // a forward hook: also when the call fails; its outputs are none
};

namespace detail {
struct ForwardPreHook;
struct ForwardHook;
struct BackwardPreHook;
struct BackwardHook;
struct StateSavePreHook;
struct StateSavePostHook;
struct StateLoadPreHook;
struct StateLoadPostHook;
template <class Kind, class Function>
Hook add_module_hook(tenon_module* module, Function&& function, HookOptions options);
}  // namespace detail

// Each method returns the handle that removes the hook. Of each kind the hooks of all_modules run
// first, then the module's, both in the order of registration. Include <tenon/module_hooks.hpp> to
// call them. Any thread, also while modules are called. ArgumentError for always_call with a kind
// other than a forward hook.
template <class Target>
class Hookable {
 public:
  // Before forward: `function(const Module&, HookValues& inputs)`, which may set arguments by
  // position or by keyword; or `function(const Module&, const Tensor& input)`, whose result, if
  // any, replaces the first argument.
  template <class Function>
  Hook register_forward_pre_hook(Function&& function, HookOptions options = {}) const {
    return add<detail::ForwardPreHook>(std::forward<Function>(function), options);
  }
  // After forward: `function(const Module&, const HookValues& inputs, HookValues& outputs)`, which
  // may set results; or `function(const Module&, const Tensor& input, const Tensor& output)`, whose
  // result, if any, replaces the first result.
  template <class Function>
  Hook register_forward_hook(Function&& function, HookOptions options = {}) const {
    return add<detail::ForwardHook>(std::forward<Function>(function), options);
  }
  // In backward, at the results of a call: `function(const Module&, const std::vector<Tensor>&
  // grad_outputs)`. It returns nothing, the gradients to be used instead, or the first of them.
  template <class Function>
  Hook register_full_backward_pre_hook(Function&& function, HookOptions options = {}) const {
    return add<detail::BackwardPreHook>(std::forward<Function>(function), options);
  }
  // In backward, at the arguments of a call: `function(const Module&, const std::vector<Tensor>&
  // grad_inputs, const std::vector<Tensor>& grad_outputs)`. It returns nothing, the grad_inputs to
  // be used instead, or the first of them. There is one for each parameter and result of forward:
  // zeros where no gradient came, undefined beside what is not a tensor or does not require grad;
  // tensors inside of lists have no hooks. Arguments and results of a module with backward hooks
  // must not be changed in place (InplaceError). It does not run where a backward that is asked for
  // some gradients only does not reach the arguments.
  template <class Function>
  Hook register_full_backward_hook(Function&& function, HookOptions options = {}) const {
    return add<detail::BackwardHook>(std::forward<Function>(function), options);
  }
  // Before save collects the state: `function(const Module&, const std::string& prefix)`.
  template <class Function>
  Hook register_state_dict_pre_hook(Function&& function, HookOptions options = {}) const {
    return add<detail::StateSavePreHook>(std::forward<Function>(function), options);
  }
  // When the module's state and that of its children is there: `function(const Module&,
  // ModuleState& state, const std::string& prefix)`, which may change it.
  template <class Function>
  Hook register_state_dict_post_hook(Function&& function, HookOptions options = {}) const {
    return add<detail::StateSavePostHook>(std::forward<Function>(function), options);
  }
  // Before a state is loaded: `function(const Module&, ModuleState& state, const std::string&
  // prefix, bool strict)`, which may change the state.
  template <class Function>
  Hook register_load_state_dict_pre_hook(Function&& function, HookOptions options = {}) const {
    return add<detail::StateLoadPreHook>(std::forward<Function>(function), options);
  }
  // After loading: `function(const Module&, IncompatibleKeys& keys)`, which may change what a
  // strict load then fails for. When it fails, what was loaded is taken back.
  template <class Function>
  Hook register_load_state_dict_post_hook(Function&& function, HookOptions options = {}) const {
    return add<detail::StateLoadPostHook>(std::forward<Function>(function), options);
  }

 private:
  template <class Kind, class Function>
  Hook add(Function&& function, HookOptions options) const {
    return detail::add_module_hook<Kind>(static_cast<const Target*>(this)->hook_target(),
                                         std::forward<Function>(function), options);
  }
};

// The hooks that run for every module: all_modules.register_forward_hook(...).
class AllModules : public Hookable<AllModules> {
 public:
  tenon_module* hook_target() const { return nullptr; }
};
inline constexpr AllModules all_modules{};

TENON_NAMESPACE_END
