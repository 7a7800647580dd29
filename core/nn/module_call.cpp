// Binding and running a module's forward.
#include <boost/container/small_vector.hpp>

#include "core/autograd/engine/grow_stack.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/interrupt.hpp"
#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/nn/hooks.hpp"
#include "core/nn/module.hpp"
#include "core/nn/module_watch.hpp"

namespace tenon::core {

const Schema& forward_schema(const tenon_module& module) {
  if (module.own_forward != nullptr) return *module.own_forward;
  if (module.type->forward) return *module.type->forward;
  if (module.type->descriptor.forward == nullptr) {
    throw Error(TENON_ERROR_TYPE,
                "{} is a mode: enter it by a ModeScope; it has no forward to be called",
                module.type->schema.name);
  }
  throw Error(TENON_ERROR_TYPE,
              "{} has no forward schema: its create sets one for each instance, see "
              "module_set_forward",
              module.type->schema.name);
}

void set_forward_schema(tenon_module& module, std::string_view text) {
  if (module.type->forward) {
    throw Error(TENON_ERROR_TYPE, "{} has the forward schema of its type: {}",
                module.type->schema.name, module.type->forward->text);
  }
  module.own_forward = std::make_unique<Schema>(parse_forward_schema(text, *module.type));
}

namespace {

// Binds arguments by position that need no conversion; false where binding has to look.
bool bind_as_given(const Schema& schema, std::span<const tenon_value> positional,
                   tenon_value* arguments) {
  if (positional.size() > static_cast<size_t>(schema.positional_count)) return false;
  for (size_t i = 0; i < positional.size(); ++i) {
    if (!accepts(schema.parameters[i], positional[i])) return false;
  }
  return bind_plain(schema, positional, arguments);
}

void check_results(const tenon_module& module, const Schema& schema, tenon_value* results) {
  for (size_t r = 0; r < schema.returns.size(); ++r) {
    const std::string fault = result_fault(schema.returns[r], results[r]);
    if (fault.empty()) continue;
    const std::string declared = type_text(schema.returns[r]);
    for (size_t i = 0; i < schema.returns.size(); ++i) discard_value(results[i]);
    throw Error(TENON_ERROR_TYPE,
                "{}(): result {} {}, but the schema declares {}; fix the module in plugin '{}'",
                schema.called_name(), r, fault, declared, module.type->provider);
  }
}

// With the place of the innermost module that a document describes.
[[noreturn, gnu::cold]] void throw_located(const tenon_module& module, tenon_status status,
                                           tenon_error* error) {
  try {
    throw_status(status, error);
  } catch (Error& failure) {
    constexpr const char* kIn = "\n  in ";
    if (!module.place.empty() && failure.message.find(kIn) == std::string::npos)
      failure.message += format_text("{}{} at {}", kIn, module.type->short_name(), module.place);
    throw;
  }
}

// Computes from bound arguments.
void compute(tenon_module& module, const Schema& schema, const tenon_value* arguments,
             tenon_value* results) {
  const tenon_module_descriptor& descriptor = module.type->descriptor;
  tenon_error* error = nullptr;
  const tenon_status status =
      descriptor.forward(descriptor.self, module.state, &module, arguments, results, &error);
  if (status != TENON_OK) throw_located(module, status, error);
  check_results(module, schema, results);
}

boost::container::small_vector<tenon_string, 4> parameter_names(const Schema& schema) {
  boost::container::small_vector<tenon_string, 4> names;
  for (const Parameter& parameter : schema.parameters)
    names.push_back({parameter.name.data(), static_cast<int64_t>(parameter.name.size())});
  return names;
}

// Arguments that pre-hooks replaced are bound again, results that forward hooks replaced are
// checked.
[[gnu::cold]] void compute_with_hooks(tenon_module& module, const Schema& schema,
                                      const tenon_value* arguments, tenon_value* results) {
  const ModuleRef kept(&module);  // a hook may drop the caller's last reference
  const auto names = parameter_names(schema);
  const auto forward = [&](std::span<const tenon_value> left) {
    BoundArguments bound;
    bind_arguments(schema, {{}, std::span(names.data(), left.size()), left}, bound);
    compute(module, schema, bound.values, results);
  };
  call_with_hooks(module, {names.data(), names.size()}, {arguments, names.size()},
                  {results, schema.returns.size()}, forward);
  check_results(module, schema, results);
}

void run_forward(tenon_module& module, const Schema& schema, const tenon_value* arguments,
                 tenon_value* results) {
  std::fill_n(results, kMaxResults, tenon_value{});
  stop_if_interrupted();
  const SwitchGuard<&ThreadState::module> running(module.number);
  const auto unwatched = [&] {
    if (may_have_hooks(module.hooks)) [[unlikely]]
      compute_with_hooks(module, schema, arguments, results);
    else
      compute(module, schema, arguments, results);
  };
  const auto forward = [&] {
    if (thread_state.own.watches.innermost == nullptr) [[likely]]
      return unwatched();
    const ModuleRef kept(&module);  // a watch may drop the caller's last reference
    const auto names = parameter_names(schema);
    run_watched(current_watch(), module, {names.data(), names.size()}, {arguments, names.size()},
                {results, schema.returns.size()}, unwatched);
  };
  // Modules call those inside of them, to any depth.
  with_stack(forward);
}

[[noreturn, gnu::cold]] void refuse_count(const tenon_module& module, size_t has, int64_t asked) {
  throw Error(TENON_ERROR_TYPE,
              "{}() has {} results, and is called for {}: name a result type that fits, such as {}",
              module.type->schema.name, has, asked,
              has == 1   ? "module.call<Tensor>(...)"
              : has == 0 ? "module.call<void>(...)"
                         : "module.call<std::tuple<Tensor, Tensor>>(...)");
}
void check_count(const tenon_module& module, const Schema& schema, int64_t expected) {
  if (expected >= 0 && schema.returns.size() != static_cast<size_t>(expected)) [[unlikely]]
    refuse_count(module, schema.returns.size(), expected);
}

}  // namespace

void call_module(tenon_module& module, std::span<const tenon_value> positional,
                 std::span<const tenon_string> keywords,
                 std::span<const tenon_value> keyword_values, tenon_value* results,
                 int64_t result_count) {
  const Schema& schema = forward_schema(module);
  tenon_value given[kMaxParameters];
  if (keywords.empty() && bind_as_given(schema, positional, given)) [[likely]] {
    check_count(module, schema, result_count);
    run_forward(module, schema, given, results);
    return;
  }
  BoundArguments bound;
  bind_arguments(schema, {positional, keywords, keyword_values}, bound);
  check_count(module, schema, result_count);
  run_forward(module, schema, bound.values, results);
}

namespace {

tenon_status ask_module(void* self, const tenon_call* call, tenon_value* results,
                        tenon_error** error) {
  auto* module = static_cast<tenon_module*>(self);
  const tenon_module_descriptor& descriptor = module->type->descriptor;
  return descriptor.tenon_function(descriptor.self, module->state, module, call, results, error);
}

}  // namespace

ModeEntry* enter_module(tenon_module& module, bool below) {
  if (module.type->descriptor.tenon_function == nullptr) {
    throw Error(TENON_ERROR_TYPE,
                "{} cannot be entered as a mode: its type defines no tenon_function",
                module.type->schema.name);
  }
  ModeEntry* mode = enter_mode(module.type->schema.name, ask_module, &module, below);
  module.retain();
  mode->release_self = [](void* self) { static_cast<tenon_module*>(self)->release(); };
  return mode;
}

}  // namespace tenon::core
