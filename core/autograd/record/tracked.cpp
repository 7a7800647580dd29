// Decisions about calls: does autograd have to do with them, and what would it record?
#include "core/autograd/record/tracked.hpp"

#include <algorithm>
#include <string>

#include "core/autograd/record/inplace.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/operands.hpp"

namespace tenon::core {

namespace {

// Whether an operand is a view without history of a base with history: reads may re-derive it from
// the base, writes change the base.
bool concerns_base(const Implementation& implementation, const tenon_value* arguments) {
  // A Function may mark any of its inputs dirty.
  const bool function = (implementation.flags & TENON_OP_FUNCTION) != 0;
  bool found = false;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const bool written = function || is_written(implementation, i);
    for_each_tensor(arguments[i], [&](const Tensor* tensor) {
      if (tensor->view_base == nullptr) return;
      // Another thread may have updated it since its flags were gathered.
      found |= tensor->older_than_base() || tensor->requires_grad() ||
               (written && tensor->view_base->requires_grad());
    });
  }
  return found;
}

// Whether an operand is a view without a tangent of a base that has one.
bool has_dual_base(const Implementation& implementation, const tenon_value* arguments) {
  bool found = false;
  for (uint32_t i = 0; i < implementation.slot_parameters; ++i) {
    for_each_tensor(arguments[i], [&](const Tensor* tensor) {
      found |=
          tensor->view_base != nullptr && tensor->view_base->has_flag(TENON_TENSOR_HAS_TANGENT);
    });
  }
  return found;
}

}  // namespace

bool needs_autograd(Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  uint32_t& flags = call.flags;
  if ((flags & (TENON_TENSOR_VIEW | TENON_TENSOR_REQUIRES_GRAD)) == TENON_TENSOR_VIEW &&
      records() && concerns_base(implementation, call.arguments))
    flags |= TENON_TENSOR_REQUIRES_GRAD;
  if (thread_state.dual_level != nullptr &&
      (flags & (TENON_TENSOR_VIEW | TENON_TENSOR_HAS_TANGENT)) == TENON_TENSOR_VIEW &&
      has_dual_base(implementation, call.arguments))
    flags |= TENON_TENSOR_HAS_TANGENT;
  if (implementation.composite) return false;
  const bool requires_grad = (flags & TENON_TENSOR_REQUIRES_GRAD) != 0;
  // A Function may return its input: then the result must be another handle, recorded or not.
  const bool may_pass_through = (implementation.flags & TENON_OP_FUNCTION) != 0;
  return (requires_grad && (records() || may_pass_through)) ||
         (flags & TENON_TENSOR_HAS_TANGENT) != 0;
}

// ---- refusals, before anything runs ----

[[noreturn, gnu::cold]] void fail_not_implemented(const Implementation& implementation) {
  throw Error(TENON_ERROR_NOT_IMPLEMENTED,
              "[{}::backward] not implemented: autograd not implemented for op '{}' of plugin "
              "'{}'; give it a backward, declare it composite, or call it under no_grad",
              implementation.schema.name, implementation.schema.name, implementation.provider);
}

void check_recordable(const Implementation& implementation, const tenon_value* arguments) {
  if (has_out(implementation, arguments)) {
    throw Error(TENON_ERROR_RUNTIME,
                "{}(): functions with out=... arguments don't support automatic differentiation, "
                "but one of the arguments requires grad; omit 'out' or run under no_grad",
                implementation.schema.short_name());
  }
  if (!implementation.mutates) return;
  const bool formula = implementation.descriptor.differentiable == TENON_DIFFERENTIABLE_FORMULA;
  const bool constant = (implementation.flags & TENON_OP_ZERO_GRADIENT) != 0;
  const auto check = [&](Tensor* tensor, uint32_t parameter) {
    check_inplace(*tensor, implementation.schema.short_name());
    // Raised before the data has changed.
    if (!differentiable_dtype(tensor)) return;
    if (!formula && !constant) fail_not_implemented(implementation);
    const std::vector<int32_t>& aliases = implementation.result_alias;
    if (has_history(*tensor) && std::find(aliases.begin(), aliases.end(),
                                          static_cast<int32_t>(parameter)) == aliases.end()) {
      throw Error(TENON_ERROR_RUNTIME,
                  "{}(): changes '{}' in place, which requires grad, and does not return it: its "
                  "new history would be lost. Run it under no_grad, or on a detached clone",
                  implementation.schema.short_name(),
                  implementation.schema.parameters[parameter].name);
    }
  };
  for_each_mutated(implementation, arguments, check);
}

// ---- explanations ----

namespace {

// The parameters whose operands carry the flag: "input, other".
std::vector<std::string> carrying(const Explanation& explanation, uint32_t flag) {
  const Implementation& implementation = *explanation.implementation;
  std::vector<std::string> names;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    bool found = false;
    for_each_tensor(explanation.arguments[i],
                    [&](const Tensor* tensor) { found |= tensor->has_flag(flag); });
    if (found) names.push_back(implementation.schema.parameters[i].name);
  }
  return names;
}

// The node that a call leaves where it is recorded: "records AddBackward0".
std::string node_text(const Implementation& recorded) {
  const bool formula = recorded.descriptor.differentiable == TENON_DIFFERENTIABLE_FORMULA;
  const bool function = (recorded.flags & TENON_OP_FUNCTION) != 0;
  const std::string node = formula    ? format_text("records {}", recorded.node_name)
                           : function ? "records a refusal: it has no backward"
                                      : "fails for floating results: it has no backward";
  if (recorded.rules_provider.empty()) return node;
  return format_text("{} by the rules of plugin {}", node, recorded.rules_provider);
}

// Which operands have the call recorded, or why it is not.
std::string recording_text(const Explanation& explanation, const Implementation& recorded,
                           bool is_recorded) {
  const std::vector<std::string> needing = carrying(explanation, TENON_TENSOR_REQUIRES_GRAD);
  if (needing.empty() && (explanation.flags & TENON_TENSOR_REQUIRES_GRAD) == 0)
    return "records nothing: no operand requires grad";
  if (!is_recorded || !records()) {
    return format_text("records nothing: {}",
                       thread_state.inference ? "inference mode is on" : "grad mode is off");
  }
  const std::string cause = needing.empty() ? "the base of a view needs a gradient"
                            : needing.size() == 1
                                ? format_text("{} needs a gradient", needing.front())
                                : format_text("{} need gradients", join(needing, ", "));
  return format_text("{} ({})", node_text(recorded), cause);
}

std::string gradient_text(const Explanation& explanation, bool is_recorded) {
  const Explanation::Handling& handling = *explanation.handling;
  const Implementation* const recorded = handling.own ? explanation.implementation : handling.rules;
  if (recorded == nullptr || recorded->composite) return "through the ops that it calls";
  if ((recorded->flags & TENON_OP_ZERO_GRADIENT) != 0)
    return "records nothing: its gradient is zero wherever there is one";
  if (explanation.by_types)
    return format_text("{}, where an operand requires grad", node_text(*recorded));
  const std::string text = recording_text(explanation, *recorded, is_recorded);
  const std::vector<std::string> tangents = carrying(explanation, TENON_TENSOR_HAS_TANGENT);
  if (tangents.empty()) return text;
  return format_text("{}; computes a tangent from that of {}", text, join(tangents, ", "));
}

}  // namespace

void explain_recorded(Explanation& explanation) {
  bool recorded = explanation.handling->rules != nullptr;
  if (explanation.runs_own()) {
    Call call = explanation.call();
    recorded = needs_autograd(call);
    explanation.flags = call.flags;
    if (recorded) check_recordable(*explanation.implementation, explanation.arguments);
  }
  explanation.gradient = gradient_text(explanation, recorded);
}

}  // namespace tenon::core
