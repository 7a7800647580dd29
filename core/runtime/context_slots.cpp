// Service contexts: what may be asked in which phase, and what each refusal says.
#include <algorithm>
#include <memory>
#include <string>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

std::string op_of(const tenon_context* context) {
  return format_text("'{}'", context->implementation->schema.name);
}

[[noreturn, gnu::cold]] void fail_phase(const tenon_context* context, const char* method,
                                        const char* where) {
  const char* phase = context->rule == nullptr ? "forward" : context->rule->phase();
  throw Error(TENON_ERROR_RUNTIME, "{} can be called only in {}, not in {} of {}", method, where,
              phase, op_of(context));
}
void require_forward(const tenon_context* context, const char* method) {
  if (context->rule != nullptr) fail_phase(context, method, "forward");
}
[[gnu::always_inline]] inline bool is_backward(const tenon_context* context) {
  return context->rule != nullptr && context->rule->phase() == std::string_view("backward");
}
void require_backward(const tenon_context* context, const char* method) {
  if (!is_backward(context)) fail_phase(context, method, "backward");
}

// The context with the attributes: for backward, for jvp, or of this run.
FunctionContext* function_context_of(const tenon_context* context) {
  return context->rule != nullptr ? context->rule->function_context() : context->function;
}
// The context that run fills for backward; null when no rule will read it.
FunctionContext* context_for_backward(const tenon_context* context) {
  return context->function != nullptr && !context->function->transient ? context->function
                                                                       : nullptr;
}

std::string attribute_text(std::string_view name) {
  return name.empty() ? std::string("stash") : format_text("attribute {}", quote(name));
}

// An index beyond the call's parameters, or a tensor that the call had but that was not kept.
[[noreturn, gnu::cold]] void fail_argument(const tenon_context* context, int64_t index) {
  const std::vector<Parameter>& parameters = context->implementation->schema.parameters;
  if (index < 0 || index >= static_cast<int64_t>(parameters.size())) {
    throw Error(TENON_ERROR_INDEX, "argument {} of {} is asked for, which has {} parameters", index,
                op_of(context), parameters.size());
  }
  const std::string& name = parameters[static_cast<size_t>(index)].name;
  throw Error(TENON_ERROR_RUNTIME,
              "{} of {} reads tensor '{}', which was not kept: name it in the op's `saves`, or "
              "keep it with {}",
              context->rule->phase(), op_of(context), name,
              is_backward(context) ? "save_for_backward" : "save_for_forward");
}

// Whether the op's `saves` names the result, for whichever input.
bool keeps_result(const Implementation& implementation, int64_t index) {
  return std::any_of(implementation.saves.begin(), implementation.saves.end(),
                     [&](const SavedItem& item) {
                       return item.kind == SavedItem::Kind::Result && item.index == index;
                     });
}

// Replaces what the context keeps.
[[gnu::always_inline]] inline void hold(std::vector<TensorRef>& kept,
                                        std::span<Tensor* const> tensors) {
  kept.clear();
  kept.reserve(tensors.size());
  for (Tensor* tensor : tensors) kept.emplace_back(tensor);
}

// ---- slots whose common case raises nothing, or that own what they are given ----

tenon_status argument(const tenon_context* context, int64_t index, const tenon_value** value,
                      tenon_error** error) {
  const Implementation& implementation = *context->implementation;
  const bool known = index >= 0 && index < static_cast<int64_t>(implementation.parameter_count);
  if (known) [[likely]] {
    *value = context->arguments + index;
    const bool lost = (*value)->tag == TENON_VALUE_NONE && context->rule != nullptr &&
                      (implementation.saved_parameters >> index & 1u) == 0 &&
                      context->rule->had_tensor(index);
    if (!lost) [[likely]]
      return TENON_OK;
  }
  return guarded(error, [&] { fail_argument(context, index); });
}

tenon_status set_attribute(tenon_context* context, tenon_attribute* attribute,
                           tenon_error** error) {
  const tenon_status status = guarded(error, [&] {
    if (context->rule == nullptr && context->function == nullptr) {
      // A plain run: until it ends, it may read what it sets.
      if ((context->implementation->flags & TENON_OP_FUNCTION) == 0)
        throw Error(TENON_ERROR_RUNTIME, "{} is not a Function: it has no context", op_of(context));
      context->function = new FunctionContext;
      context->function->transient = true;
    }
    FunctionContext* function = function_context_of(context);
    if (function == nullptr || is_backward(context))
      fail_phase(context, "setting an attribute", "forward and jvp");
    function->attributes.set(attribute);
  });
  if (status != TENON_OK) attribute->destroy(attribute);
  return status;
}

tenon_status find_attribute(const tenon_context* context, const tenon_string* name,
                            const tenon_string* type, tenon_attribute** attribute,
                            tenon_error** error) {
  const FunctionContext* function = function_context_of(context);
  const std::string_view asked = Attributes::text(*name);
  *attribute = function == nullptr ? nullptr : function->attributes.find(asked);
  if (*attribute != nullptr && Attributes::text((*attribute)->type) == Attributes::text(*type))
      [[likely]]
    return TENON_OK;
  return guarded(error, [&] {
    if (*attribute == nullptr) {
      throw Error(TENON_ERROR_RUNTIME, "the context of {} has no {}: set it in forward",
                  op_of(context), attribute_text(asked));
    }
    throw Error(TENON_ERROR_TYPE, "the {} on the context of {} is {}, not {}",
                attribute_text(asked), op_of(context), Attributes::text((*attribute)->type),
                Attributes::text(*type));
  });
}

tenon_status give_gradients(tenon_context* context, tenon_tensor* const* tensors, int64_t count,
                            tenon_error** error) {
  const bool fits = context->rule != nullptr && !context->rule->answered;
  if (!fits) {
    for (int64_t i = 0; i < count; ++i) {
      if (tensors[i] != nullptr) tensors[i]->release();
    }
    return guarded(error, [&] {
      throw Error(TENON_ERROR_RUNTIME, context->rule == nullptr
                                           ? "gradients can be given only by backward and jvp"
                                           : "a rule gave its gradients twice");
    });
  }
  return guarded(error, [&] {
    context->rule->answered = true;
    for (int64_t i = 0; i < count; ++i)
      context->rule->answer->push_back(TensorRef::take(tensors[i]));
  });
}

}  // namespace

constinit const tenon_contexts_service contexts_service{
    .head = {},
    .arguments = [](const tenon_context* context) { return context->arguments; },
    .argument = argument,
    .result = [](const tenon_context* context, int64_t index) -> tenon_tensor* {
      return context->rule == nullptr ? nullptr : context->rule->result(index);
    },
    .kept_result = slot([](const tenon_context* context, int64_t index) {
      if (context->rule == nullptr) fail_phase(context, "reading a result", "backward and jvp");
      const auto count = static_cast<int64_t>(context->implementation->schema.returns.size());
      if (index < 0 || index >= count) {
        throw Error(TENON_ERROR_INDEX, "result {} of {} is asked for, which has {}{}", index,
                    op_of(context), count, count == 1 ? " result" : " results");
      }
      tenon_tensor* const result = context->rule->result(index);
      // A jvp sees all results.
      if (result == nullptr && is_backward(context) &&
          !keeps_result(*context->implementation, index)) {
        throw Error(TENON_ERROR_RUNTIME,
                    "backward of {} reads result {}, which was not kept: name it in the op's "
                    "`saves`, or keep it with save_for_backward",
                    op_of(context), index);
      }
      return result;
    }),
    .slot_count = [](const tenon_context* context) -> int64_t {
      if (context->rule != nullptr) return context->rule->slot_count();
      return static_cast<int64_t>(count_slots(*context->implementation, context->arguments));
    },
    .needs_gradient = [](const tenon_context* context, int64_t slot) -> int32_t {
      if (context->rule != nullptr) return context->rule->needs_gradient(slot) ? 1 : 0;
      if (context->function == nullptr || slot < 0) return 0;
      // Slots past the first 64 are not noted: they may.
      const uint64_t needs = context->function->needs;
      return (slot >= 64 ? needs != 0 : (needs >> slot & 1u) != 0) ? 1 : 0;
    },
    .save = slot([](tenon_context* context, tenon_tensor* const* tensors, int64_t count) {
      require_forward(context, "save_for_backward");
      if (FunctionContext* function = context_for_backward(context))
        hold(function->saved, tensors_of(tensors, count));
    }),
    .save_for_forward =
        slot([](tenon_context* context, tenon_tensor* const* tensors, int64_t count) {
          require_forward(context, "save_for_forward");
          if (FunctionContext* function = context_for_backward(context))
            hold(function->saved_for_forward, tensors_of(tensors, count));
        }),
    .saved_count = [](const tenon_context* context) -> int64_t {
      return context->rule == nullptr ? 0 : context->rule->saved_count();
    },
    .saved = slot([](tenon_context* context, int64_t index) {
      if (context->rule == nullptr)
        fail_phase(context, "reading saved tensors", "backward and jvp");
      return context->rule->give_saved(index);
    }),
    .mark_dirty = slot([](tenon_context* context, tenon_tensor* const* tensors, int64_t count) {
      require_forward(context, "mark_dirty");
      FunctionContext* function = context_for_backward(context);
      for (Tensor* tensor : tensors_of(tensors, count)) {
        if (tensor == nullptr)
          throw Error(TENON_ERROR_ARGUMENT,
                      "mark_dirty of {} was given an undefined tensor: it takes inputs that "
                      "forward changes in place",
                      op_of(context));
        if (function != nullptr)
          function->dirty.emplace_back(tensor);
        else
          note_change(*context->implementation, *tensor);
      }
    }),
    .mark_non_differentiable =
        slot([](tenon_context* context, tenon_tensor* const* tensors, int64_t count) {
          require_forward(context, "mark_non_differentiable");
          FunctionContext* function = context_for_backward(context);
          if (function == nullptr) return;
          for (Tensor* tensor : tensors_of(tensors, count))
            function->non_differentiable.emplace_back(tensor);
        }),
    .set_materialize_grads = slot([](tenon_context* context, int32_t enabled) {
      require_forward(context, "set_materialize_grads");
      if (FunctionContext* function = context_for_backward(context))
        function->materialize = enabled != 0;
    }),
    .set_attribute = set_attribute,
    .attribute = find_attribute,
    .attribute_tensor = slot([](const tenon_context* context, const tenon_attribute* attribute,
                                int64_t index) -> TensorRef {
      if (index < 0 || index >= attribute->tensor_count)
        throw Error(TENON_ERROR_INDEX, "the attribute holds {} tensors", attribute->tensor_count);
      Tensor* const tensor = attribute->tensors[index];
      if (tensor == nullptr || context->rule == nullptr) return TensorRef(tensor);
      return context->rule->guard(*tensor);
    }),
    .erase_attribute = slot([](tenon_context* context, const tenon_string* name) {
      if (is_backward(context)) fail_phase(context, "erasing an attribute", "forward and jvp");
      FunctionContext* function = function_context_of(context);
      if (function == nullptr || !function->attributes.erase(Attributes::text(*name))) {
        throw Error(TENON_ERROR_RUNTIME, "the context of {} has no {} to erase", op_of(context),
                    attribute_text(Attributes::text(*name)));
      }
    }),
    .backward_options = slot([](const tenon_context* context) {
      require_backward(context, "reading the options of the call");
      return context->rule->backward_options();
    }),
    .take_gradients = slot([](tenon_context* context, int64_t count, tenon_tensor** gradients) {
      require_backward(context, "taking the gradients");
      if (!context->rule->take_gradients({gradients, static_cast<size_t>(count)}))
        throw Error(TENON_ERROR_RUNTIME,
                    "the backward of {} takes its gradients twice, or another number",
                    op_of(context));
    }),
    .give = give_gradients,
};

}  // namespace tenon::core
