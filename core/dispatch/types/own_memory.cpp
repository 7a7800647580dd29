// The layer of types whose elements are in memory that kernels do not read: devices. Their overrides
// and handlers are asked in place of the kernel, so that all that is above it is the same for them.
//
// Ops that read no element run as they are: views, whose results become the type, and ops that are
// made of ops, as Functions are, whose ops are asked in turn. Tensors that such an op makes itself are
// plain: they are moved to its operands' memory where they meet them. Elsewhere operands in memory of
// several owners are refused.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/kernel.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/types/chain.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/plan.hpp"

namespace tenon::core {

namespace {

// Ops that read no element: those made of ops, which are asked in turn, and views.
bool runs_as_it_is(const Implementation& implementation) {
  const bool view = implementation.aliases && !implementation.mutates &&
                    (implementation.flags & TENON_OP_MAY_COPY) == 0;
  return implementation.composite || (implementation.flags & TENON_OP_FUNCTION) != 0 || view;
}

// Handlers may run a call twice, or later: not one whose elements leave the process, which runs on copies.
bool is_for_handlers(const Implementation& implementation) {
  return !runs_as_it_is(implementation) && (implementation.flags & TENON_OP_READS_ELEMENTS) == 0;
}

// Asks the first override or handler of each chain; `call.results` says whether all have declined.
tenon_status ask_chains(const Plan& plan, Call& call, int32_t DispatchChain::*first) noexcept {
  for (const DispatchChain& chain : plan.chains) {
    if (chain.*first < 0) continue;
    const auto index = static_cast<size_t>(chain.*first);
    const tenon_status status = ask_candidate(plan, chain, index, call, 0);
    if (status != TENON_OK || !declined(call.results)) return status;
  }
  call.results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
  return TENON_OK;
}

[[noreturn, gnu::cold]] void throw_unreadable(const Implementation& implementation,
                                              const Plan& plan) {
  Words names;
  for (const TensorType* type : plan.types) names.push_back(type->name);
  throw Error(
      TENON_ERROR_NOT_IMPLEMENTED,
      "{}(): no plugin implements op {} for [{}], whose memory the kernel of plugin {} does "
      "not read; convert with ensure_tensor, or set the type's fallback in the config "
      "(`tenon coverage {}` lists what there is)",
      implementation.schema.short_name(), quote(implementation.schema.name), join(names, ", "),
      quote(implementation.provider), plan.types.front()->name);
}

// Refuses operands in memory of several owners, but for numbers of rank 0, which
// the owner of the others reads.
void check_memory(const Implementation& implementation, const tenon_value* arguments) {
  const auto owner_of = [](const Tensor& tensor) -> const TensorType& {
    const TypeTable& table = TypeTable::process();
    return tensor.typed() ? table.at(tensor.view.type) : table.tensor();
  };
  const auto text = [](const TensorType& owner) {
    return owner.is_plain() ? std::string("the CPU") : owner.name;
  };
  const TensorType* first = nullptr;
  std::string first_name;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const std::string& name = implementation.schema.parameters[i].name;
    for_each_tensor(arguments[i], [&](const Tensor* tensor) {
      const TensorType& owner = owner_of(*tensor);
      if (owner.is_plain() && tensor->view.rank == 0) return;
      if (first == nullptr) {
        first = &owner;
        first_name = name;
      }
      if (first == &owner) return;
      throw Error(
          TENON_ERROR_VALUE,
          "{}(): {} is in memory of {}, {} in memory of {}; copy one of them to the other's "
          "(device::to)",
          implementation.schema.short_name(), quote(first_name), text(*first), quote(name),
          text(owner));
    });
  }
}

// Whether an operand that is not a number is in other memory than the first typed one.
bool mixes_memory(const Implementation& implementation, const tenon_value* arguments) {
  uint32_t owner = 0;
  bool plain = false, mixed = false;
  for_each_operand(implementation, arguments, [&](const Tensor* tensor) {
    if (tensor->typed()) {
      mixed |= owner != 0 && owner != tensor->view.type;
      owner = tensor->view.type;
    } else {
      plain |= tensor->view.rank > 0;
    }
  });
  return mixed || plain;
}

// In place of the kernel: neither recorded nor seen by modes.
tenon_status run_by_types(const Plan& plan, Call& call) noexcept {
  const GradModeGuard unrecorded(false);
  const SwitchGuard<&ThreadState::dual_level> without_tangents(nullptr);
  const ModesOffGuard modes_off;
  tenon_status status = ask_chains(plan, call, &DispatchChain::first_override);
  if (status == TENON_OK && declined(call.results) && is_for_handlers(call.implementation))
    status = ask_chains(plan, call, &DispatchChain::first_handler);
  if (status != TENON_OK || !declined(call.results) || !is_for_handlers(call.implementation))
    return status;
  return guarded(call.error, [&] {
    if (plan.fallbacks.empty()) throw_unreadable(call.implementation, plan);
    run_fallback(*plan.fallbacks.front(), call, call.results);
  });
}

Tensor* first_typed(const Implementation& implementation, const tenon_value* arguments) {
  Tensor* first = nullptr;
  for_each_operand(implementation, arguments, [&](Tensor* operand) {
    if (first == nullptr && operand->typed()) first = operand;
  });
  return first;
}

// With plain operands moved to the memory of the others: helpers of an op that is made of ops.
tenon_status run_joined(const TensorType& type, Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  tenon_status run_status = TENON_OK;
  const tenon_status status = guarded(call.error, [&] {
    Tensor* const like = first_typed(implementation, call.arguments);
    ReplacedOperands replaced;
    std::vector<TensorRef> owned;
    replaced.set(implementation, call.arguments, [&](Tensor* operand, uint32_t parameter) {
      if (operand->typed() || operand->view.rank == 0) return operand;
      if (is_written(implementation, parameter)) check_memory(implementation, call.arguments);
      return owned.emplace_back(from_plain(type, *operand, like)).get();
    });
    Call inner = call;
    inner.arguments = replaced.values();
    inner.written = Writing();
    run_status = run_in_own_memory(inner);
  });
  return run_status != TENON_OK ? run_status : status;
}

// Whether a view is of an operand in separate memory; one of a number beside such an operand is not.
bool views_typed(const Implementation& implementation, const tenon_value* arguments) {
  return std::ranges::any_of(implementation.result_alias, [&](int32_t source) {
    return source >= 0 && arguments[source].tag == TENON_VALUE_TENSOR &&
           arguments[source].as.tensor->typed();
  });
}

// Runs an op that reads no element; its results are in the memory of its operands.
tenon_status run_as_it_is(const TensorType& type, Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  {
    const SwitchGuard<&ThreadState::joins_memory> joins(true);
    const tenon_status status = next<LayerId::own_memory>(call);
    if (status != TENON_OK) return status;
  }
  const tenon_status status = guarded(call.error, [&] {
    if (implementation.aliases && !implementation.composite) {
      if (views_typed(implementation, call.arguments))
        retype_results(type, implementation, call.arguments, call.results);
      return;
    }
    Tensor* const like = first_typed(implementation, call.arguments);
    for_each_result(implementation, call.results, [&](Tensor*& place) {
      bool is_there = place == nullptr || place->typed();
      for_each_operand(implementation, call.arguments,
                       [&](const Tensor* operand) { is_there |= operand == place; });
      if (!is_there) put(place, from_plain(type, *place, like));
    });
  });
  if (status != TENON_OK) release_results(implementation, call.results);
  return status;
}

}  // namespace

tenon_status run_in_own_memory(Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  const Plan* plan = nullptr;
  const tenon_status found = guarded(call.error, [&] {
    plan = &PlanCache::process().find(implementation, gather_types(implementation, call.arguments));
  });
  if (found != TENON_OK) return found;
  const TensorType& type = *plan->types.front();
  const bool as_it_is = runs_as_it_is(implementation);
  if ((plan->plain || plan->types.size() > 1) && implementation.schema.name != "copy_" &&
      mixes_memory(implementation, call.arguments)) {
    if (!thread_state.joins_memory || plan->types.size() > 1)
      return guarded(call.error, [&] { check_memory(implementation, call.arguments); });
    if (!as_it_is || !implementation.composite) return run_joined(type, call);
  }
  tenon_value unused{};
  Call asked = call;
  asked.flags &= ~kAutogradFlags;
  if (implementation.result_count == 0) asked.results = &unused;
  const tenon_status status = run_by_types(*plan, asked);
  if (status != TENON_OK) return status;
  if (declined(asked.results)) {
    clear_results(asked);
    return (implementation.flags & TENON_OP_READS_ELEMENTS) != 0 ? run_on_copies(type, call)
                                                                 : run_as_it_is(type, call);
  }
  tenon_context context{
      .implementation = &implementation, .arguments = call.arguments, .results = call.results};
  context.error = call.error;
  return finish_kernel(context);
}

void explain_in_own_memory(Explanation& explanation) {
  if (!explanation.plan || !explanation.plan->in_own_memory) return;
  const Implementation& implementation = *explanation.implementation;
  const bool several = explanation.plan->plain || explanation.plan->types.size() > 1;
  if (several && implementation.schema.name != "copy_" && explanation.arguments != nullptr &&
      mixes_memory(implementation, explanation.arguments))
    check_memory(implementation, explanation.arguments);
  std::vector<Rejection> rejections;
  const Plan plan = make_plan(explanation.types, implementation, explanation.operands, &rejections);
  const bool overridden = std::ranges::any_of(
      plan.chains, [](const DispatchChain& chain) { return chain.first_override >= 0; });
  if (!overridden && !is_for_handlers(implementation)) {
    for (const TensorType* type : plan.types)
      explanation.steps.push_back(
          {type->name, "nothing", "", "the op reads no element, or copies"});
    return;
  }
  explanation.handling.reset();
  explain_plan(plan, rejections, explanation);
  if (!explanation.handling) throw_unreadable(implementation, plan);
}

}  // namespace tenon::core
