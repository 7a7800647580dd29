// Registering and running hooks of modules.
#include "core/nn/hooks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/autograd/engine/engine.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/hooks/gradient_hook_node.hpp"
#include "core/base/error.hpp"
#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/nn/module.hpp"

namespace tenon::core {

// ---- registering ----

namespace {

constexpr int32_t kFirstKind = TENON_HOOK_FORWARD_PRE;
constexpr std::array kKindNames{"forward pre-hook",         "forward hook",
                                "full backward pre-hook",   "full backward hook",
                                "state_dict pre-hook",      "state_dict post-hook",
                                "load_state_dict pre-hook", "load_state_dict post-hook"};

bool known_kind(int32_t kind) {
  return kind >= kFirstKind && kind < kFirstKind + static_cast<int32_t>(kKindNames.size());
}
const char* kind_name(int32_t kind) { return kKindNames[static_cast<size_t>(kind - kFirstKind)]; }

}  // namespace

HookHandle ModuleHooks::add(int32_t kind, uint32_t flags, std::shared_ptr<Body> body) {
  if (!known_kind(kind)) {
    throw Error(TENON_ERROR_ARGUMENT, "cannot add a module hook: its kind is {}, expected {} to {}",
                kind, kFirstKind, kFirstKind + static_cast<int32_t>(kKindNames.size()) - 1);
  }
  require_flags("a hook", flags, TENON_HOOK_PREPEND | TENON_HOOK_ALWAYS_CALL);
  if ((flags & TENON_HOOK_ALWAYS_CALL) != 0 && kind != TENON_HOOK_FORWARD) {
    throw Error(TENON_ERROR_ARGUMENT,
                "a {} cannot be registered with always_call: a forward hook can", kind_name(kind));
  }
  const HookHandle handle =
      HookList::add(kind, flags, std::move(body), (flags & TENON_HOOK_PREPEND) != 0);
  if (this == &of_all()) any_hook_of_all.store(true, std::memory_order_release);
  return handle;
}

void ModuleHooks::add_copies(const ModuleHooks& from) {
  const auto given = from.read();
  if (given == nullptr) return;
  for (const Hook& hook : *given) {
    // Its state belongs to the first body, which the copy keeps.
    auto* const copy = new Body(hook.body->function, hook.body->state, nullptr);
    HookList::add(
        hook.kind, hook.detail,
        std::shared_ptr<Body>(copy, [kept = hook.body](const Body* body) { delete body; }));
  }
}

ModuleHooks& ModuleHooks::of_all() {
  static auto* const all = new ModuleHooks;
  static const auto* const held = new HeldAcrossFork(all->mutex_);
  (void)held;
  return *all;
}

namespace {

// ---- running one ----

struct ValueReplacement {
  using Value = tenon_value;
  static tenon_value kept() {
    tenon_value value{};
    value.tag = TENON_VALUE_NOT_IMPLEMENTED;
    return value;
  }
  static bool is_kept(const tenon_value& value) { return value.tag == TENON_VALUE_NOT_IMPLEMENTED; }
  static void release(tenon_value& value) { release_value(value); }
};
using NewValues = Replacements<ValueReplacement>;

using Hook = ModuleHooks::Hook;
using Values = std::span<const tenon_value>;

// Puts a value, which is the place's now, where another one was.
void put_value(tenon_value& place, tenon_value value) {
  tenon_value before = std::exchange(place, value);
  release_value(before);
}

// A module with the names of its call's arguments.
struct HookedModule {
  tenon_module& module;
  std::span<const tenon_string> names;
};

void run_hook(const Hook& hook, const HookedModule& of, Values inputs, Values outputs,
              NewValues& replacements) {
  const tenon_module_hook_call call{sizeof call,
                                    hook.kind,
                                    &of.module,
                                    inputs.data(),
                                    static_cast<int64_t>(inputs.size()),
                                    outputs.data(),
                                    static_cast<int64_t>(outputs.size()),
                                    of.names.empty() ? nullptr : of.names.data()};
  try {
    call_checked(hook.body->function, hook.body->state, &call, replacements.data());
  } catch (Error& thrown) {
    thrown.message +=
        format_text(" (in a {} of {})", kind_name(hook.kind), of.module.type->schema.short_name());
    throw;
  }
}

// Lists of the hooks for all modules and of the module alone, null where none was ever there.
std::array<const ModuleHooks*, 2> hook_lists(const tenon_module& module) {
  const bool of_all = any_hook_of_all.load(std::memory_order_acquire);
  return {of_all ? &ModuleHooks::of_all() : nullptr, module.hooks.get()};
}

// Visits the hooks in their order. Each list is read when its turn comes.
template <class Visit>
void for_each_hook(const tenon_module& module, int32_t kind, Visit&& visit) {
  for (const ModuleHooks* of : hook_lists(module)) {
    if (of == nullptr) continue;
    of->for_each(kind, [&](const Hook& hook, size_t) { visit(hook); });
  }
}

std::vector<Hook> hooks_of(const tenon_module& module, int32_t kind) {
  std::vector<Hook> found;
  for_each_hook(module, kind, [&](const Hook& hook) { found.push_back(hook); });
  return found;
}

// ---- backward ----

// Gradients beside the values of a call, none where a value is not hooked.
using Gradients = std::vector<TensorRef>;

// The arguments or results of a call.
struct Side {
  size_t count = 0;
  std::vector<size_t> hooked{};  // places of those that are hooked
};

// Shared by the nodes of one call's arguments and results.
struct BackwardHooks {
  ModuleRef module;
  std::vector<Hook> before, after;
  Side inputs, outputs;

  void at_results(Gradients& gradients) const;
  void at_arguments(Gradients& gradients) const;

 private:
  Gradients run(const std::vector<Hook>& hooks, const Side& side, Gradients& gradients,
                const std::vector<tenon_value>* grad_outputs) const;
  void run_without_inputs(Values grad_outputs) const;
};

std::vector<tenon_value> values_of(const Gradients& gradients) {
  std::vector<tenon_value> values;
  values.reserve(gradients.size());
  for (const TensorRef& gradient : gradients) values.push_back(tensor_value(gradient.get()));
  return values;
}

// Runs the hooks, each with what those before it made of the gradients: those of the results, or,
// where `grad_outputs` are given beside them, of the arguments. Returns them beside all values.
Gradients BackwardHooks::run(const std::vector<Hook>& hooks, const Side& side, Gradients& gradients,
                             const std::vector<tenon_value>* grad_outputs) const {
  Gradients all(side.count);
  for (size_t i = 0; i < gradients.size(); ++i) all[side.hooked[i]] = gradients[i];
  for (const Hook& hook : hooks) {
    if (hook.removed()) continue;
    NewValues replacements(all.size());
    const std::vector<tenon_value> seen = values_of(all);
    if (grad_outputs == nullptr)
      run_hook(hook, {*module, {}}, {}, seen, replacements);
    else
      run_hook(hook, {*module, {}}, seen, *grad_outputs, replacements);
    for (size_t i = 0; i < all.size(); ++i) {
      if (!replacements.given(i)) continue;
      const uint32_t tag = replacements[i].tag;
      if (tag != TENON_VALUE_NONE && tag != TENON_VALUE_TENSOR) {
        throw Error(TENON_ERROR_TYPE, "a {} of {} gave {} as gradient {}, not a Tensor or None",
                    kind_name(hook.kind), module->type->schema.short_name(),
                    brief_text(replacements[i]), i);
      }
      const tenon_value given = replacements.take(i);
      all[i] = TensorRef::take(tag == TENON_VALUE_TENSOR ? given.as.tensor : nullptr);
    }
  }
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = all[side.hooked[i]];
  return all;
}

void BackwardHooks::run_without_inputs(Values grad_outputs) const {
  const std::vector<tenon_value> none(inputs.count);
  for (const Hook& hook : after) {
    if (hook.removed()) continue;
    NewValues replacements(inputs.count);
    run_hook(hook, {*module, {}}, none, grad_outputs, replacements);
    for (size_t i = 0; i < inputs.count; ++i) {
      if (!replacements.given(i) || replacements[i].tag == TENON_VALUE_NONE) continue;
      throw Error(TENON_ERROR_RUNTIME,
                  "Backward hook for Modules where no input requires gradient should always return "
                  "None or None for all gradients. (in a {} of {})",
                  kind_name(hook.kind), module->type->schema.short_name());
    }
  }
}

void BackwardHooks::at_results(Gradients& gradients) const {
  Gradients all = run(before, outputs, gradients, nullptr);
  if (inputs.hooked.empty())
    run_without_inputs(values_of(all));
  else if (!after.empty())
    thread_state.run->keep(this, std::move(all));
}

void BackwardHooks::at_arguments(Gradients& gradients) const {
  // Gradients that do not come through the results are not the call's: those of a double backward.
  const std::optional<Gradients> grad_outputs = thread_state.run->take(this);
  if (!grad_outputs) return;
  const std::vector<tenon_value> outgoing = values_of(*grad_outputs);
  run(after, inputs, gradients, &outgoing);
}

// Passes the tensors that require grad through a node; `places` receives which they are.
template <class Replace>
void hook_tensors(Values values, std::vector<size_t>& places, GradientFunction function,
                  Replace&& replace) {
  if (!records()) return;
  std::vector<Tensor*> tensors;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].tag != TENON_VALUE_TENSOR) continue;
    refresh_history(*values[i].as.tensor);
    if (!values[i].as.tensor->requires_grad()) continue;
    tensors.push_back(values[i].as.tensor);
    places.push_back(i);
  }
  if (tensors.empty()) return;
  std::vector<TensorRef> passed = hook_gradients(tensors, std::move(function));
  for (size_t i = 0; i < places.size(); ++i) replace(places[i], tensor_value(passed[i].give()));
}

// ---- forward ----

class HookedCall {
 public:
  HookedCall(tenon_module& module, std::span<const tenon_string> names, Values arguments,
             std::span<tenon_value> results)
      : of_{module, names}, arguments_(arguments.begin(), arguments.end()), results_(results) {}
  HookedCall(const HookedCall&) = delete;
  HookedCall& operator=(const HookedCall&) = delete;
  ~HookedCall() {
    for (tenon_value& value : owned_) release_value(value);
  }

  void run(const std::function<void(Values)>& forward) {
    try {
      run_steps(forward);
    } catch (...) {
      for (tenon_value& result : results_) release_value(result);
      run_always_called();
      throw;
    }
  }

 private:
  void run_steps(const std::function<void(Values)>& forward) {
    find_backward_hooks();
    run_pre_hooks();
    if (backward_) hook_arguments();
    forward(arguments());
    run_forward_hooks();
    if (backward_) hook_results();
  }

  void find_backward_hooks() {
    constexpr uint32_t kinds = 1u << TENON_HOOK_BACKWARD_PRE | 1u << TENON_HOOK_BACKWARD;
    if (!has_hooks(of_.module, kinds)) return;
    auto found = std::make_shared<BackwardHooks>();
    found->before = hooks_of(of_.module, TENON_HOOK_BACKWARD_PRE);
    found->after = hooks_of(of_.module, TENON_HOOK_BACKWARD);
    if (found->before.empty() && found->after.empty()) return;  // removed meanwhile
    found->module = ModuleRef(&of_.module);
    found->inputs.count = arguments_.size();
    found->outputs.count = results_.size();
    backward_ = std::move(found);
  }

  Values arguments() const { return {arguments_.data(), arguments_.size()}; }

  // Takes the value. The argument that it replaces stays until the end of the call.
  void replace_argument(size_t i, tenon_value value) {
    owned_.push_back(value);
    arguments_[i] = value;
  }

  void run_pre_hooks() {
    for_each_hook(of_.module, TENON_HOOK_FORWARD_PRE, [&](const Hook& hook) {
      NewValues replacements(arguments_.size());
      run_hook(hook, of_, arguments(), {}, replacements);
      for (size_t i = 0; i < arguments_.size(); ++i) {
        if (!replacements.given(i)) continue;
        owned_.reserve(owned_.size() + 1);
        replace_argument(i, replacements.take(i));
      }
    });
  }

  void hook_arguments() {
    owned_.reserve(owned_.size() + arguments_.size());
    hook_tensors(
        arguments(), backward_->inputs.hooked,
        [shared = backward_](Gradients& gradients) { shared->at_arguments(gradients); },
        [&](size_t i, tenon_value value) { replace_argument(i, value); });
  }

  void hook_results() {
    hook_tensors(
        results_, backward_->outputs.hooked,
        [shared = backward_](Gradients& gradients) { shared->at_results(gradients); },
        [&](size_t i, tenon_value value) { put_value(results_[i], value); });
  }

  static bool always_called(const Hook& hook) {
    return (hook.detail & TENON_HOOK_ALWAYS_CALL) != 0;
  }
  void run_forward_hooks() {
    for_each_hook(of_.module, TENON_HOOK_FORWARD, [&](const Hook& hook) {
      if (always_called(hook)) called_.push_back(hook.id);
      NewValues replacements(results_.size());
      run_hook(hook, of_, arguments(), results_, replacements);
      for (size_t i = 0; i < results_.size(); ++i) {
        if (replacements.given(i)) put_value(results_[i], replacements.take(i));
      }
    });
  }

  // The call failed: its error is the one that counts.
  void run_always_called() noexcept {
    const tenon_status status = guarded(nullptr, [&] {
      for_each_hook(of_.module, TENON_HOOK_FORWARD, [&](const Hook& hook) {
        if (!always_called(hook) || std::count(called_.begin(), called_.end(), hook.id) != 0)
          return;
        try {
          NewValues unused(results_.size());
          run_hook(hook, of_, arguments(), results_, unused);
        } catch (const Error& error) {
          log(LogLevel::warning, "",
              format_text("a forward hook with always_call failed after another error of the "
                          "call, which is raised instead: {}",
                          error.message));
        }
      });
    });
    (void)status;
  }

  const HookedModule of_;
  boost::container::small_vector<tenon_value, 4> arguments_;
  std::vector<tenon_value> owned_;  // arguments that replaced others
  const std::span<tenon_value> results_;
  std::shared_ptr<BackwardHooks> backward_;            // null: there are none
  boost::container::small_vector<int64_t, 4> called_;  // hooks that are always called
};

}  // namespace

void call_with_hooks(tenon_module& module, std::span<const tenon_string> names,
                     std::span<const tenon_value> arguments, std::span<tenon_value> results,
                     const std::function<void(std::span<const tenon_value>)>& forward) {
  HookedCall(module, names, arguments, results).run(forward);
}

bool has_hooks(const tenon_module& module, uint32_t kinds) {
  if (!may_have_hooks(module.hooks)) return false;
  return std::ranges::any_of(hook_lists(module), [kinds](const ModuleHooks* of) {
    const auto hooks = of == nullptr ? nullptr : of->read();
    return hooks != nullptr && std::ranges::any_of(*hooks, [kinds](const Hook& hook) {
             return (kinds >> hook.kind & 1u) != 0;
           });
  });
}

void run_state_hooks(tenon_module& module, int32_t kind, std::span<tenon_value> values) {
  if (!known_kind(kind) || kind < TENON_HOOK_STATE_SAVE_PRE)
    throw Error(TENON_ERROR_ARGUMENT, "hooks of kind {} do not run around saving and loading",
                kind);
  for_each_hook(module, kind, [&](const Hook& hook) {
    NewValues replacements(values.size());
    run_hook(hook, {module, {}}, values, {}, replacements);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint32_t tag = values[i].tag;
      const bool list = tag == TENON_VALUE_STRING_LIST || tag == TENON_VALUE_TENSOR_LIST;
      if (!list || !replacements.given(i)) continue;
      if (replacements[i].tag != tag) {
        throw Error(TENON_ERROR_TYPE, "a hook gave {} as {}", brief_text(replacements[i]),
                    tag == TENON_VALUE_STRING_LIST ? "a list of keys" : "the tensors of a state");
      }
      put_value(values[i], replacements.take(i));
    }
  });
}

}  // namespace tenon::core
