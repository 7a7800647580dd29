// Registering and running hooks of modules.
#include "core/nn/hooks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
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

HookHandle ModuleHooks::add(int32_t kind, uint32_t flags, std::shared_ptr<ModuleHookBody> body) {
  if (!known_kind(kind)) {
    throw Error(TENON_ERROR_ARGUMENT, "cannot add a module hook: its kind is {}, expected {} to {}",
                kind, kFirstKind, kFirstKind + static_cast<int32_t>(kKindNames.size()) - 1);
  }
  if ((flags & ~uint32_t{TENON_HOOK_PREPEND | TENON_HOOK_ALWAYS_CALL}) != 0)
    throw Error(TENON_ERROR_ARGUMENT, "unknown hook flags {:#x}", flags);
  const bool always_call = (flags & TENON_HOOK_ALWAYS_CALL) != 0;
  if (always_call && kind != TENON_HOOK_FORWARD) {
    throw Error(TENON_ERROR_ARGUMENT,
                "a {} cannot be registered with always_call: a forward hook can", kind_name(kind));
  }
  const int64_t id = next_hook_id();
  hooks_.add({id, kind, always_call, std::move(body)}, (flags & TENON_HOOK_PREPEND) != 0);
  if (this == &of_all()) any_hook_of_all.store(true, std::memory_order_release);
  return {*this, id};
}

void ModuleHooks::add_copies(const ModuleHooks& from) {
  const auto given = from.hooks_.read();
  if (given == nullptr) return;
  std::vector<Hook> copies;
  for (const Hook& hook : *given) {
    // Its state belongs to the first body, which the copy keeps.
    auto* const body = new ModuleHookBody(hook.body->function, hook.body->state, nullptr);
    copies.push_back({next_hook_id(), hook.kind, hook.always_call,
                      std::shared_ptr<ModuleHookBody>(
                          body, [kept = hook.body](const ModuleHookBody* copy) { delete copy; })});
  }
  hooks_.append(copies);
}

ModuleHooks& ModuleHooks::of_all() {
  static auto* const all = new ModuleHooks;
  static const auto* const held = new HeldAcrossFork(all->hooks_.mutex());
  (void)held;
  return *all;
}

ModuleHooks& ModuleHooksPointer::make() {
  ModuleHooks* present = get();
  if (present != nullptr) return *present;
  auto* made = new ModuleHooks;
  if (hooks_.compare_exchange_strong(present, made, std::memory_order_acq_rel)) return *made;
  made->release();
  return *present;
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

using Values = std::span<const tenon_value>;

// A module with the names of its call's arguments.
struct HookedModule {
  tenon_module& module;
  std::span<const tenon_string> names;
};

void run_hook(const ModuleHooks::Hook& hook, const HookedModule& of, Values inputs, Values outputs,
              NewValues& replacements) {
  const tenon_module_hook_call call{sizeof call,
                                    hook.kind,
                                    &of.module,
                                    inputs.data(),
                                    static_cast<int64_t>(inputs.size()),
                                    outputs.data(),
                                    static_cast<int64_t>(outputs.size()),
                                    of.names.empty() ? nullptr : of.names.data()};
  tenon_error* error = nullptr;
  const tenon_status status =
      hook.body->function(hook.body->state, &call, replacements.data(), &error);
  if (status == TENON_OK) return;
  try {
    throw_status(status, error);
  } catch (Error& thrown) {
    thrown.message +=
        format_text(" (in a {} of {})", kind_name(hook.kind), of.module.type->schema.short_name());
    throw;
  }
}

bool removed(const ModuleHooks::Hook& hook) {
  return HookList<ModuleHooks::Hook>::is_removed(hook);
}

// Visits the hooks for all modules, then the module's own. Each list is read when its turn comes.
template <class Visit>
void for_each_hook(const tenon_module& module, int32_t kind, Visit&& visit) {
  for (const ModuleHooks* of : {&std::as_const(ModuleHooks::of_all()),
                                static_cast<const ModuleHooks*>(module.hooks.get())}) {
    if (of == nullptr) continue;
    of->hooks().for_each(kind, [&](const ModuleHooks::Hook& hook, size_t) { visit(hook); });
  }
}

std::vector<ModuleHooks::Hook> hooks_of(const tenon_module& module, int32_t kind) {
  std::vector<ModuleHooks::Hook> found;
  for_each_hook(module, kind, [&](const ModuleHooks::Hook& hook) { found.push_back(hook); });
  return found;
}

// ---- backward ----

// Shared by the nodes of one call's arguments and results.
struct BackwardHooks {
  ModuleRef module;
  std::vector<ModuleHooks::Hook> before, after;
  size_t input_count = 0, output_count = 0;
  std::vector<size_t> inputs, outputs;  // which of them are hooked

  HookedModule of() const { return {*module, {}}; }
  void at_results(std::vector<TensorRef>& gradients) const;
  void at_arguments(std::vector<TensorRef>& gradients) const;
  void run_without_inputs(Values grad_outputs) const;
};

std::vector<TensorRef> spread(const std::vector<TensorRef>& gradients,
                              const std::vector<size_t>& places, size_t count) {
  std::vector<TensorRef> all(count);
  for (size_t i = 0; i < places.size(); ++i) all[places[i]] = gradients[i];
  return all;
}
void gather(const std::vector<TensorRef>& all, const std::vector<size_t>& places,
            std::vector<TensorRef>& gradients) {
  for (size_t i = 0; i < places.size(); ++i) gradients[i] = all[places[i]];
}
std::vector<tenon_value> values_of(const std::vector<TensorRef>& tensors) {
  std::vector<tenon_value> values;
  values.reserve(tensors.size());
  for (const TensorRef& tensor : tensors) values.push_back(tensor_value(tensor.get()));
  return values;
}

void replace_gradients(std::vector<TensorRef>& gradients, NewValues& replacements,
                       const ModuleHooks::Hook& hook, const tenon_module& module) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!replacements.given(i)) continue;
    const uint32_t tag = replacements[i].tag;
    if (tag != TENON_VALUE_NONE && tag != TENON_VALUE_TENSOR) {
      throw Error(TENON_ERROR_TYPE, "a {} of {} gave {} as gradient {}, not a Tensor or None",
                  kind_name(hook.kind), module.type->schema.short_name(),
                  brief_text(replacements[i]), i);
    }
    const tenon_value given = replacements.take(i);
    gradients[i] = TensorRef::take(tag == TENON_VALUE_TENSOR ? given.as.tensor : nullptr);
  }
}

void BackwardHooks::run_without_inputs(Values grad_outputs) const {
  const std::vector<tenon_value> none(input_count);
  for (const ModuleHooks::Hook& hook : after) {
    if (removed(hook)) continue;
    NewValues replacements(input_count);
    run_hook(hook, of(), none, grad_outputs, replacements);
    for (size_t i = 0; i < input_count; ++i) {
      if (!replacements.given(i) || replacements[i].tag == TENON_VALUE_NONE) continue;
      throw Error(TENON_ERROR_RUNTIME,
                  "Backward hook for Modules where no input requires gradient should always return "
                  "None or None for all gradients. (in a {} of {})",
                  kind_name(hook.kind), module->type->schema.short_name());
    }
  }
}

void BackwardHooks::at_results(std::vector<TensorRef>& gradients) const {
  std::vector<TensorRef> all = spread(gradients, outputs, output_count);
  for (const ModuleHooks::Hook& hook : before) {
    if (removed(hook)) continue;
    NewValues replacements(output_count);
    run_hook(hook, of(), {}, values_of(all), replacements);
    replace_gradients(all, replacements, hook, *module);
  }
  gather(all, outputs, gradients);
  if (inputs.empty())
    run_without_inputs(values_of(all));
  else if (!after.empty())
    thread_state.run->keep(this, std::move(all));
}

void BackwardHooks::at_arguments(std::vector<TensorRef>& gradients) const {
  // Gradients that do not come through the results are not the call's: those of a double backward.
  const std::optional<std::vector<TensorRef>> grad_outputs = thread_state.run->take(this);
  if (!grad_outputs) return;
  const std::vector<tenon_value> outgoing = values_of(*grad_outputs);
  std::vector<TensorRef> all = spread(gradients, inputs, input_count);
  for (const ModuleHooks::Hook& hook : after) {
    if (removed(hook)) continue;
    NewValues replacements(input_count);
    run_hook(hook, of(), values_of(all), outgoing, replacements);
    replace_gradients(all, replacements, hook, *module);
  }
  gather(all, inputs, gradients);
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
    forward(arguments_);
    run_forward_hooks();
    if (backward_) hook_results();
  }

  void find_backward_hooks() {
    auto found = std::make_shared<BackwardHooks>();
    found->before = hooks_of(of_.module, TENON_HOOK_BACKWARD_PRE);
    found->after = hooks_of(of_.module, TENON_HOOK_BACKWARD);
    if (found->before.empty() && found->after.empty()) return;
    found->module = ModuleRef(&of_.module);
    found->input_count = arguments_.size();
    found->output_count = results_.size();
    backward_ = std::move(found);
  }

  // Takes the value. The argument that it replaces stays until the end of the call.
  void replace_argument(size_t i, tenon_value value) {
    owned_.push_back(value);
    arguments_[i] = value;
  }
  void replace_result(size_t i, tenon_value value) {
    tenon_value old = std::exchange(results_[i], value);
    release_value(old);
  }

  void run_pre_hooks() {
    for_each_hook(of_.module, TENON_HOOK_FORWARD_PRE, [&](const ModuleHooks::Hook& hook) {
      NewValues replacements(arguments_.size());
      run_hook(hook, of_, arguments_, {}, replacements);
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
        arguments_, backward_->inputs,
        [shared = backward_](std::vector<TensorRef>& gradients) {
          shared->at_arguments(gradients);
        },
        [&](size_t i, tenon_value value) { replace_argument(i, value); });
  }

  void hook_results() {
    hook_tensors(
        results_, backward_->outputs,
        [shared = backward_](std::vector<TensorRef>& gradients) { shared->at_results(gradients); },
        [&](size_t i, tenon_value value) { replace_result(i, value); });
  }

  void run_forward_hooks() {
    for_each_hook(of_.module, TENON_HOOK_FORWARD, [&](const ModuleHooks::Hook& hook) {
      if (hook.always_call) called_.push_back(hook.id);
      NewValues replacements(results_.size());
      run_hook(hook, of_, arguments_, results_, replacements);
      for (size_t i = 0; i < results_.size(); ++i) {
        if (replacements.given(i)) replace_result(i, replacements.take(i));
      }
    });
  }

  // The call failed: its error is the one that counts.
  void run_always_called() noexcept {
    const tenon_status status = guarded(nullptr, [&] {
      for_each_hook(of_.module, TENON_HOOK_FORWARD, [&](const ModuleHooks::Hook& hook) {
        if (!hook.always_call || std::count(called_.begin(), called_.end(), hook.id) != 0) return;
        try {
          NewValues unused(results_.size());
          run_hook(hook, of_, arguments_, results_, unused);
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
  std::vector<tenon_value> arguments_;
  std::vector<tenon_value> owned_;  // arguments that replaced others
  const std::span<tenon_value> results_;
  std::shared_ptr<BackwardHooks> backward_;  // null: there are none
  std::vector<int64_t> called_;              // hooks that are always called
};

}  // namespace

void call_with_hooks(tenon_module& module, std::span<const tenon_string> names,
                     std::span<const tenon_value> arguments, std::span<tenon_value> results,
                     const std::function<void(std::span<const tenon_value>)>& forward) {
  const ModuleRef kept(&module);  // a hook may drop the caller's last reference
  HookedCall(module, names, arguments, results).run(forward);
}

bool has_hook(const tenon_module& module, int32_t kind) { return !hooks_of(module, kind).empty(); }

// ---- saving and loading ----

namespace {

// Values that the host made for a hook to see.
class Owned {
 public:
  explicit Owned(std::vector<tenon_value> values) : values_(std::move(values)) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    for (tenon_value& value : values_) release_value(value);
  }
  operator Values() const { return values_; }

 private:
  std::vector<tenon_value> values_;
};

template <class Items, class Make>
auto list_of(const Items& items, Make&& make) {
  std::vector<std::decay_t<decltype(make(*items.begin()))>> list;
  list.reserve(items.size());
  for (const auto& item : items) list.push_back(make(item));
  return list;
}
tenon_value names_of(const std::vector<NamedTensor>& state) {
  return make_string_list(list_of(state, [](const NamedTensor& entry) { return entry.name; }));
}
tenon_value tensors_of(const std::vector<NamedTensor>& state) {
  return make_tensor_list(list_of(state, [](const NamedTensor& entry) { return entry.tensor; }));
}

// The texts of a replacement. Throws TypeError.
std::vector<std::string> strings_of(const tenon_value& value) {
  if (value.tag != TENON_VALUE_STRING_LIST)
    throw Error(TENON_ERROR_TYPE, "a hook gave {} as a list of keys", brief_text(value));
  return list_of(std::span(value.as.strings, value.length), [](const tenon_string& text) {
    return std::string(text.data, static_cast<size_t>(text.length));
  });
}

// `names` and `tensors` are as the hook left them: replaced or not.
void replace_state(const NewValues& replacements, std::vector<NamedTensor>& state) {
  constexpr size_t names = 1, tensors = 2;
  if (!replacements.given(names) && !replacements.given(tensors)) return;
  const auto old_names = list_of(state, [](const NamedTensor& entry) { return entry.name; });
  const std::vector<std::string> keys =
      replacements.given(names) ? strings_of(replacements[names]) : old_names;
  std::vector<TensorRef> values =
      list_of(state, [](const NamedTensor& entry) { return entry.tensor; });
  if (replacements.given(tensors)) {
    const tenon_value& given = replacements[tensors];
    if (given.tag != TENON_VALUE_TENSOR_LIST)
      throw Error(TENON_ERROR_TYPE, "a hook gave {} as the tensors of a state", brief_text(given));
    values = list_of(std::span(given.as.tensors, given.length),
                     [](tenon_tensor* tensor) { return TensorRef(tensor); });
  }
  if (keys.size() != values.size()) {
    throw Error(TENON_ERROR_VALUE, "a hook gave a state of {} names and {} tensors", keys.size(),
                values.size());
  }
  state.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!values[i]) throw Error(TENON_ERROR_VALUE, "a hook gave no tensor for {}", keys[i]);
    state.push_back({keys[i], std::move(values[i])});
  }
}

}  // namespace

void run_state_save_pre_hooks(tenon_module& module, const std::string& prefix) {
  for_each_hook(module, TENON_HOOK_STATE_SAVE_PRE, [&](const ModuleHooks::Hook& hook) {
    const Owned inputs({make_string(prefix)});
    NewValues none(0);
    run_hook(hook, {module, {}}, inputs, {}, none);
  });
}

void run_state_save_post_hooks(tenon_module& module, const std::string& prefix,
                               std::vector<NamedTensor>& state) {
  for_each_hook(module, TENON_HOOK_STATE_SAVE_POST, [&](const ModuleHooks::Hook& hook) {
    const Owned inputs({make_string(prefix), names_of(state), tensors_of(state)});
    NewValues replacements(3);
    run_hook(hook, {module, {}}, inputs, {}, replacements);
    replace_state(replacements, state);
  });
}

void run_state_load_pre_hooks(tenon_module& module, const std::string& prefix,
                              std::vector<NamedTensor>& state, bool strict) {
  for_each_hook(module, TENON_HOOK_STATE_LOAD_PRE, [&](const ModuleHooks::Hook& hook) {
    const Owned inputs(
        {make_string(prefix), names_of(state), tensors_of(state), bool_value(strict)});
    NewValues replacements(4);
    run_hook(hook, {module, {}}, inputs, {}, replacements);
    replace_state(replacements, state);
  });
}

void run_state_load_post_hooks(tenon_module& module, const std::string& prefix,
                               std::vector<std::string>& missing,
                               std::vector<std::string>& unexpected) {
  for_each_hook(module, TENON_HOOK_STATE_LOAD_POST, [&](const ModuleHooks::Hook& hook) {
    const Owned inputs(
        {make_string(prefix), make_string_list(missing), make_string_list(unexpected)});
    NewValues replacements(3);
    run_hook(hook, {module, {}}, inputs, {}, replacements);
    if (replacements.given(1)) missing = strings_of(replacements[1]);
    if (replacements.given(2)) unexpected = strings_of(replacements[2]);
  });
}

}  // namespace tenon::core
