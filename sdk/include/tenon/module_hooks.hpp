// Hooks of modules: functions that run around forward, in backward, and around saving and loading.
//
//   const Hook hook = model.register_forward_hook(
//       [](const Module&, const Tensor& input, const Tensor& output) { return output + input; });
//   hook.remove();
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/hooks.hpp"
#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

// The arguments or results of a call, as a hook sees them; valid while it runs.
class HookValues {
 public:
  // Values of one run of a hook; `replacements` is null where nothing may be replaced.
  HookValues(Span<const tenon_value> values, const tenon_string* names, tenon_value* replacements)
      : values_(values), names_(names), replacements_(replacements) {}
  HookValues(const HookValues&) = delete;
  HookValues& operator=(const HookValues&) = delete;

  int64_t size() const { return values_.size(); }  // values
  // The name of forward's parameter; empty where it has none.
  std::string_view name(int64_t i) const {
    if (names_ == nullptr) return {};
    return {names_[place(i)].data, static_cast<size_t>(names_[i].length)};
  }
  // Borrowed, as it is now: what was set, or what was given. IndexError, as everywhere here, where
  // there is no such value.
  template <class Where>
  Argument operator[](const Where& where) const {
    return Argument(now(place(where)));
  }
  // A value as one of the types in sdk/docs/reference/schema_types.md; TypeError when it is of
  // another type.
  template <class T, class Where>
  T get(const Where& where) const {
    const int64_t i = place(where);
    const tenon_value& value = now(i);
    if (!detail::holds<T>(value))
      detail::throw_kind(label(i).c_str(), value, "of the type that it is read as");
    return detail::from_value<T>(value);
  }
  // Undefined when it is none; TypeError when it is something else.
  template <class Where>
  Tensor tensor(const Where& where) const {
    const int64_t i = place(where);
    const tenon_value& value = now(i);
    if (value.tag == TENON_VALUE_NONE) return {};
    if (value.tag != TENON_VALUE_TENSOR) detail::throw_kind(label(i).c_str(), value, "Tensor");
    return Tensor::borrow(value.as.tensor);
  }
  // Replaces the value: with a Tensor, number, text, list, `none` or Value.
  template <class Where, class T>
  void set(const Where& where, T&& value) {
    const int64_t i = place(where);
    Value given;
    detail::give_result(std::forward<T>(value), given.slot());
    const Value old(std::exchange(replacements_[i], given.give()));
  }

 private:
  // As messages call it: "value 'x' that a hook reads".
  std::string label(int64_t i) const {
    const std::string known(name(i));
    return "value " + (known.empty() ? std::to_string(i) : "'" + known + "'") +
           " that a hook reads";
  }
  int64_t place(int64_t i) const {
    if (i < 0 || i >= size()) {
      throw IndexError("a hook asks for value " + std::to_string(i) + " of " +
                       std::to_string(size()));
    }
    return i;
  }
  int64_t place(std::string_view keyword) const {
    for (int64_t i = 0; i < size(); ++i) {
      if (names_ != nullptr && name(i) == keyword) return i;
    }
    throw IndexError("a hook asks for '" + std::string(keyword) +
                     "', which is not a parameter of the module's forward");
  }
  const tenon_value& now(int64_t i) const {
    const bool set =
        replacements_ != nullptr && replacements_[i].tag != TENON_VALUE_NOT_IMPLEMENTED;
    return set ? replacements_[i] : values_[i];
  }
  Span<const tenon_value> values_;
  const tenon_string* names_;
  tenon_value* replacements_;
};

// The tensors of a state under their names, in the order of the file.
using ModuleState = std::vector<std::pair<std::string, Tensor>>;

// The keys in which a state and a module differ.
struct IncompatibleKeys {
  std::vector<std::string> missing;     // names that the state lacks
  std::vector<std::string> unexpected;  // in it
};

namespace detail {

inline std::vector<Tensor> tensors_of(const tenon_value* values, int64_t count) {
  std::vector<Tensor> tensors;
  for (int64_t i = 0; i < count; ++i) {
    const bool tensor = values[i].tag == TENON_VALUE_TENSOR;
    tensors.push_back(tensor ? Tensor::borrow(values[i].as.tensor) : Tensor());
  }
  return tensors;
}
inline std::vector<std::string> strings_of(const tenon_value& list) {
  std::vector<std::string> strings;
  for (const std::string_view text : from_value<std::vector<std::string_view>>(list))
    strings.emplace_back(text);
  return strings;
}

// Calls a function that returns nothing, or a Tensor that replaces the first value.
template <class Run>
void replace_first(HookValues& values, Run&& run) {
  if constexpr (std::is_void_v<std::invoke_result_t<Run&>>) {
    run();
  } else {
    const Tensor given = run();
    if (given.defined()) values.set(0, given);
  }
}

// Calls a function that returns nothing, all gradients, or the first.
template <class Run>
void replace_gradients(const char* what, int64_t count, tenon_value* replacements, Run&& run) {
  using Result = std::invoke_result_t<Run&>;
  if constexpr (std::is_void_v<Result>) {
    run();
  } else if constexpr (std::is_convertible_v<Result, Tensor>) {
    const Tensor given = run();
    if (given.defined() && count > 0) give_result(given, replacements);
  } else {
    const std::vector<Tensor> given = run();
    if (given.empty()) return;
    if (static_cast<int64_t>(given.size()) != count) {
      throw RuntimeError(std::string(what) + ", got " + std::to_string(given.size()) +
                         ", but expected " + std::to_string(count));
    }
    for (size_t i = 0; i < given.size(); ++i) give_result(given[i], replacements + i);
  }
}

struct ForwardPreHook {
  static constexpr int32_t kind = TENON_HOOK_FORWARD_PRE;
  template <class Function>
  static void run(Function& function, const tenon_module_hook_call& call, tenon_value* given) {
    const Module module = Module::borrow(call.module);
    HookValues inputs({call.inputs, call.input_count}, call.input_names, given);
    if constexpr (std::is_invocable_v<Function&, const Module&, const Tensor&>)
      replace_first(inputs, [&, input = inputs.tensor(0)] { return function(module, input); });
    else
      function(module, inputs);
  }
};

struct ForwardHook {
  static constexpr int32_t kind = TENON_HOOK_FORWARD;
  template <class Function>
  static void run(Function& function, const tenon_module_hook_call& call, tenon_value* given) {
    const Module module = Module::borrow(call.module);
    const HookValues inputs({call.inputs, call.input_count}, call.input_names, nullptr);
    HookValues outputs({call.outputs, call.output_count}, nullptr, given);
    if constexpr (std::is_invocable_v<Function&, const Module&, const Tensor&, const Tensor&>) {
      replace_first(outputs, [&, input = inputs.tensor(0), output = outputs.tensor(0)] {
        return function(module, input, output);
      });
    } else {
      function(module, inputs, outputs);
    }
  }
};

struct BackwardPreHook {
  static constexpr int32_t kind = TENON_HOOK_BACKWARD_PRE;
  template <class Function>
  static void run(Function& function, const tenon_module_hook_call& call, tenon_value* given) {
    const Module module = Module::borrow(call.module);
    const std::vector<Tensor> grad_outputs = tensors_of(call.outputs, call.output_count);
    replace_gradients("Backward pre hook returned an invalid number of grad_output",
                      call.output_count, given, [&] { return function(module, grad_outputs); });
  }
};

struct BackwardHook {
  static constexpr int32_t kind = TENON_HOOK_BACKWARD;
  template <class Function>
  static void run(Function& function, const tenon_module_hook_call& call, tenon_value* given) {
    const Module module = Module::borrow(call.module);
    const std::vector<Tensor> grad_inputs = tensors_of(call.inputs, call.input_count);
    const std::vector<Tensor> grad_outputs = tensors_of(call.outputs, call.output_count);
    replace_gradients("Backward hook returned an invalid number of grad_input", call.input_count,
                      given, [&] { return function(module, grad_inputs, grad_outputs); });
  }
};

struct StateSavePreHook {
  static constexpr int32_t kind = TENON_HOOK_STATE_SAVE_PRE;
  template <class Function>
  static void run(Function& function, const tenon_module_hook_call& call, tenon_value*) {
    function(Module::borrow(call.module), from_value<std::string>(call.inputs[0]));
  }
};

// Calls `change(state)` and gives back what it made of it.
template <class Change>
void change_state(const tenon_module_hook_call& call, tenon_value* given, Change&& change) {
  const std::vector<std::string> names = strings_of(call.inputs[1]);
  ModuleState state;
  for (size_t i = 0; i < names.size(); ++i)
    state.emplace_back(names[i], Tensor::borrow(call.inputs[2].as.tensors[i]));
  change(state);
  std::vector<std::string> new_names;
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : state) {
    new_names.push_back(name);
    tensors.push_back(tensor);
  }
  give_result(new_names, given + 1);
  give_result(tensors, given + 2);
}

struct StateSavePostHook {
  static constexpr int32_t kind = TENON_HOOK_STATE_SAVE_POST;
  template <class Function>
  static void run(Function& function, const tenon_module_hook_call& call, tenon_value* given) {
    change_state(call, given, [&](ModuleState& state) {
      function(Module::borrow(call.module), state, from_value<std::string>(call.inputs[0]));
    });
  }
};

struct StateLoadPreHook {
  static constexpr int32_t kind = TENON_HOOK_STATE_LOAD_PRE;
  template <class Function>
  static void run(Function& function, const tenon_module_hook_call& call, tenon_value* given) {
    change_state(call, given, [&](ModuleState& state) {
      function(Module::borrow(call.module), state, from_value<std::string>(call.inputs[0]),
               from_value<bool>(call.inputs[3]));
    });
  }
};

struct StateLoadPostHook {
  static constexpr int32_t kind = TENON_HOOK_STATE_LOAD_POST;
  template <class Function>
  static void run(Function& function, const tenon_module_hook_call& call, tenon_value* given) {
    IncompatibleKeys keys{strings_of(call.inputs[1]), strings_of(call.inputs[2])};
    function(Module::borrow(call.module), keys);
    give_result(keys.missing, given + 1);
    give_result(keys.unexpected, given + 2);
  }
};

template <class Kind, class Function>
tenon_status TENON_CALL run_module_hook(void* state, const tenon_module_hook_call* call,
                                        tenon_value* replacements, tenon_error** error) {
  return guarded(error, [&] { Kind::run(*static_cast<Function*>(state), *call, replacements); });
}

template <class Kind, class Function>
Hook add_module_hook(tenon_module* module, Function&& function, HookOptions options) {
  using Kept = std::decay_t<Function>;
  const uint32_t flags = (options.prepend ? uint32_t{TENON_HOOK_PREPEND} : 0) |
                         (options.always_call ? uint32_t{TENON_HOOK_ALWAYS_CALL} : 0);
  tenon_hook* hook = nullptr;
  check(service::modules().add_hook, module, Kind::kind, flags, &run_module_hook<Kind, Kept>,
        static_cast<void*>(new Kept(std::forward<Function>(function))), &destroy_hook<Kept>, &hook);
  return Hook::take(hook);
}

}  // namespace detail

TENON_NAMESPACE_END
